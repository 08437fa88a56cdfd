// SPDX-License-Identifier: Apache-2.0
// Configuration and kubeconfig files with each allocation failing.
#include "core/base/text.h"
#include "core/config/config.h"
#include "core/kube/credentials/credentials.h"
#include "core/kube/kubeconfig/kubeconfig.h"
#include "tests/unit/fault/fault.h"
#include "tests/unit/kube/pki.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char config_text[] = "apiVersion: wharf.dev/v1alpha1\n"
                                  "kind: HostConfiguration\n"
                                  "controllerName: example.com/host\n"
                                  "origin: here\n"
                                  "management: {kubeconfig: mgmt.kubeconfig, context: main}\n"
                                  "workers:\n"
                                  "- {name: w1, kubeconfig: w1.kubeconfig, labels: {region: eu, zone: a}}\n"
                                  "- {name: w2, kubeconfig: /etc/w2.kubeconfig, context: other}\n"
                                  "adapters:\n"
                                  "  directory: lib\n"
                                  "  enabled:\n"
                                  "  - name: job\n"
                                  "  - {name: acme, file: acme.so, managedBy: acme.example/x, settings: {a: [1, b]}}\n"
                                  "serve: {address: \"[::1]:9440\"}\n"
                                  "createNamespaces: true\n"
                                  "workerLostTimeout: 1m\n"
                                  "rateLimit: {qps: 10}\n"
                                  "dependencies: {copy: [configmaps, tasks.tekton.dev], check: [secrets]}\n"
                                  "credentialPlugins: {allow: [aws, bin/kubelogin]}\n";

static const char wrong_text[] = "apiVersion: wharf.dev/v1alpha1\n"
                                 "kind: HostConfiguration\n"
                                 "workrs: []\n"
                                 "workers:\n"
                                 "- {name: UPPER, kubeconfig: x}\n"
                                 "workerLostTimeout: soon\n";

static const char kubeconfig_text[] = "apiVersion: v1\n"
                                      "kind: Config\n"
                                      "current-context: main\n"
                                      "contexts:\n"
                                      "- {name: main, context: {cluster: c, user: u, namespace: space}}\n"
                                      "clusters:\n"
                                      "- name: c\n"
                                      "  cluster:\n"
                                      "    server: https://[::1]:6443/\n"
                                      "    tls-server-name: kubernetes\n"
                                      "    proxy-url: socks5://127.0.0.1:1080\n"
                                      "    certificate-authority: ca.pem\n"
                                      "users:\n"
                                      "- {name: u, user: {token: secret, tokenFile: token}}\n";

static char folder[] = "/tmp/wharf-fault-XXXXXX";
static char ca_path[PATH_MAX], config_path[PATH_MAX], wrong_path[PATH_MAX], kubeconfig_path[PATH_MAX],
    list[2 * PATH_MAX];

static void write_file(char path[PATH_MAX], const char *name, const char *text) {
    snprintf(path, PATH_MAX, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int setup(void **state) {
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    write_file(config_path, "wharf.yaml", config_text);
    write_file(wrong_path, "wrong.yaml", wrong_text);
    write_file(kubeconfig_path, "kubeconfig", kubeconfig_text);
    struct pki_request request = {.name = "ca", .ca = true};
    struct pki_pair ca = pki_make(&request);
    write_file(ca_path, "ca.pem", ca.cert);
    pki_free(&ca);
    snprintf(list, sizeof list, "%s/absent:%s", folder, kubeconfig_path);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    unlink(ca_path);
    unlink(config_path);
    unlink(wrong_path);
    unlink(kubeconfig_path);
    return rmdir(folder);
}

// A good file has no problems but those of memory; what follows from them does not stand alone.
static struct error *load_good(void **out) {
    struct problems problems = {.list = NULL};
    struct config *config = NULL;
    struct error *error = config_load(config_path, &problems, &config);
    bool told = problems.lost > 0;
    bool misled = false;
    for (size_t i = 0; i < problems.count; i++) {
        told = told || strstr(problems.list[i], "memory");
        misled = true;
    }
    problems_free(&problems);
    if (!error && !told && !misled) {
        *out = config;
        return NULL;
    }
    config_free(config);
    *out = NULL;
    return error || !told ? error : error_no_memory();
}

static bool is_complete(const void *given) {
    const struct config *c = given;
    return c && strcmp(c->controller_name, "example.com/host") == 0 && text_equal(c->origin, "here") &&
           text_equal(c->management.context, "main") && c->n_workers == 2 &&
           text_has_suffix(c->workers[0].settings.labels, "=a") && text_equal(c->workers[1].context, "other") &&
           text_equal(c->workers[1].kubeconfig_path, "/etc/w2.kubeconfig") &&
           text_has_prefix(c->workers[0].kubeconfig_path, "/") && c->n_adapters == 2 && c->adapters[0].file &&
           text_equal(c->adapters[1].managed_by, "acme.example/x") && json_size(c->adapters[1].settings) == 1 &&
           c->adapter_directory && text_equal(c->serve.address, "[::1]:9440") && c->engine.create_namespaces &&
           c->engine.qps == 10 && c->credential_plugins.n_allow == 2 &&
           text_equal(c->credential_plugins.allow[0], "aws") && text_has_prefix(c->credential_plugins.allow[1], "/") &&
           c->credential_plugins.setting && text_equal(c->engine.dependencies.copy, "configmaps,tasks.tekton.dev") &&
           text_equal(c->engine.dependencies.check, "secrets");
}

static void drop_config(void *config) {
    config_free(config);
}

// All three problems are told, or it is said that some are not.
static struct error *load_wrong(void **out) {
    struct problems problems = {.list = NULL};
    struct config *config = NULL;
    struct error *error = config_load(wrong_path, &problems, &config);
    bool all = problems.count >= 3 && problems.lost == 0;
    bool some = problems.lost > 0;
    for (size_t i = 0; i < problems.count; i++)
        some = some || strstr(problems.list[i], "memory");
    problems_free(&problems);
    config_free(config);
    *out = &folder;
    if (error || all)
        return error;
    if (!some)
        *out = NULL;
    return some ? error_no_memory() : NULL;
}

static bool is_something(const void *given) {
    return given;
}

static struct error *load_kubeconfig(void **out) {
    struct endpoint *endpoint = NULL;
    struct error *error = kubeconfig_load(kubeconfig_path, NULL, NULL, &endpoint);
    *out = endpoint;
    return error;
}

static struct error *load_list(void **out) {
    struct endpoint *endpoint = NULL;
    struct error *error = kubeconfig_load_list(list, "main", NULL, &endpoint);
    *out = endpoint;
    return error;
}

static bool is_endpoint(const void *given) {
    const struct endpoint *e = given;
    return e && text_equal(e->server, "https://[::1]:6443") && text_equal(e->tls_server_name, "kubernetes") &&
           text_equal(e->proxy_url, "socks5://127.0.0.1:1080") && e->ca_pem &&
           text_has_prefix(e->ca_pem, "-----BEGIN CERTIFICATE-----\n") && text_equal(e->token, "secret") &&
           e->token_file && *e->token_file == '/' && text_equal(e->namespace_, "space") && e->description;
}

static const char exec_text[] =
    "current-context: c\n"
    "clusters:\n"
    "- name: k\n"
    "  cluster: {server: 'https://h', extensions: [{name: client.authentication.k8s.io/exec, extension: {a: [1]}}]}\n"
    "users:\n"
    "- name: u\n"
    "  user:\n"
    "    as: jane\n"
    "    as-groups: [dev, ops]\n"
    "    as-user-extra: {a/b: [c, d]}\n"
    "    exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: sh, args: [-c, x], env: [{name: AWS_REGION, "
    "value: "
    "b}],\n"
    "      provideClusterInfo: true, installHint: Install it.}\n"
    "contexts:\n"
    "- {name: c, context: {cluster: k, user: u}}\n";

static char *allowed[] = {(char *)"/bin/no", (char *)"sh"};
static const struct exec_policy policy = {.allow = allowed, .n_allow = 2, .setting = (char *)"x"};

static struct error *parse_exec(void **out) {
    struct endpoint *endpoint = NULL;
    struct error *error = kubeconfig_parse(exec_text, sizeof exec_text - 1, "text", NULL, &policy, &endpoint);
    *out = endpoint;
    return error;
}

static bool is_exec(const void *given) {
    const struct endpoint *e = given;
    return e && e->exec && text_equal(e->exec->args[2], "x") && text_equal(e->exec->env[0], "AWS_REGION=b") &&
           text_equal(e->exec->info,
                      "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"spec\":{"
                      "\"interactive\":false,\"cluster\":{\"server\":\"https://h\",\"config\":{\"a\":[1]}}}}") &&
           text_equal(e->exec->install_hint, "Install it.") && e->exec->policy->n_allow == 2 &&
           text_equal(e->impersonation[4], "Impersonate-Extra-a%2Fb: d") && !e->impersonation[5];
}

static struct error *read_credential(void **out) {
    static const char text[] = "{\"kind\":\"ExecCredential\",\"apiVersion\":\"v\",\"status\":{\"token\":\"t\"}}";
    static const struct exec_plugin plugin = {.api_version = (char *)"v"};
    static struct exec_credential found;
    *out = &found;
    return exec_credential_read(&plugin, text, sizeof text - 1, &found);
}

static bool is_credential(const void *given) {
    return text_equal(((const struct exec_credential *)given)->token, "t");
}

static void drop_credential(void *given) {
    exec_credential_clear(given);
}

static void drop_endpoint(void *endpoint) {
    endpoint_free(endpoint);
}

static void an_allocation_that_fails_is_told_and_nothing_is_left_out(void **state) {
    (void)state;
    static const struct fault_case cases[] = {
        {"config_load", load_good, is_complete, drop_config},
        {"config_load of a wrong file", load_wrong, is_something, NULL},
        {"kubeconfig_load", load_kubeconfig, is_endpoint, drop_endpoint},
        {"kubeconfig_load_list", load_list, is_endpoint, drop_endpoint},
        {"kubeconfig_parse with a plugin", parse_exec, is_exec, drop_endpoint},
        {"exec_credential_read", read_credential, is_credential, drop_credential},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        fault_try(&cases[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_allocation_that_fails_is_told_and_nothing_is_left_out)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
