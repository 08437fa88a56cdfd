// SPDX-License-Identifier: Apache-2.0
// `wharf leave`: a cluster ceases to be a worker. Every step can be repeated.
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/cmd/join/join.h"
#include "core/cmd/main.h"
#include "core/cmd/remote/remote.h"
#include "core/kube/object/object.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define AGAIN_NS (500 * CLOCK_MS)
#define HEEDED_NS (15 * CLOCK_SECOND) // until a running host has begun to drain

enum {
    POLICY,
    CONTEXT,
    KUBECONFIG,
    MANAGEMENT_CONTEXT,
    MANAGEMENT_KUBECONFIG,
    NAMESPACE,
    ACCOUNT,
    CONFIG,
    ADAPTERS,
    ENABLED,
    KEEP_RBAC,
    TIMEOUT,
    N_FLAGS
};

static const struct flag flags[] = {
    [POLICY] = {.name = "policy",
                .argument = "POLICY",
                .fallback = "finish",
                .help = "what happens to workloads there: finish (they end there), move (they are placed\n"
                        "elsewhere), abandon (nothing is waited for)"},
    [CONTEXT] = {.name = "context",
                 .argument = "CONTEXT",
                 .help = "the kubeconfig context of the worker, to remove the rights there"},
    [KUBECONFIG] = FLAG_KUBECONFIG,
    [MANAGEMENT_CONTEXT] = FLAG_MANAGEMENT_CONTEXT,
    [MANAGEMENT_KUBECONFIG] = FLAG_MANAGEMENT_KUBECONFIG,
    [NAMESPACE] = FLAG_HOST_NAMESPACE,
    [ACCOUNT] = {.name = "account",
                 .argument = "NAME",
                 .help = "the host's ServiceAccount in the worker (default: that of the Secret, else wharf)"},
    [CONFIG] = FLAG_ENABLED_CONFIG,
    [ADAPTERS] = FLAG_ADAPTERS,
    [ENABLED] = FLAG_ENABLED_NAMES,
    [KEEP_RBAC] = {.name = "keep-rbac", .help = "leave the ServiceAccount and the rights in the worker"},
    [TIMEOUT] = {.name = "timeout",
                 .argument = "DURATION",
                 .fallback = "0",
                 .help = "how long to wait for workloads; 0: without limit. Repeat it to go on waiting"},
};

struct leave {
    const char *name, *policy, *namespace_;
    int64_t began_ns, until_ns; // monotonic; CLOCK_NEVER: no limit
    struct enabled enabled;
    struct rbac_options rights;        // in the worker
    struct cluster management, worker; // the worker with the operator's credentials, else with the Secret's
    struct json *secret;               // NULL: it is gone already
    struct remote *host;               // NULL: none answers
    bool keep_rbac;
};

static void leave_clear(struct leave *leave) {
    remote_close(leave->host);
    cluster_close(&leave->worker);
    cluster_close(&leave->management);
    enabled_free(&leave->enabled);
    json_free(leave->secret);
}

static bool waits(const struct leave *leave) {
    return leave->secret && strcmp(leave->policy, "abandon") != 0;
}

static struct error *patch(struct leave *leave, const char *path, const char *body) {
    __attribute__((cleanup(response_clear))) struct response response = {.message = NULL};
    const struct http_request request = {.method = HTTP_PATCH,
                                         .path = path,
                                         .content_type = "application/merge-patch+json",
                                         .body = body,
                                         .body_len = strlen(body)};
    struct error *error = cluster_call(&leave->management, &request, &response);
    bool done = response.reason == REASON_OK || response.code == 404;
    return error || done ? error : cluster_refusal(&leave->management, &request, &response);
}

static struct error *begin_drain(struct leave *leave) {
    AUTO_TEXT path = cluster_path("Secret", leave->namespace_, object_name(leave->secret));
    AUTO_TEXT body = text_format("{\"metadata\":{\"annotations\":{\"" JOIN_DRAIN "\":\"%s\"}}}", leave->policy);
    struct error *error = path && body ? patch(leave, path, body) : error_no_memory();
    if (!error)
        printf("management: secret/%s annotated: " JOIN_DRAIN "=%s\n", object_name(leave->secret), leave->policy);
    fflush(stdout);
    return error;
}

static const char *origin_of(const struct leave *leave) {
    return leave->enabled.config->origin ? leave->enabled.config->origin : leave->management.uid;
}

// Whether the running host places nothing there any more and has nothing there; without a host, nobody places. A host
// that has no worker of this name, or none from this Secret, will never say so.
static struct error *ask_host(struct leave *leave, bool *done) {
    AUTO_JSON worker = NULL;
    struct error *error = leave->host ? join_worker_state(leave->host, leave->name, &worker) : NULL;
    bool drains = json_string(json_get(worker, "drain")) || json_bool(json_get(worker, "leaving"), false);
    *done = !error && (!worker || (drains && json_int64(json_get(worker, "mirrors"), 0) == 0));
    error_free(error); // it may be restarting
    if (!worker || drains || clock_now().mono_ns - leave->began_ns < HEEDED_NS)
        return NULL;
    return error_new(
        ERROR_REFUSED,
        "the host has not begun to drain worker %s (%s): its configuration needs workersFrom: {secrets: true}, "
        "and no worker of that name of its own",
        leave->name, json_string_or(json_get(worker, "from"), "of unknown origin"));
}

static struct error *await_end(struct leave *leave) {
    struct join_left left = {.text = {.max = 65536}};
    AUTO_TEXT told = NULL;
    struct error *error = NULL;
    for (;;) {
        bool done = true;
        error = join_count_left(&leave->worker, &leave->enabled, origin_of(leave), &left);
        if (!error)
            error = ask_host(leave, &done);
        if (error || (left.own == 0 && done))
            break;
        if (left.own > 0 && !text_equal(told, left.text.data)) {
            printf("worker: waiting for %s\n", left.text.data);
            fflush(stdout);
            free(told);
            told = strdup(left.text.data);
        }
        if (clock_now().mono_ns >= leave->until_ns) {
            error = error_new(ERROR_LIMIT, "worker %s still has %s: run the command again to go on waiting",
                              leave->name, left.own > 0 ? left.text.data : "workloads to give up");
            break;
        }
        nanosleep(&(struct timespec){.tv_nsec = AGAIN_NS}, NULL);
    }
    buffer_free(&left.text);
    return error;
}

// What `wharf cordon` and `wharf drain` set of it, too.
static struct error *delete_secret(struct leave *leave) {
    AUTO_TEXT path = text_format("/api/v1/namespaces/%s/configmaps/" RIGHTS_WORKERS, leave->namespace_);
    AUTO_TEXT body = text_format("{\"data\":{\"%s\":null}}", leave->name);
    struct error *error = cluster_delete(&leave->management, "Secret", leave->namespace_, object_name(leave->secret));
    if (!error)
        error = path && body ? patch(leave, path, body) : error_no_memory();
    return error;
}

// The host closes its connection before its rights go; without a limit at most for some seconds.
static void await_host(struct leave *leave) {
    int64_t until_ns = clock_now().mono_ns + 10 * CLOCK_SECOND;
    for (bool listed = leave->host; listed && clock_now().mono_ns < until_ns;) {
        AUTO_JSON worker = NULL;
        struct error *error = join_worker_state(leave->host, leave->name, &worker);
        listed = !error && worker;
        error_free(error);
        if (listed)
            nanosleep(&(struct timespec){.tv_nsec = AGAIN_NS}, NULL);
    }
}

// Rights that another host uses stay: its mirrors are there.
static struct error *withdraw(struct leave *leave) {
    AUTO_TEXT owner = NULL;
    struct join_left left = {.text = {.max = 65536}};
    struct error *error = join_count_left(&leave->worker, &leave->enabled, origin_of(leave), &left);
    buffer_free(&left.text);
    if (!error)
        error = join_owner(&leave->worker, leave->namespace_, leave->rights.account, &owner);
    bool own = text_equal(owner, leave->management.uid);
    if (error || own || (!owner && !left.others))
        return error ? error : join_withdraw(&leave->worker, &leave->rights);
    printf("worker: serviceaccount/%s and its rights stay: another host uses them\n", leave->rights.account);
    return NULL;
}

// What `abandon` leaves behind. The worker's own count is newer than the host's.
static struct error *tell_abandoned(struct leave *leave) {
    struct join_left left = {.text = {.max = 65536}};
    AUTO_JSON state = NULL;
    struct error *error = NULL;
    if (leave->worker.client)
        error = join_count_left(&leave->worker, &leave->enabled, origin_of(leave), &left);
    else if (leave->host)
        error_free(join_worker_state(leave->host, leave->name, &state));
    int64_t count = leave->worker.client ? (int64_t)left.own : json_int64(json_get(state, "mirrors"), -1);
    if (!error && count < 0)
        printf("worker %s: how many workloads are placed there is not known: their mirrors stay and may run on\n",
               leave->name);
    else if (!error && count == 0)
        printf("worker %s: no workload is placed there\n", leave->name);
    else if (!error)
        printf("worker %s: %lld workload%s placed there%s%s%s: %s in the worker and may run on\n", leave->name,
               (long long)count, count == 1 ? " is" : "s are", left.text.len > 0 ? " (" : "",
               left.text.len > 0 ? left.text.data : "", left.text.len > 0 ? ")" : "",
               count == 1 ? "its mirror stays" : "their mirrors stay");
    buffer_free(&left.text);
    fflush(stdout);
    return error;
}

static struct error *leave_worker(struct leave *leave) {
    struct error *error = NULL;
    if (!leave->secret)
        printf("management: worker %s has no Secret in namespace %s any more\n", leave->name, leave->namespace_);
    if (waits(leave))
        error = begin_drain(leave);
    if (!error && waits(leave))
        error = await_end(leave);
    if (!error && leave->secret && !waits(leave))
        error = tell_abandoned(leave);
    if (!error && leave->secret)
        error = delete_secret(leave);
    if (!error)
        await_host(leave);
    if (!error && !leave->keep_rbac)
        error = withdraw(leave);
    if (!error)
        printf("worker %s left\n", leave->name);
    return error;
}

// --context must be this worker; without its Secret, at least no other one.
static struct error *check_worker(const struct leave *leave) {
    const char *uid = leave->secret ? object_annotation(leave->secret, JOIN_UID) : NULL;
    if (uid && strcmp(uid, leave->worker.uid) != 0)
        return error_new(
            ERROR_REFUSED,
            "--context: found a cluster with uid %s of namespace kube-system, expected that of worker %s, %s",
            leave->worker.uid, leave->name, uid);
    return NULL;
}

// That no worker of this name joined; `more` is put behind it.
static struct error *no_such_worker(struct leave *leave, const char *more) {
    const struct config *config = leave->enabled.config;
    AUTO_BUFFER(names, 65536);
    for (size_t i = 0; i < config->n_workers; i++)
        if (strcmp(config->workers[i].settings.name, leave->name) == 0)
            return error_new(ERROR_NOT_FOUND, "worker %s is in the list of %s, and has no Secret: remove it there%s",
                             leave->name, config->path, more);
    struct error *error = join_worker_names(&leave->management, leave->namespace_, &names);
    return error ? error
                 : error_new(ERROR_NOT_FOUND,
                             "worker %s does not exist: the workers with a Secret in namespace %s are: %s%s",
                             leave->name, leave->namespace_, names.len > 0 ? names.data : "none", more);
}

static struct error *check_no_worker(struct leave *leave) {
    AUTO_TEXT name = NULL;
    AUTO_TEXT more = NULL;
    struct error *error = join_name_of_uid(&leave->management, leave->namespace_, leave->worker.uid, &name);
    if (error || !name || strcmp(name, leave->name) == 0)
        return error;
    more = text_format("; --context: found the cluster of worker %s, expected that of %s", name, leave->name);
    return more ? no_such_worker(leave, more) : error_no_memory();
}

static struct error *open_with_secret(struct leave *leave) {
    const char *encoded = json_string_or(json_path(leave->secret, "data", "kubeconfig", NULL), "");
    AUTO_BUFFER(text, JOIN_KUBECONFIG_MAX);
    struct error *error = text_base64_decode(encoded, &text);
    if (!error)
        error = cluster_open_text(&leave->worker, "worker", text.data, text.len, "the kubeconfig in the Secret");
    return error;
}

// "wharf-system/wharf"
static const char *account_of(const struct json *secret) {
    const char *account = secret ? object_annotation(secret, JOIN_ACCOUNT) : NULL;
    const char *slash = account ? strchr(account, '/') : NULL;
    return slash && text_is_dns_label(slash + 1) ? slash + 1 : RIGHTS_ACCOUNT;
}

static struct error *open_all(const char *const values[], struct leave *leave) {
    const char *kubeconfig = values[MANAGEMENT_KUBECONFIG] ? values[MANAGEMENT_KUBECONFIG] : values[KUBECONFIG];
    struct error *error = join_open_management(&leave->management, &leave->enabled, values[KUBECONFIG],
                                               values[MANAGEMENT_KUBECONFIG], values[MANAGEMENT_CONTEXT]);
    if (!error)
        error = join_find_secret(&leave->management, leave->namespace_, leave->name, &leave->secret);
    leave->rights.namespace_ = leave->namespace_;
    leave->rights.account = values[ACCOUNT] ? values[ACCOUNT] : account_of(leave->secret);
    if (!error && !leave->secret && !values[CONTEXT]) // there would be nothing to do
        error = no_such_worker(leave, "");
    if (!error && !values[CONTEXT] && !leave->keep_rbac)
        return NULL;
    if (!error && values[CONTEXT])
        error = cluster_open(&leave->worker, "worker", values[KUBECONFIG], values[CONTEXT]);
    else if (!error && waits(leave))
        error = open_with_secret(leave);
    if (!error && values[CONTEXT])
        error = leave->secret ? check_worker(leave) : check_no_worker(leave);
    const struct join_host host = {.kubeconfig = kubeconfig,
                                   .context = values[MANAGEMENT_CONTEXT],
                                   .namespace_ = leave->namespace_,
                                   .enabled = &leave->enabled};
    AUTO_JSON state = NULL;
    struct error *unreachable = error ? NULL : join_open_host(&host, &leave->host);
    if (!error && !unreachable)
        unreachable = join_worker_state(leave->host, leave->name, &state);
    if (unreachable && leave->host) {
        remote_close(leave->host);
        leave->host = NULL;
    }
    error_free(unreachable);
    return error;
}

static struct error *read_options(const char *const values[], struct leave *leave) {
    int64_t timeout_ns = 0;
    if (!clock_parse_duration(values[TIMEOUT], &timeout_ns))
        return error_new(ERROR_USAGE, "--timeout: found %s, expected a duration like 30m", values[TIMEOUT]);
    leave->began_ns = clock_now().mono_ns;
    leave->until_ns = timeout_ns > 0 ? clock_now().mono_ns + timeout_ns : CLOCK_NEVER;
    leave->policy = values[POLICY];
    leave->name = values[N_FLAGS];
    leave->keep_rbac = values[KEEP_RBAC];
    struct error *error = enabled_load(values[CONFIG], values[ADAPTERS], values[ENABLED], &leave->enabled);
    leave->namespace_ = error ? NULL : enabled_namespace(&leave->enabled, values[NAMESPACE]);
    return error;
}

static int run(const struct arguments *arguments) {
    const char *values[N_FLAGS + 1];
    int code = EXIT_SUCCESS;
    if (!flags_read(&subcommand_leave, arguments, values, &code))
        return code;
    if (!values[N_FLAGS] || !text_is_dns_label(values[N_FLAGS]))
        return flags_usage_error(&subcommand_leave, "expected the name of a worker");
    if (values[NAMESPACE] && !text_is_dns_label(values[NAMESPACE]))
        return flags_usage_error(&subcommand_leave, "--namespace: found %s, expected the name of a namespace",
                                 values[NAMESPACE]);
    if (values[ACCOUNT] && !text_is_dns_label(values[ACCOUNT]))
        return flags_usage_error(&subcommand_leave, "--account: found %s, expected the name of a ServiceAccount",
                                 values[ACCOUNT]);
    if (strcmp(values[POLICY], "finish") != 0 && strcmp(values[POLICY], "move") != 0 &&
        strcmp(values[POLICY], "abandon") != 0)
        return flags_usage_error(&subcommand_leave, "--policy: found %s, expected finish, move or abandon",
                                 values[POLICY]);
    bool lacking = !values[CONTEXT] && !values[KEEP_RBAC];
    __attribute__((cleanup(leave_clear))) struct leave leave = {.name = NULL};
    struct error *error = values[CONTEXT] && values[KEEP_RBAC] ? NULL : read_options(values, &leave);
    if (!error && leave.name)
        error = open_all(values, &leave);
    if (!error && (lacking || !leave.name))
        return flags_usage_error(&subcommand_leave, "expected --context, to remove the rights in the worker, or "
                                                    "--keep-rbac");
    if (!error)
        error = leave_worker(&leave);
    fflush(stdout);
    return error ? main_fail(error) : EXIT_SUCCESS;
}

const struct subcommand subcommand_leave = {
    .name = "leave",
    .run = run,
    .operand = "WORKER",
    .flags = flags,
    .n_flags = N_FLAGS,
    .summary = "remove a worker",
    .text =
        "Drains a worker that joined with wharf join, waits until nothing of the host is left there, deletes its "
        "Secret\n"
        "in the management cluster, and then the host's rights in the worker. It can be interrupted and repeated.\n",
};
