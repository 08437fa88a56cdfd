// SPDX-License-Identifier: Apache-2.0
// `wharf join`: makes a cluster a worker, by objects on both sides: the Secret with the worker's kubeconfig in the
// management cluster; the host's namespace, account, rights and token in the worker.
#include "core/base/namespace_map.h"
#include "core/base/text.h"
#include "core/cmd/join/join.h"
#include "core/json/yaml.h"

#include <ctype.h>
#include <stdio.h>

#define NAME_MAX_LEN 63
#define NAME_EXPECTED "at most 63 lower-case letters, digits and '-'"
#define TOKEN_SECONDS_MIN 600 // the API server's

static bool is_https(const char *text) {
    return text_has_prefix(text, "https://");
}

static bool is_token_duration(const char *text) {
    return flags_duration(text) >= TOKEN_SECONDS_MIN * CLOCK_SECOND;
}

static const struct flag flags[] = {
    FLAG("context", 0, "CONTEXT", "the kubeconfig context of the worker", .required = true),
    FLAG_KUBECONFIG,
    FLAG_MANAGEMENT_CONTEXT,
    FLAG_MANAGEMENT_KUBECONFIG,
    FLAG("name", 0, "NAME", "the worker's name (default: made from the context's)", .check = text_is_dns_label,
         .expected = NAME_EXPECTED),
    FLAG("labels", 0, "K=V,..", "labels of the worker, for placement"),
    FLAG("namespace-map", 0, "A=B,..", "other names of namespaces in the worker, as in team-*={origin}-{namespace}"),
    FLAG_HOST_NAMESPACE,
    FLAG_ACCOUNT,
    FLAG_ENABLED_CONFIG,
    FLAG_ADAPTERS,
    FLAG_ENABLED_NAMES,
    FLAG("namespaced", 0, "A,B", "the host may write, and read logs, only in these namespaces of the worker"),
    FLAG_OBJECTS,
    SWITCH("without-logs", 0, "without the rights for wharf logs"),
    SWITCH("exec", 0, "with the rights for wharf exec: the host may run commands in pods of the worker"),
    SWITCH("reduce-rights", 0, "take away rights in the worker that the host no longer needs"),
    FLAG("server", 0, "URL", "the worker's address as the host reaches it (default: that of the kubeconfig)",
         .check = is_https, .expected = "an address like https://10.0.0.1:6443"),
    FLAG("token-duration", 0, "DURATION", "lifetime of the token, which the host renews at 80 % of its lifetime",
         .fallback = "24h", .check = is_token_duration, .expected = "a duration of at least 10m, as in 24h"),
    SWITCH("dry-run", 0, "print the objects of both clusters as YAML, and change nothing"),
    FLAG("timeout", 0, "DURATION", "the longest wait for the host to show the worker Ready", .fallback = "60s",
         CHECK_DURATION),
};

// Objects ---------------------------------------------------------------------------------------------------------

#define SECRET_MAX (2 * JOIN_KUBECONFIG_MAX)

// Nothing for NULL.
static bool set_text(struct json *object, const char *key, const char *text) {
    return !text || json_set(object, key, json_new_string(text));
}

static struct json *make_cluster(const struct endpoint *endpoint, const char *server) {
    AUTO_BUFFER(ca, JOIN_KUBECONFIG_MAX);
    AUTO_JSON cluster = document_make("{'server':%s}", server ? server : endpoint->server);
    bool made = !endpoint->ca_pem || text_base64_encode(endpoint->ca_pem, strlen(endpoint->ca_pem), &ca);
    made = made && set_text(cluster, "certificate-authority-data", ca.data) &&
           (!endpoint->insecure || json_set(cluster, "insecure-skip-tls-verify", json_new_bool(true))) &&
           set_text(cluster, "tls-server-name", endpoint->tls_server_name) &&
           set_text(cluster, "proxy-url", endpoint->proxy_url);
    return made ? TAKE(cluster) : NULL;
}

struct error *join_kubeconfig(const struct join *join, const char *server, const char *token, struct buffer *out) {
    const char *name = join->name, *account = join->rights.account;
    AUTO_JSON cluster = make_cluster(join->worker.connection.endpoint, server);
    AUTO_JSON kubeconfig = document_make(
        "{'apiVersion':'v1','kind':'Config','current-context':%s,'clusters':[{'name':%s,'cluster':%j}],'users':[{'name'"
        ":%s,'user':{'token':%s}}],'contexts':[{'name':%s,'context':{'cluster':%s,'user':%s}}]}",
        name, name, cluster, account, token, name, name, account);
    if (!cluster || !kubeconfig)
        return error_new(ERROR_TOO_LARGE, "the worker's CA certificates do not fit into a Secret");
    return yaml_print(kubeconfig, out) ? NULL : error_no_memory();
}

// The Namespace of the host.
static struct json *make_namespace(const char *namespace_) {
    return document_make("{'apiVersion':'v1','kind':'Namespace','metadata':{'name':%s}}", namespace_);
}

// Reads "key=value,..." as an object; ERROR_USAGE for invalid labels.
static struct error *read_labels(const char *labels, struct json **out) {
    AUTO_JSON made = json_new_object();
    size_t len = 0;
    for (const char *rest = labels, *at; text_next_word(&rest, ',', &at, &len);) {
        size_t key_len = strcspn(at, "=,");
        AUTO_TEXT key = text_format(JOIN_LABELS "%.*s", (int)key_len, at);
        AUTO_TEXT value = key_len < len ? strndup(at + key_len + 1, len - key_len - 1) : strdup("");
        if (!key || !value)
            return error_no_memory();
        if (key_len == len || !text_is_label_key(key) || !text_is_label_value(value))
            return error_new(ERROR_USAGE, "--labels: found \"%.*s\", expected labels like region=eu,gpu=a100", (int)len,
                             at);
        if (!json_set(made, key, json_new_string(value)))
            return error_no_memory();
    }
    *out = TAKE(made);
    return *out ? NULL : error_no_memory();
}

static struct error *check_names(const char *names) {
    AUTO_BUFFER(problem, 4096);
    AUTO_TEXT map = names ? namespace_map_read(names, &problem) : NULL;
    if (problem.data)
        return error_new(ERROR_USAGE, "--namespace-map: %s", problem.data);
    return !names || map ? NULL : error_no_memory();
}

static struct error *make_annotations(const struct join *join, const char *account, struct json **out) {
    *out = document_make("{'" JOIN_UID "':%s,'" JOIN_ACCOUNT "':%s}", join->worker.uid, account);
    return *out && set_text(*out, NAMESPACE_MAP_ANNOTATION, join->names) ? NULL : error_no_memory();
}

// The Secret with this kubeconfig. `readable`: as stringData, for reading.
static struct error *make_secret(const struct join *join, const char *token, bool readable, struct json **out) {
    AUTO_BUFFER(kubeconfig, JOIN_KUBECONFIG_MAX);
    AUTO_BUFFER(encoded, SECRET_MAX);
    AUTO_JSON labels = NULL;
    AUTO_JSON annotations = NULL;
    AUTO_TEXT account = text_format("%s/%s", join->namespace_, join->rights.account);
    TRY(join_kubeconfig(join, flags_value(join->call, "server"), token, &kubeconfig));
    TRY(read_labels(join->labels, &labels));
    TRY(account ? make_annotations(join, account, &annotations) : error_no_memory());
    if (json_set(labels, JOIN_LABEL, json_new_string("true")) &&
        text_base64_encode(kubeconfig.data, kubeconfig.len, &encoded))
        *out = document_make("{'apiVersion':'v1','kind':'Secret','metadata':{'name':%s,'namespace':%s,'labels':%j,'"
                             "annotations':%j},%s:{'kubeconfig':%s}}",
                             join->name, join->namespace_, labels, annotations, readable ? "stringData" : "data",
                             readable ? kubeconfig.data : encoded.data);
    return *out ? NULL : error_no_memory();
}

// Everything that grant_rights applies, as YAML.
static struct error *print_rights(const struct join *join, struct buffer *out) {
    AUTO_JSON namespace_ = make_namespace(join->namespace_);
    if (!namespace_ || !yaml_print(namespace_, out) || !buffer_text(out, "---\n"))
        return error_no_memory();
    return rbac_print(&join->rights, &join->setup, out);
}

// Marks the account with the host's management cluster.
static struct error *mark_account(const struct join *join, struct json *object) {
    if (strcmp(json_string_or(json_get(object, "kind"), ""), "ServiceAccount") != 0)
        return NULL;
    bool made = json_set(json_get(object, "metadata"), "annotations",
                         document_make("{'" JOIN_OWNER "':%s}", join->management.uid));
    return made ? NULL : error_no_memory();
}

static struct error *grant_rights(struct join *join) {
    AUTO_BUFFER(text, RBAC_TEXT_MAX);
    __attribute__((cleanup(yaml_cleanup))) struct yaml objects = {.value = NULL};
    TRY(print_rights(join, &text));
    TRY(yaml_parse_all("rbac", text.data, text.len, &objects));
    for (struct json *o = json_first(objects.value); o; o = json_next(o)) {
        TRY(mark_account(join, o));
        TRY(cluster_apply(&join->worker, o));
    }
    return NULL;
}

static void print_expiry(const struct join *join, int64_t expires_ns) {
    char when[CLOCK_RFC3339_MAX] = "";
    if (expires_ns > 0)
        clock_rfc3339(expires_ns, when);
    printf("%s: token for serviceaccount/%s created%s%s\n", join->worker.role, join->rights.account,
           expires_ns > 0 ? ", valid until " : "", when);
}

static struct error *request_token(struct join *join) {
    __attribute__((cleanup(token_request_clear))) struct token_request made = {.body = NULL};
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    int64_t expires_ns = 0, seconds = flags_duration(flags_value(join->call, "token-duration")) / CLOCK_SECOND;
    struct error *error = token_request_make(join->namespace_, join->rights.account, seconds, NULL, &made);
    if (!error)
        error = ask(join->worker.client, &made.request, &response);
    if (!error)
        error = token_request_read(&response, &join->token, &expires_ns);
    if (error)
        return error_wrap(error, "%s", join->worker.role);
    print_expiry(join, expires_ns);
    return NULL;
}

// The command -----------------------------------------------------------------------------------------------------

static void join_clear(struct join *join) {
    cluster_close(&join->worker);
    cluster_close(&join->management);
    setup_free(&join->setup);
    rbac_options_clear(&join->rights);
    join_needed_clear(&join->needed);
    join_needed_clear(&join->needed_with_logs);
    free(join->name);
    free(join->kept_labels);
    free(join->kept_names);
    free(join->token);
}

// "kind-w1" of "kind_w1", "arn-aws-eks-eu-1-cluster-w1" of an ARN.
static char *name_of_context(const char *context) {
    char name[NAME_MAX_LEN + 1];
    size_t len = 0;
    for (const char *c = context; *c != '\0' && len < NAME_MAX_LEN; c++) {
        char lower = (char)tolower((unsigned char)*c);
        bool plain = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
        if (plain)
            name[len++] = lower;
        else if (len > 0 && name[len - 1] != '-')
            name[len++] = '-';
    }
    while (len > 0 && name[len - 1] == '-')
        len--;
    name[len] = '\0';
    return strdup(name);
}

static struct error *read_options(struct join *join) {
    const struct call *call = join->call;
    const char *name = flags_value(call, "name"), *namespaces = flags_value(call, "namespaced");
    AUTO_JSON labels = NULL;
    join->labels = flags_value(call, "labels");
    join->rights.account = flags_value(call, "account");
    join->rights.with_logs = !flags_value(call, "without-logs");
    join->rights.with_exec = flags_value(call, "exec");
    join->name = name ? strdup(name) : name_of_context(flags_value(call, "context"));
    if (!join->name)
        return error_no_memory();
    if (!text_is_dns_label(join->name))
        return error_new(ERROR_USAGE, "--name: found \"%s\", expected %s", join->name, NAME_EXPECTED);
    join->names = flags_value(call, "namespace-map");
    TRY(read_labels(join->labels, &labels));
    TRY(check_names(join->names));
    if (namespaces)
        TRY(rbac_read_namespaces(namespaces, &join->rights));
    TRY(setup_enabled(call, &join->setup));
    TRY(rbac_read_objects(call, &join->setup, &join->rights));
    join->namespace_ = join->rights.namespace_ = setup_namespace(&join->setup, call);
    return NULL;
}

static struct error *open_clusters(struct join *join) {
    const struct call *call = join->call;
    struct endpoint *endpoint = NULL;
    struct error *error = cluster_load(flags_value(call, "kubeconfig"), flags_value(call, "context"), &endpoint);
    error = cluster_open(&join->worker, "worker", error, &endpoint);
    return error ? error : join_open_management(&join->management, call, &join->setup);
}

static bool is_loopback(const char *server) {
    const char *host = strstr(server, "://");
    host = host ? host + 3 : server;
    bool bracket = *host == '[';
    AUTO_TEXT name = strndup(host + bracket, strcspn(host + bracket, bracket ? "]" : ":/"));
    return name && address_is_local(name);
}

// A host in the management cluster does not reach an address of this machine.
static void warn_of_loopback(struct join *join) {
    const char *given = flags_value(join->call, "server"), *server = given ? given : cluster_server(&join->worker);
    AUTO_TEXT path = text_format("/apis/apps/v1/namespaces/%s/deployments/wharf", join->namespace_);
    AUTO_JSON deployment = NULL;
    if (!path || !is_loopback(server))
        return;
    error_free(cluster_get(&join->management, path, &deployment));
    if (deployment)
        fprintf(stderr,
                "warning: the host runs in the management cluster (deployment %s/wharf), from where %s is not the "
                "worker: give an address that its pods reach with --server\n",
                join->namespace_, server);
}

static struct error *print_dry_run(struct join *join) {
    AUTO_BUFFER(worker, RBAC_TEXT_MAX);
    AUTO_BUFFER(management, RBAC_TEXT_MAX);
    AUTO_JSON namespace_ = make_namespace(join->namespace_);
    AUTO_JSON secret = NULL;
    TRY(print_rights(join, &worker));
    TRY(make_secret(join, "TOKEN", true, &secret));
    if (!namespace_ || !yaml_print(namespace_, &management) || !buffer_text(&management, "---\n") ||
        !yaml_print(secret, &management))
        return error_no_memory();
    printf("# In the worker, %s:\n%s---\n# In the management cluster, %s (TOKEN is the output of `kubectl create "
           "token` in the worker):\n%s",
           cluster_server(&join->worker), worker.data, cluster_server(&join->management), management.data);
    return NULL;
}

// Also ends a drain by `wharf leave`.
static struct error *write_secret(struct join *join) {
    AUTO_TEXT path = cluster_path("Secret", join->namespace_, join->name);
    AUTO_JSON namespace_ = make_namespace(join->namespace_);
    AUTO_JSON secret = NULL;
    TRY(namespace_ ? cluster_apply(&join->management, namespace_) : error_no_memory());
    TRY(make_secret(join, join->token, false, &secret));
    TRY(cluster_apply(&join->management, secret));
    return cluster_patch(&join->management, path, "{\"metadata\":{\"annotations\":{\"" JOIN_DRAIN "\":null}}}");
}

static struct error *join_worker(struct join *join) {
    TRY(join_check_identity(join));
    warn_of_loopback(join);
    if (flags_value(join->call, "dry-run"))
        return print_dry_run(join);
    TRY(join_check_lost(join, flags_value(join->call, "reduce-rights")));
    TRY(grant_rights(join));
    TRY(request_token(join));
    TRY(join_check_rights(join));
    TRY(write_secret(join));
    printf("worker %s joined\n", join->name);
    return join_await_ready(join);
}

static struct error *run_join(struct call *call) {
    __attribute__((cleanup(join_clear))) struct join join = {.call = call};
    TRY(read_options(&join));
    TRY(open_clusters(&join));
    if (join.setup.assumed)
        TRY(join_read_needed(&join));
    return join_worker(&join);
}

SUBCOMMAND(join, run_join, "make a cluster a worker",
           "Creates the host's namespace, ServiceAccount and rights in the worker, and a Secret with the worker's "
           "kubeconfig\n"
           "in the management cluster, with your own rights on both. The host adds the worker at once, and renews the\n"
           "token. Repeat the command to renew a token, to change labels, or after a change of the enabled adapters.\n"
           "Without --config and --adapters-enabled the running host reports the rights that it needs.\n",
           FLAGS(flags));
