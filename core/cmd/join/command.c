// SPDX-License-Identifier: Apache-2.0
// `wharf join`: makes a cluster a worker.
#include "core/base/address.h"
#include "core/base/text.h"
#include "core/cmd/join/join.h"
#include "core/cmd/main.h"
#include "core/json/yaml.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define NAME_MAX_LEN 63
#define TOKEN_SECONDS_MIN 600 // the API server's

enum {
    CONTEXT,
    KUBECONFIG,
    MANAGEMENT_CONTEXT,
    MANAGEMENT_KUBECONFIG,
    NAME,
    LABELS,
    NAMESPACE,
    ACCOUNT,
    CONFIG,
    ADAPTERS,
    ENABLED,
    NAMESPACED,
    WITHOUT_LOGS,
    EXEC,
    REDUCE_RIGHTS,
    SERVER,
    TOKEN_DURATION,
    PRINT_ONLY,
    TIMEOUT,
    N_FLAGS
};

static const struct flag flags[] = {
    [CONTEXT] = {.name = "context",
                 .argument = "CONTEXT",
                 .required = true,
                 .help = "the kubeconfig context of the worker"},
    [KUBECONFIG] = FLAG_KUBECONFIG,
    [MANAGEMENT_CONTEXT] = FLAG_MANAGEMENT_CONTEXT,
    [MANAGEMENT_KUBECONFIG] = FLAG_MANAGEMENT_KUBECONFIG,
    [NAME] = {.name = "name", .argument = "NAME", .help = "the worker's name (default: made from the context's)"},
    [LABELS] = {.name = "labels", .argument = "K=V,..", .help = "labels of the worker, for placement"},
    [NAMESPACE] = FLAG_HOST_NAMESPACE,
    [ACCOUNT] = FLAG_ACCOUNT,
    [CONFIG] = FLAG_ENABLED_CONFIG,
    [ADAPTERS] = FLAG_ADAPTERS,
    [ENABLED] = FLAG_ENABLED_NAMES,
    [NAMESPACED] = {.name = "namespaced",
                    .argument = "A,B",
                    .help = "the host may write, and read logs, only in these namespaces of the worker"},
    [WITHOUT_LOGS] = {.name = "without-logs", .help = "leave out what wharf logs needs"},
    [EXEC] = {.name = "exec", .help = "add what wharf exec needs: the host may run commands in pods of the worker"},
    [REDUCE_RIGHTS] = {.name = "reduce-rights",
                       .help = "take away rights that the host had in the worker and needs no longer"},
    [SERVER] = {.name = "server",
                .argument = "URL",
                .help = "the worker's address as the host reaches it (default: that of the kubeconfig)"},
    [TOKEN_DURATION] = {.name = "token-duration",
                        .argument = "DURATION",
                        .fallback = "24h",
                        .help = "life of the token, which the host renews when 80 % of it are over"},
    [PRINT_ONLY] = {.name = "dry-run", .help = "print the objects of both clusters as YAML, and change nothing"},
    [TIMEOUT] = {.name = "timeout",
                 .argument = "DURATION",
                 .fallback = "60s",
                 .help = "how long to wait for the host to show the worker Ready"},
};

static void join_clear(struct join *join) {
    cluster_close(&join->worker);
    cluster_close(&join->management);
    enabled_free(&join->enabled);
    rbac_options_clear(&join->rights);
    join_needed_clear(&join->needed);
    join_needed_clear(&join->needed_with_logs);
    free(join->name);
    free(join->kept_labels);
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

static struct error *read_duration(const char *flag, const char *text, int64_t min_seconds, int64_t *out_ns) {
    if (clock_parse_duration(text, out_ns) && *out_ns >= min_seconds * CLOCK_SECOND)
        return NULL;
    return error_new(ERROR_USAGE, "%s: found %s, expected a duration like 24h of at least %llds", flag, text,
                     (long long)min_seconds);
}

static struct error *read_options(const char *const values[], struct join *join) {
    int64_t token_ns = 0;
    join->labels = values[LABELS];
    join->rights.account = values[ACCOUNT];
    join->server = values[SERVER];
    join->rights.with_logs = !values[WITHOUT_LOGS];
    join->rights.with_exec = values[EXEC];
    join->name = values[NAME] ? strdup(values[NAME]) : name_of_context(values[CONTEXT]);
    if (!join->name)
        return error_no_memory();
    if (!text_is_dns_label(join->name))
        return error_new(ERROR_USAGE, "--name: found \"%s\", expected at most 63 lower-case letters, digits and '-'",
                         join->name);
    if (values[NAMESPACE] && !text_is_dns_label(values[NAMESPACE]))
        return error_new(ERROR_USAGE, "--namespace: found \"%s\", expected the name of a namespace", values[NAMESPACE]);
    if (!text_is_dns_label(values[ACCOUNT]))
        return error_new(ERROR_USAGE, "--account: found \"%s\", expected the name of a ServiceAccount",
                         values[ACCOUNT]);
    if (join->server && !text_has_prefix(join->server, "https://"))
        return error_new(ERROR_USAGE, "--server: found %s, expected an address like https://10.0.0.1:6443",
                         join->server);
    struct error *error = read_duration("--token-duration", values[TOKEN_DURATION], TOKEN_SECONDS_MIN, &token_ns);
    if (!error)
        error = read_duration("--timeout", values[TIMEOUT], 0, &join->timeout_ns);
    join->token_seconds = token_ns / CLOCK_SECOND;
    if (!error)
        error = join_check_labels(join->labels);
    if (!error && values[NAMESPACED])
        error = rbac_read_namespaces(values[NAMESPACED], &join->rights);
    if (!error)
        error = enabled_load(values[CONFIG], values[ADAPTERS], values[ENABLED], &join->enabled);
    join->namespace_ = join->rights.namespace_ = error ? NULL : enabled_namespace(&join->enabled, values[NAMESPACE]);
    return error;
}

static struct error *open_clusters(const char *const values[], struct join *join) {
    struct error *error = cluster_open(&join->worker, "worker", values[KUBECONFIG], values[CONTEXT]);
    return error ? error
                 : join_open_management(&join->management, &join->enabled, values[KUBECONFIG],
                                        values[MANAGEMENT_KUBECONFIG], values[MANAGEMENT_CONTEXT]);
}

static bool is_loopback(const char *server) {
    const char *host = strstr(server, "://");
    host = host ? host + 3 : server;
    bool bracket = *host == '[';
    AUTO_TEXT name = strndup(host + bracket, strcspn(host + bracket, bracket ? "]" : ":/"));
    struct address address;
    if (!name || !address_parse(name, &address))
        return name && strcmp(name, "localhost") == 0;
    static const unsigned char one[16] = {[15] = 1};
    return address.family == AF_INET6 ? memcmp(address.bytes, one, sizeof(one)) == 0 : address.bytes[0] == 127;
}

// Of a host that runs there, an address that only this machine reaches is none.
static void warn_of_loopback(struct join *join) {
    const char *server = join->server ? join->server : cluster_server(&join->worker);
    AUTO_TEXT path = text_format("/apis/apps/v1/namespaces/%s/deployments/wharf", join->namespace_);
    AUTO_JSON deployment = NULL;
    if (!path || !is_loopback(server))
        return;
    error_free(cluster_get(&join->management, path, &deployment));
    if (deployment)
        fprintf(
            stderr,
            "warning: the host runs in the management cluster (deployment %s/wharf), from where %s is not the worker: "
            "give an address that its pods reach with --server\n",
            join->namespace_, server);
}

static struct error *print_dry_run(struct join *join) {
    AUTO_BUFFER(worker, RBAC_TEXT_MAX);
    AUTO_BUFFER(management, RBAC_TEXT_MAX);
    AUTO_JSON namespace_ = join_namespace(join->namespace_);
    AUTO_JSON secret = NULL;
    struct error *error = join_print_rights(join, &worker);
    if (!error)
        error = join_secret(join, "TOKEN", true, &secret);
    if (error)
        return error;
    if (!namespace_ || !yaml_print(namespace_, &management) || !buffer_text(&management, "---\n") ||
        !yaml_print(secret, &management))
        return error_no_memory();
    printf("# In the worker, %s:\n%s---\n# In the management cluster, %s (TOKEN stands for what `kubectl create token` "
           "prints in the worker):\n%s",
           cluster_server(&join->worker), worker.data, cluster_server(&join->management), management.data);
    return NULL;
}

// A drain that `wharf leave` began ends.
static struct error *cancel_drain(struct join *join) {
    static const char body[] = "{\"metadata\":{\"annotations\":{\"" JOIN_DRAIN "\":null}}}";
    __attribute__((cleanup(response_clear))) struct response response = {.message = NULL};
    AUTO_TEXT path = cluster_path("Secret", join->namespace_, join->name);
    const struct http_request request = {.method = HTTP_PATCH,
                                         .path = path,
                                         .content_type = "application/merge-patch+json",
                                         .body = body,
                                         .body_len = sizeof(body) - 1};
    struct error *error = path ? cluster_call(&join->management, &request, &response) : error_no_memory();
    return !error && response.reason != REASON_OK ? cluster_refusal(&join->management, &request, &response) : error;
}

static struct error *write_secret(struct join *join) {
    AUTO_JSON namespace_ = join_namespace(join->namespace_);
    AUTO_JSON secret = NULL;
    struct error *error = namespace_ ? cluster_apply(&join->management, namespace_) : error_no_memory();
    if (!error)
        error = join_secret(join, join->token, false, &secret);
    if (!error)
        error = cluster_apply(&join->management, secret);
    return error ? error : cancel_drain(join);
}

static struct error *join_worker(struct join *join, bool dry_run, bool reduce) {
    struct error *error = join_check_identity(join);
    if (error)
        return error;
    warn_of_loopback(join);
    if (dry_run)
        return print_dry_run(join);
    error = join_check_lost(join, reduce);
    if (!error)
        error = join_grant(join);
    if (!error)
        error = join_request_token(join);
    if (!error)
        error = join_check_rights(join);
    if (!error)
        error = write_secret(join);
    if (!error)
        printf("worker %s joined\n", join->name);
    fflush(stdout);
    return error;
}

static int run(const struct arguments *arguments) {
    const char *values[N_FLAGS + 1];
    int code = EXIT_SUCCESS;
    if (!flags_read(&subcommand_join, arguments, values, &code))
        return code;
    __attribute__((cleanup(join_clear))) struct join join = {.name = NULL};
    struct error *error = read_options(values, &join);
    if (!error)
        error = open_clusters(values, &join);
    const struct join_host host = {.kubeconfig = values[MANAGEMENT_KUBECONFIG] ? values[MANAGEMENT_KUBECONFIG]
                                                                               : values[KUBECONFIG],
                                   .context = values[MANAGEMENT_CONTEXT],
                                   .namespace_ = join.namespace_,
                                   .enabled = &join.enabled};
    if (!error && join.enabled.assumed)
        join_ask_needed(&join, &host);
    if (!error)
        error = join_worker(&join, values[PRINT_ONLY], values[REDUCE_RIGHTS]);
    if (!error && !values[PRINT_ONLY])
        error = join_await_ready(&join, &host);
    fflush(stdout);
    return error ? main_fail(error) : EXIT_SUCCESS;
}

const struct subcommand subcommand_join = {
    .name = "join",
    .run = run,
    .flags = flags,
    .n_flags = N_FLAGS,
    .summary = "make a cluster a worker",
    .text =
        "Creates the host's namespace, ServiceAccount and rights in the worker, and a Secret with a kubeconfig for it "
        "in\n"
        "the management cluster, with your own rights on both. The host takes it up at once, and renews the token.\n"
        "It can be repeated: to renew a token, to change labels, or after the enabled adapters changed. Without\n"
        "--config and --adapters-enabled the running host is asked what it needs.\n",
};
