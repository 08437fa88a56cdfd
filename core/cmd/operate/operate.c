// SPDX-License-Identifier: Apache-2.0
// `wharf cordon`, `uncordon` and `drain`. The orders are in a ConfigMap of the management cluster, written with the
// caller's own rights, so that orders outlive the command and the host.
#include "core/base/text.h"
#include "core/cmd/remote/remote.h"
#include "core/host/check/rights.h"

#define ATTEMPTS 5 // at a write that conflicts, as client-go's retry.DefaultRetry

// {"metadata": {...}, "data": {worker: entry, or null}}. NULL when out of memory.
static char *make_body(const char *namespace_, const char *version, const char *worker, const char *entry) {
    AUTO_JSON metadata = version ? document_make("{'resourceVersion':%s}", version)
                                 : document_make("{'name':'" RIGHTS_WORKERS "','namespace':%s}", namespace_);
    return metadata ? document_text("{'apiVersion':'v1','kind':'ConfigMap','metadata':%j,'data':{%s:%s}}", metadata,
                                    worker, entry)
                    : NULL;
}

// One attempt. *conflict: another write came first.
static struct error *try_write(struct client *client, const char *namespace_, const char *worker, const char *entry,
                               bool *conflict) {
    __attribute__((cleanup(ask_cleanup))) struct response found = {.retry_after_ns = -1};
    __attribute__((cleanup(ask_cleanup))) struct response written = {.retry_after_ns = -1};
    struct request request = {.verb = VERB_GET,
                              .resource = {.group = "", .version = "v1", .plural = "configmaps"},
                              .namespace_ = namespace_,
                              .name = RIGHTS_WORKERS};
    TRY(ask(client, &request, &found));
    bool missing = found.reason == REASON_NOT_FOUND;
    if (missing && !entry)
        return NULL;
    if (!missing && found.reason != REASON_OK)
        return error_new(ERROR_IO, "ConfigMap %s/%s: %s", namespace_, RIGHTS_WORKERS, found.message);
    AUTO_TEXT body = make_body(namespace_, missing ? NULL : object_version(found.object->value), worker, entry);
    if (!body)
        return error_no_memory();
    request.verb = missing ? VERB_CREATE : VERB_MERGE_PATCH;
    request.body = body;
    request.body_len = strlen(body);
    TRY(ask(client, &request, &written));
    *conflict = written.reason == REASON_CONFLICT || written.reason == REASON_ALREADY_EXISTS;
    if (*conflict || written.reason == REASON_OK)
        return NULL;
    return error_new(ERROR_IO, "ConfigMap %s/%s: %s", namespace_, RIGHTS_WORKERS, written.message);
}

// Reads, changes and writes the ConfigMap, again after a conflict; creates a missing ConfigMap. `entry` NULL: removes
// the worker's entry.
static struct error *write_order(struct client *management, const char *namespace_, const char *worker,
                                 const char *entry) {
    for (int i = 0; i < ATTEMPTS; i++) {
        bool conflict = false;
        TRY(try_write(management, namespace_, worker, entry, &conflict));
        if (!conflict)
            return NULL;
    }
    return error_new(ERROR_IO, "ConfigMap %s/%s: other writes keep changing it: try again", namespace_, RIGHTS_WORKERS);
}

static struct error *no_such_worker(const struct json *items, const char *worker) {
    size_t count = json_size(items);
    const char **names = calloc(count + 1, sizeof *names);
    AUTO_BUFFER(list, 65536);
    size_t n = 0;
    for (const struct json *item = json_first(items); item && names; item = json_next(item)) {
        names[n] = json_string_or(json_get(item, "name"), "");
        buffer_printf(&list, "%s%s", n ? ", " : "", names[n]);
        n++;
    }
    const char *meant = names ? suggest(worker, names, n) : NULL;
    struct error *error = error_new(ERROR_NOT_FOUND, "worker \"%s\" not found; the host has %s%s%s%s", worker,
                                    list.len > 0 && list.data ? list.data : "none", meant ? "; did you mean \"" : "",
                                    meant ? meant : "", meant ? "\"?" : "");
    free(names);
    return error;
}

// The worker's item in the host's list. *out is NULL without an error if the host was not reached, with a warning
// unless *warned: the order takes effect at the next start. ERROR_NOT_FOUND: the host has no such worker.
static struct error *find_worker(struct remote *remote, const char *worker, bool *warned, struct json **out) {
    AUTO_JSON list = NULL;
    AUTO_ERROR error = remote_worker(remote, worker, out, &list);
    if (error && error->code == ERROR_IO) {
        if (!*warned)
            fprintf(stderr, "warning: %s\n", error_text(error));
        *warned = true;
        return NULL;
    }
    *warned = false;
    return error || *out ? TAKE(error) : no_such_worker(json_get(list, "items"), worker);
}

#define APPLIED_NS (15 * CLOCK_SECOND) // until a running host has applied an order: within a second
#define APPLIED_AGAIN_NS (100 * CLOCK_MS)
#define LOOK_NS (500 * CLOCK_MS) // between questions whether a worker is drained

static const struct flag drain_flags[] = {
    FLAG("policy", 0, "POLICY",
         "let running workloads finish, or move them: delete them there, to run again in\n"
         "another worker",
         .fallback = "finish", .words = WORDS("finish", "move")),
    FLAG("timeout", 0, "DURATION", "the longest wait, as 30m (default: without limit)", CHECK_DURATION),
    SWITCH("no-wait", 0, "do not wait until the worker is drained"),
};

#define CORDON "{\"cordoned\":true}"

struct operation {
    const char *worker;
    const char *entry;       // JSON, in ConfigMap wharf-workers; NULL: none, the worker is not cordoned
    const char *drain;       // "finish", "move"; NULL: the worker is not drained
    const char *done, *does; // "cordoned", "cordons"
    bool wait;               // until the worker is drained
    int64_t timeout_ns;
};

// The error after the longest wait.
static struct error *still_waits(const struct operation *operation, long long active) {
    return active < 0 ? error_new(ERROR_LIMIT,
                                  "worker %s: the number of active workloads there is unknown; the worker stays "
                                  "cordoned and draining",
                                  operation->worker)
                      : error_new(ERROR_LIMIT,
                                  "worker %s: %lld workloads are still active; the worker stays cordoned and draining",
                                  operation->worker, active);
}

static struct error *not_applied(const struct operation *operation, const struct remote *remote) {
    char after[CLOCK_RFC3339_MAX];
    clock_duration_text(APPLIED_NS, after);
    const char *namespace_ = remote->options.host_namespace;
    if (operation->entry)
        return error_new(ERROR_REFUSED,
                         "worker %s: the host has not applied this after %s: does it read ConfigMap %s/" RIGHTS_WORKERS
                         " of the management cluster?",
                         operation->worker, after, namespace_);
    return error_new(ERROR_REFUSED,
                     "worker %s: the host still shows it as cordoned after %s: its configuration, its Secret or its "
                     "ClusterProfile cordons it too, or the host does not read ConfigMap %s/" RIGHTS_WORKERS,
                     operation->worker, after, namespace_);
}

static bool is_applied(const struct operation *operation, const struct json *worker) {
    const char *drain = json_string(json_get(worker, "drain"));
    if (operation->drain)
        return text_equal(drain, operation->drain);
    return json_bool(json_get(worker, "cordoned"), false) == !!operation->entry && (operation->entry || !drain);
}

// Waits until the host shows the order; not for a host that does not respond.
static struct error *await_applied(const struct operation *operation, struct remote *remote, bool *reached) {
    int64_t until_ns = clock_now().mono_ns + APPLIED_NS;
    for (;;) {
        AUTO_JSON worker = NULL;
        bool warned = true;
        TRY(find_worker(remote, operation->worker, &warned, &worker));
        *reached = worker;
        if (!worker || is_applied(operation, worker))
            return NULL;
        if (!remote_wait(until_ns, APPLIED_AGAIN_NS))
            return not_applied(operation, remote);
    }
}

// Waits until the host drains the worker and nothing is active there; `began_ns`: begin of the wait for all workers.
static struct error *wait_drained(const struct operation *operation, struct remote *remote, int64_t began_ns) {
    bool warned = false;
    for (long long printed = -1;;) {
        AUTO_JSON worker = NULL;
        TRY(find_worker(remote, operation->worker, &warned, &worker));
        long long active = (long long)json_int64(json_get(worker, "active"), -1);
        bool drains = json_string(json_get(worker, "drain"));
        if (drains && active == 0) {
            printf("worker %s drained\n", operation->worker);
            return NULL;
        }
        if (active > 0 && active != printed)
            printf("worker %s: %lld workloads are active\n", operation->worker, active);
        printed = active;
        int64_t waited_ns = clock_now().mono_ns - began_ns;
        if (worker && !drains && waited_ns > APPLIED_NS)
            return not_applied(operation, remote);
        if (operation->timeout_ns && waited_ns >= operation->timeout_ns)
            return still_waits(operation, active);
        (void)remote_wait(CLOCK_NEVER, LOOK_NS);
    }
}

// All workers exist, before the first order. *reached: the host was.
static struct error *check_workers(struct call *call, bool *reached) {
    bool warned = false;
    for (const char *const *name = call->operand; *name; name++) {
        AUTO_JSON worker = NULL;
        TRY(find_worker(call->remote, *name, &warned, &worker));
        *reached = worker;
    }
    return NULL;
}

// A worker that gets no new work because workloads fail there is released by the end of a cordon.
static struct error *cordon_first(struct remote *remote, struct client *management, const char *name) {
    const struct operation cordon = {.worker = name, .entry = CORDON};
    AUTO_JSON worker = NULL;
    bool warned = true, reached = false;
    TRY(find_worker(remote, name, &warned, &worker));
    if (!json_string(json_get(worker, "failing")) || json_bool(json_get(worker, "cordoned"), false))
        return NULL;
    TRY(write_order(management, remote->options.host_namespace, name, cordon.entry));
    return await_applied(&cordon, remote, &reached);
}

static struct error *order(struct call *call, const struct operation *operation, bool reached) {
    struct remote *remote = call->remote;
    struct client *management = NULL;
    TRY(remote_management(remote, &management));
    if (!operation->entry)
        TRY(cordon_first(remote, management, operation->worker));
    TRY(write_order(management, remote->options.host_namespace, operation->worker, operation->entry));
    if (reached)
        TRY(await_applied(operation, remote, &reached));
    printf("worker %s %s\n", operation->worker, operation->done);
    if (!reached && !operation->wait)
        fprintf(stderr, "warning: the host was not reached: it %s worker %s when it runs\n", operation->does,
                operation->worker);
    return NULL;
}

// As kubectl: the order for all workers first.
static struct error *operate(struct call *call, struct operation *operation) {
    bool reached = false;
    TRY(check_workers(call, &reached));
    for (const char *const *name = call->operand; *name; name++) {
        operation->worker = *name;
        TRY(order(call, operation, reached));
    }
    int64_t began_ns = clock_now().mono_ns;
    for (const char *const *name = call->operand; *name && operation->wait; name++) {
        operation->worker = *name;
        TRY(wait_drained(operation, call->remote, began_ns));
    }
    return NULL;
}

static struct error *run_cordon(struct call *call) {
    return operate(call, &(struct operation){.entry = CORDON, .done = "cordoned", .does = "cordons"});
}

static struct error *run_uncordon(struct call *call) {
    return operate(call, &(struct operation){.done = "uncordoned", .does = "uncordons"});
}

static struct error *run_drain(struct call *call) {
    AUTO_TEXT done = text_format("cordoned and draining (%s)", flags_value(call, "policy"));
    AUTO_TEXT entry = document_text("{'cordoned':true,'drain':%s}", flags_value(call, "policy"));
    struct operation operation = {.entry = entry,
                                  .drain = flags_value(call, "policy"),
                                  .done = done,
                                  .does = "drains",
                                  .wait = !flags_value(call, "no-wait"),
                                  .timeout_ns = flags_duration(flags_value(call, "timeout"))};
    return done && entry ? operate(call, &operation) : error_no_memory();
}

SUBCOMMAND(cordon, run_cordon, "place nothing new in workers",
           "Running workloads stay there. The order is in ConfigMap wharf-workers in the host's namespace, so\n"
           "that it holds after a restart of the host. Returns when the host has applied the order, or with 1 after\n"
           "15 seconds.\n",
           .operand = OPERAND_WORKERS, ASKS_HOST);

SUBCOMMAND(
    uncordon, run_uncordon, "use workers again that were cordoned or drained",
    "Removes the workers' entries from ConfigMap wharf-workers. A worker that gets nothing new because workloads\n"
    "fail there (WorkerSuspect) gets new workloads again, too. If the worker's configuration or Secret cordons\n"
    "it too, the worker stays cordoned and the command exits with 1 after 15 seconds.\n",
    .operand = OPERAND_WORKERS, ASKS_HOST);

SUBCOMMAND(
    drain, run_drain, "empty workers, for their maintenance",
    "Cordons the workers and waits until all their workloads have finished, or with --policy move have left for\n"
    "other workers. Interrupting the command does not stop the drain; wharf uncordon does.\n",
    .operand = OPERAND_WORKERS, ASKS_HOST, FLAGS(drain_flags));
