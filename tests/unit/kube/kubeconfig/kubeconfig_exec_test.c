// SPDX-License-Identifier: Apache-2.0
// Exec entries of kubeconfigs, from files and from texts.
#include "core/kube/kubeconfig/kubeconfig.h"
#include "tests/unit/kube/plugin_kit.h"

static char *config_of(const char *cluster, const char *exec) {
    return text_format("current-context: c\n"
                       "clusters:\n"
                       "- {name: k, cluster: %s}\n"
                       "users:\n"
                       "- name: u\n"
                       "  user:\n"
                       "    exec: %s\n"
                       "contexts:\n"
                       "- {name: c, context: {cluster: k, user: u}}\n",
                       cluster, exec);
}

static struct error *parse(const char *exec, const struct exec_policy *policy, struct endpoint **out) {
    AUTO_TEXT text = config_of("{server: 'https://h'}", exec);
    *out = NULL;
    return kubeconfig_parse(text, strlen(text), "Secret ns/w1", NULL, policy, out);
}

static void every_field_of_a_plugin_is_read(void **state) {
    struct plugin_kit *kit = *state;
    plugin_kit_write(kit, "aws", "", 0755);
    AUTO_TEXT text = config_of(
        "{server: 'https://h:6443/', tls-server-name: t, insecure-skip-tls-verify: true, proxy-url: 'http://p:1', "
        "disable-compression: true, extensions: [{name: other, extension: 1}, {name: "
        "client.authentication.k8s.io/exec, "
        "extension: {audience: [a, 1]}}]}",
        "{apiVersion: client.authentication.k8s.io/v1, command: ./aws, args: [eks, get-token], interactiveMode: "
        "IfAvailable, provideClusterInfo: true, env: [{name: AWS_PROFILE, value: prod}, {name: EMPTY}, {name: FILE, "
        "value: "
        "/a}], installHint: \" Install\\n\\n  it. \"}");
    plugin_kit_write(kit, "config", text, 0600);
    AUTO_TEXT path = plugin_kit_path(kit, "config");
    AUTO_TEXT aws = plugin_kit_path(kit, "aws");
    char *allow[] = {aws};
    const struct exec_policy policy = {.allow = allow, .n_allow = 1};
    struct endpoint *endpoint = NULL;
    assert_string_equal(error_text(kubeconfig_load(path, NULL, &policy, &endpoint)), "no error");
    const struct exec_plugin *plugin = endpoint->exec;
    AUTO_TEXT where = text_format("%s:7: users[0].user.exec", path);
    assert_string_equal(plugin->where, where);
    assert_string_equal(plugin->args[0], "./aws");
    assert_string_equal(plugin->args[1], "eks");
    assert_string_equal(plugin->args[2], "get-token");
    assert_null(plugin->args[3]);
    assert_string_equal(plugin->env[0], "AWS_PROFILE=prod");
    assert_string_equal(plugin->env[1], "EMPTY=");
    assert_string_equal(plugin->env[2], "FILE=/a");
    assert_null(plugin->env[3]);
    assert_string_equal(plugin->install_hint, "Install    it.");
    assert_string_equal(
        plugin->info,
        "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/"
        "v1\",\"spec\":{\"interactive\":false,"
        "\"cluster\":{\"server\":\"https://h:6443\",\"tls-server-name\":\"t\",\"proxy-url\":\"http://p:1\","
        "\"insecure-skip-tls-verify\":true,\"disable-compression\":true,\"config\":{\"audience\":[\"a\",1]}}}}");
    endpoint_free(endpoint);
}

#define V1BETA1 "apiVersion: client.authentication.k8s.io/v1beta1"

static void the_cluster_is_described_only_where_that_is_wanted(void **state) {
    (void)state;
    struct endpoint *endpoint = NULL;
    char *allow[] = {(char *)"/bin/sh"};
    const struct exec_policy policy = {.allow = allow, .n_allow = 1};
    assert_string_equal(error_text(parse("{" V1BETA1 ", command: /bin/sh}", &policy, &endpoint)), "no error");
    assert_string_equal(endpoint->exec->info,
                        "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/"
                        "v1beta1\",\"spec\":{\"interactive\":false}}");
    endpoint_free(endpoint);
}

static void a_text_runs_only_what_the_policy_allows(void **state) {
    struct plugin_kit *kit = *state;
    plugin_kit_write(kit, "aws", "", 0755);
    plugin_kit_search(kit);
    char *allow[] = {(char *)"aws", (char *)"missing"};
    const struct exec_policy policy = {.allow = allow, .n_allow = 2, .setting = (char *)"x.allow in y.yaml"};
    static const char env[] = ": found the variable %s, which a kubeconfig that is not a file of this machine may not "
                              "set to that: credentialPlugins.env lists those that it may set";
    const struct {
        const char *exec, *field, *message, *variable;
    } cases[] = {
        {"{" V1BETA1 ", command: aws, env: [{name: AWS_PROFILE, value: prod}]}", NULL, NULL, NULL},
        {"{" V1BETA1 ", command: /bin/sh, args: [-c, id]}", ".command",
         ": the command \"/bin/sh\" may not be run: add it to x.allow in y.yaml to allow it", NULL},
        {"{" V1BETA1 ", command: bin/aws}", ".command",
         ": found the relative path \"bin/aws\", expected a name or an absolute path", NULL},
        {"{" V1BETA1 ", command: missing, installHint: Ask Jane.}", ".command",
         ": found no \"missing\" in PATH, expected the credential plugin to be installed; Ask Jane.", NULL},
        {"{" V1BETA1 ", command: aws, env: [{name: LD_PRELOAD, value: x.so}]}", ".env", env, "LD_PRELOAD"},
        {"{" V1BETA1 ", command: aws, env: [{name: PATH, value: bin}]}", ".env", env, "PATH"},
        {"{" V1BETA1 ", command: aws, env: [{name: LESSOPEN, value: '|id'}]}", ".env", env, "LESSOPEN"},
        {"{" V1BETA1 ", command: aws, env: [{name: AWS_ENDPOINT_URL, value: x}]}", ".env", env, "AWS_ENDPOINT_URL"},
        {"{" V1BETA1 ", command: aws, env: [{name: AWS_REGION, value: x.example/}]}", ".env", env, "AWS_REGION"},
        {"{" V1BETA1 ", command: aws, env: [{name: AZURE_CLIENT_ID, value: a}, {name: AWS_REGION}]}", NULL, NULL, NULL},
        {"{" V1BETA1 ", command: aws, env: [{name: PYTHONPATH, value: x}]}", ".env", env, "PYTHONPATH"},
        {"{" V1BETA1 ", command: aws, env: [{name: AWS_CONFIG_FILE, value: /tmp/x}]}", ".env", env, "AWS_CONFIG_FILE"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct endpoint *endpoint;
        struct error *error = parse(cases[i].exec, &policy, &endpoint);
        assert_true(!endpoint == !!error);
        AUTO_TEXT tail = cases[i].variable ? text_format("%s", cases[i].message) : NULL;
        AUTO_BUFFER(expected, 4096);
        if (cases[i].field)
            buffer_printf(&expected, "Secret ns/w1:7: users[0].user.exec%s", cases[i].field);
        if (cases[i].variable) {
            const char *hole = strstr(tail, "%s");
            buffer_append(&expected, tail, (size_t)(hole - tail));
            buffer_printf(&expected, "%s%s", cases[i].variable, hole + 2);
        } else if (cases[i].message) {
            buffer_text(&expected, cases[i].message);
        }
        assert_string_equal(error_text(error), cases[i].field ? expected.data : "no error");
        error_free(error);
        endpoint_free(endpoint);
    }
    // As the configuration lists them, and no others.
    char *listed[] = {(char *)"AWS_ROLE_ARN"};
    const struct exec_policy with_env = {.allow = allow, .n_allow = 2, .env = listed, .n_env = 1, .env_is_given = true};
    struct endpoint *of_env;
    assert_null(parse("{" V1BETA1 ", command: aws, env: [{name: AWS_ROLE_ARN, value: a/b}]}", &with_env, &of_env));
    endpoint_free(of_env);
    struct error *unlisted = parse("{" V1BETA1 ", command: aws, env: [{name: AWS_PROFILE}]}", &with_env, &of_env);
    assert_non_null(unlisted);
    error_free(unlisted);
    // The host's own entry, for which a ClusterProfile only names the cluster.
    const struct exec_policy own = {.allow = allow, .n_allow = 2, .own_entry = true};
    struct endpoint *endpoint;
    assert_null(parse("{" V1BETA1 ", command: aws, env: [{name: AWS_CONFIG_FILE, value: /etc/x}]}", &own, &endpoint));
    assert_string_equal(endpoint->exec->env[0], "AWS_CONFIG_FILE=/etc/x");
    endpoint_free(endpoint);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        with_kit(every_field_of_a_plugin_is_read),
        with_kit(the_cluster_is_described_only_where_that_is_wanted),
        with_kit(a_text_runs_only_what_the_policy_allows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
