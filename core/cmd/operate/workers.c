// SPDX-License-Identifier: Apache-2.0
// `wharf cordon`, `uncordon` and `drain`.
#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/cmd/operate/operate.h"
#include "core/host/check/rights.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define APPLIED_NS (15 * CLOCK_SECOND) // until a running host has applied an order, which it does within a second
#define APPLIED_AGAIN_NS (100 * CLOCK_MS)
#define LOOK_NS (500 * CLOCK_MS) // between questions whether a worker is drained

enum { REMOTE, N_FLAGS = REMOTE + REMOTE_N_FLAGS };
static const struct flag flags[] = {[REMOTE] = REMOTE_FLAGS};

enum { POLICY = N_FLAGS, TIMEOUT, NO_WAIT, N_DRAIN_FLAGS };
static const struct flag drain_flags[] = {
    [REMOTE] = REMOTE_FLAGS,
    [POLICY] = {.name = "policy",
                .argument = "POLICY",
                .fallback = "finish",
                .help = "finish: what runs there runs to its end; move: it is deleted there and runs\n"
                        "again in another worker"},
    [TIMEOUT] = {.name = "timeout",
                 .argument = "DURATION",
                 .help = "how long to wait, as 30m (default: without limit)"},
    [NO_WAIT] = {.name = "no-wait", .help = "do not wait until nothing runs there any more"},
};

struct operation {
    const char *worker;
    struct worker_order order;
    const char *done, *does; // "cordoned", "cordons"
    bool wait;               // until the worker is drained
    int64_t timeout_ns;
};

// Why it is not drained after all that time.
static struct error *still_waits(const struct operation *operation, long long active) {
    return active < 0
               ? error_new(ERROR_LIMIT,
                           "worker %s: the host has not said what is active there; it stays cordoned and draining",
                           operation->worker)
               : error_new(ERROR_LIMIT, "worker %s: %lld workloads are still active; it stays cordoned and draining",
                           operation->worker, active);
}

static struct error *not_applied(const struct operation *operation, const struct remote *remote) {
    char after[CLOCK_RFC3339_MAX];
    clock_duration_text(APPLIED_NS, after);
    const char *namespace_ = remote_host_namespace(remote);
    if (operation->order.cordoned)
        return error_new(ERROR_REFUSED,
                         "worker %s: the host has not applied this after %s: does it read ConfigMap %s/" RIGHTS_WORKERS
                         " of the management cluster?",
                         operation->worker, after, namespace_);
    return error_new(ERROR_REFUSED,
                     "worker %s: the host still shows it as cordoned after %s: its configuration, its Secret or its "
                     "ClusterProfile cordons it too, or the host does not read ConfigMap %s/" RIGHTS_WORKERS,
                     operation->worker, after, namespace_);
}

static bool is_applied(const struct worker_order *order, const struct json *worker) {
    const char *drain = json_string(json_get(worker, "drain"));
    if (order->drain)
        return text_equal(drain, order->drain);
    return json_bool(json_get(worker, "cordoned"), false) == order->cordoned && (order->cordoned || !drain);
}

// Until the host shows what was written; a host that does not answer is not waited for.
static struct error *await_applied(const struct operation *operation, struct remote *remote, bool *reached) {
    int64_t until_ns = clock_now().mono_ns + APPLIED_NS;
    for (;;) {
        AUTO_JSON worker = NULL;
        bool warned = true;
        struct error *error = order_find_worker(remote, operation->worker, &warned, &worker);
        *reached = worker;
        if (error || !worker || is_applied(&operation->order, worker))
            return error;
        if (clock_now().mono_ns >= until_ns)
            return not_applied(operation, remote);
        nanosleep(&(struct timespec){.tv_nsec = APPLIED_AGAIN_NS}, NULL);
    }
}

// Until the host drains it and nothing active is left there.
static struct error *wait_drained(const struct operation *operation, struct remote *remote) {
    int64_t began_ns = clock_now().mono_ns;
    bool warned = false;
    for (long long told = -1;;) {
        AUTO_JSON worker = NULL;
        struct error *error = order_find_worker(remote, operation->worker, &warned, &worker);
        if (error)
            return error;
        long long active = (long long)json_int64(json_get(worker, "active"), -1);
        bool drains = json_string(json_get(worker, "drain"));
        if (drains && active == 0) {
            printf("worker %s drained\n", operation->worker);
            return NULL;
        }
        if (active > 0 && active != told)
            printf("worker %s: %lld workloads are active\n", operation->worker, active);
        told = active;
        (void)fflush(stdout);
        int64_t waited_ns = clock_now().mono_ns - began_ns;
        if (worker && !drains && waited_ns > APPLIED_NS)
            return not_applied(operation, remote);
        if (operation->timeout_ns && waited_ns >= operation->timeout_ns)
            return still_waits(operation, active);
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
}

static struct error *operate(void *ctx, struct remote *remote) {
    const struct operation *operation = ctx;
    struct client *management = NULL;
    AUTO_JSON worker = NULL;
    bool warned = false, reached = false;
    struct error *error = order_find_worker(remote, operation->worker, &warned, &worker);
    if (!error)
        error = remote_management(remote, &management);
    if (!error)
        error = order_write(management, remote_host_namespace(remote), operation->worker, &operation->order);
    if (!error && worker)
        error = await_applied(operation, remote, &reached);
    if (error)
        return error;
    printf("worker %s %s\n", operation->worker, operation->done);
    if (operation->wait)
        return wait_drained(operation, remote);
    if (!reached)
        fprintf(stderr, "warning: the host was not reached: it %s worker %s when it runs\n", operation->does,
                operation->worker);
    return NULL;
}

// The operand. 0: continue.
static int read_worker(const struct subcommand *command, const char *const *values, struct operation *operation) {
    operation->worker = values[command->n_flags];
    return operation->worker
               ? 0
               : flags_usage_error(command, "found no WORKER, expected its name (see wharf status workers)");
}

static int order(const struct subcommand *command, const struct arguments *arguments, struct operation operation) {
    const char *values[N_FLAGS + 1];
    int code = EXIT_SUCCESS;
    if (!flags_read(command, arguments, values, &code))
        return code;
    code = read_worker(command, values, &operation);
    return code ? code : remote_use(values, REMOTE, operate, &operation);
}

static int run_cordon(const struct arguments *arguments) {
    return order(&subcommand_cordon, arguments,
                 (struct operation){.order = {.cordoned = true}, .done = "cordoned", .does = "cordons"});
}

static int run_uncordon(const struct arguments *arguments) {
    return order(&subcommand_uncordon, arguments, (struct operation){.done = "uncordoned", .does = "uncordons"});
}

static int run_drain(const struct arguments *arguments) {
    const char *values[N_DRAIN_FLAGS + 1];
    int code = EXIT_SUCCESS;
    if (!flags_read(&subcommand_drain, arguments, values, &code))
        return code;
    const char *policy = values[POLICY];
    bool moves = strcmp(policy, "move") == 0;
    struct operation operation = {
        .order = {.cordoned = true, .drain = policy},
        .done = moves ? "cordoned and draining (move)" : "cordoned and draining (finish)",
        .does = "drains",
        .wait = !values[NO_WAIT],
    };
    code = read_worker(&subcommand_drain, values, &operation);
    if (code == 0 && !moves && strcmp(policy, "finish") != 0)
        code = flags_usage_error(&subcommand_drain, "--policy: found \"%s\", expected finish or move", policy);
    if (code == 0 && values[TIMEOUT] && !clock_parse_duration(values[TIMEOUT], &operation.timeout_ns))
        code = flags_usage_error(&subcommand_drain, "--timeout: found \"%s\", expected a duration, as 30m",
                                 values[TIMEOUT]);
    return code ? code : remote_use(values, REMOTE, operate, &operation);
}

const struct subcommand subcommand_cordon = {
    .name = "cordon",
    .run = run_cordon,
    .operand = "WORKER",
    .flags = flags,
    .n_flags = N_FLAGS,
    .summary = "place nothing new in a worker",
    .text = "What runs in the worker goes on. Written to ConfigMap wharf-workers in the host's namespace, so it also\n"
            "holds for a host that is restarted. Returns when the host has applied it, or with 1 after 15 seconds.\n",
};

const struct subcommand subcommand_uncordon = {
    .name = "uncordon",
    .run = run_uncordon,
    .operand = "WORKER",
    .flags = flags,
    .n_flags = N_FLAGS,
    .summary = "use a worker again that was cordoned or drained",
    .text = "Removes the worker's entry from ConfigMap wharf-workers. What its configuration or its Secret says of it\n"
            "stays in force: then the command exits with 1 after 15 seconds.\n",
};

const struct subcommand subcommand_drain = {
    .name = "drain",
    .run = run_drain,
    .operand = "WORKER",
    .flags = drain_flags,
    .n_flags = N_DRAIN_FLAGS,
    .summary = "empty a worker, for its maintenance",
    .text =
        "Cordons the worker and waits until nothing runs there any more: because it has finished, or with --policy\n"
        "move because it was moved. Interrupting the command does not stop the drain; wharf uncordon does.\n",
};
