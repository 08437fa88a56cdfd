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
    {"context", .argument = "CONTEXT", .required = true, .help = "the kubeconfig context of the worker"},
    FLAG_KUBECONFIG,
    FLAG_MANAGEMENT_CONTEXT,
    FLAG_MANAGEMENT_KUBECONFIG,
    {"name", .argument = "NAME", .check = text_is_dns_label, .expected = NAME_EXPECTED,
     .help = "the worker's name (default: made from the context's)"},
    {"labels", .argument = "K=V,..", .help = "labels of the worker, for placement"},
    FLAG_HOST_NAMESPACE,
    FLAG_ACCOUNT,
    FLAG_ENABLED_CONFIG,
    FLAG_ADAPTERS,
    FLAG_ENABLED_NAMES,
    {"namespaced", .argument = "A,B",
     .help = "the host may write, and read logs, only in these namespaces of the worker"},
    {"without-logs", .help = "without the rights for wharf logs"},
    {"exec", .help = "with the rights for wharf exec: the host may run commands in pods of the worker"},
    {"reduce-rights", .help = "take away rights in the worker that the host no longer needs"},
    {"server", .argument = "URL", .check = is_https, .expected = "an address like https://10.0.0.1:6443",
     .help = "the worker's address as the host reaches it (default: that of the kubeconfig)"},
    {"token-duration", .argument = "DURATION", .fallback = "24h", .check = is_token_duration,
     .expected = "a duration of at least 10m, as in 24h",
     .help = "lifetime of the token, which the host renews at 80 % of its lifetime"},
    {"dry-run", .help = "print the objects of both clusters as YAML, and change nothing"},
    {"timeout", .argument = "DURATION", .fallback = "60s", CHECK_DURATION,
     .help = "the longest wait for the host to show the worker Ready"},
};

static void join_clear(struct join *join) {
    cluster_close(&join->worker);
    cluster_close(&join->management);
    setup_free(&join->setup);
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

static struct error *read_options(const struct call *call, struct join *join) {
    const char *name = flags_value(call, "name"), *namespaces = flags_value(call, "namespaced");
    AUTO_JSON labels = NULL;
    join->labels = flags_value(call, "labels");
    join->rights.account = flags_value(call, "account");
    join->server = flags_value(call, "server");
    join->rights.with_logs = !flags_value(call, "without-logs");
    join->rights.with_exec = flags_value(call, "exec");
    join->token_seconds = flags_duration(flags_value(call, "token-duration")) / CLOCK_SECOND;
    join->timeout_ns = flags_duration(flags_value(call, "timeout"));
    join->name = name ? strdup(name) : name_of_context(flags_value(call, "context"));
    if (!join->name)
        return error_no_memory();
    if (!text_is_dns_label(join->name))
        return error_new(ERROR_USAGE, "--name: found \"%s\", expected %s", join->name, NAME_EXPECTED);
    TRY(join_read_labels(join->labels, &labels));
    if (namespaces)
        TRY(rbac_read_namespaces(namespaces, &join->rights));
    TRY(setup_enabled(call, NULL, &join->setup));
    join->namespace_ = join->rights.namespace_ = setup_namespace(&join->setup, call);
    return NULL;
}

static struct error *open_clusters(const struct call *call, struct join *join) {
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
    const char *server = join->server ? join->server : cluster_server(&join->worker);
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
    AUTO_JSON namespace_ = join_namespace(join->namespace_);
    AUTO_JSON secret = NULL;
    TRY(join_print_rights(join, &worker));
    TRY(join_secret(join, "TOKEN", true, &secret));
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
    AUTO_JSON namespace_ = join_namespace(join->namespace_);
    AUTO_JSON secret = NULL;
    TRY(namespace_ ? cluster_apply(&join->management, namespace_) : error_no_memory());
    TRY(join_secret(join, join->token, false, &secret));
    TRY(cluster_apply(&join->management, secret));
    return cluster_patch(&join->management, path, "{\"metadata\":{\"annotations\":{\"" JOIN_DRAIN "\":null}}}");
}

static struct error *join_worker(struct join *join, bool dry_run, bool reduce) {
    TRY(join_check_identity(join));
    warn_of_loopback(join);
    if (dry_run)
        return print_dry_run(join);
    TRY(join_check_lost(join, reduce));
    TRY(join_grant(join));
    TRY(join_request_token(join));
    TRY(join_check_rights(join));
    TRY(write_secret(join));
    printf("worker %s joined\n", join->name);
    fflush(stdout);
    return NULL;
}

static struct error *run_join(struct call *call) {
    __attribute__((cleanup(join_clear))) struct join join = {.name = NULL};
    bool dry_run = flags_value(call, "dry-run");
    TRY(read_options(call, &join));
    TRY(open_clusters(call, &join));
    if (join.setup.assumed)
        join_read_needed(&join, call);
    TRY(join_worker(&join, dry_run, flags_value(call, "reduce-rights")));
    return dry_run ? NULL : join_await_ready(&join, call);
}

const struct subcommand subcommand_join = {
    .name = "join",
    .run = run_join,
    .flags = flags,
    .n_flags = COUNT(flags),
    .summary = "make a cluster a worker",
    .text =
        "Creates the host's namespace, ServiceAccount and rights in the worker, and a Secret with the worker's "
        "kubeconfig\n"
        "in the management cluster, with your own rights on both. The host adds the worker at once, and renews the\n"
        "token. Repeat the command to renew a token, to change labels, or after a change of the enabled adapters.\n"
        "Without --config and --adapters-enabled the running host reports the rights that it needs.\n",
};
