// SPDX-License-Identifier: Apache-2.0
// `wharf cordon`, `uncordon` and `drain`.
#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/cmd/operate/operate.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

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
    const struct subcommand *command;
    const char *worker;
    struct remote *remote;
    struct client *management;
};

// Reads the command line and finds the worker. 0: continue.
static int begin(const struct subcommand *command, const struct arguments *arguments, const char **values,
                 struct operation *operation) {
    int code = EXIT_SUCCESS;
    if (!flags_read(command, arguments, values, &code))
        return code ? code : -1; // help was printed
    *operation = (struct operation){.command = command, .worker = values[command->n_flags]};
    if (!operation->worker)
        return flags_usage_error(command, "found no WORKER, expected its name (see wharf status workers)");
    struct remote_options options;
    remote_options_read(values, REMOTE, &options);
    AUTO_JSON worker = NULL;
    struct error *error = remote_open(&options, &operation->remote);
    if (!error)
        error = order_find_worker(operation->remote, operation->worker, &worker);
    if (!error)
        error = remote_management(operation->remote, &operation->management);
    return error ? main_fail(error) : 0;
}

static int finish(struct operation *operation, struct error *error) {
    remote_close(operation->remote);
    return error ? main_fail(error) : EXIT_SUCCESS;
}

static int order(const struct subcommand *command, const struct arguments *arguments, const struct worker_order *wanted,
                 const char *done) {
    const char *values[N_FLAGS + 1];
    struct operation operation = {.remote = NULL};
    int code = begin(command, arguments, values, &operation);
    if (code != 0) {
        remote_close(operation.remote);
        return code < 0 ? EXIT_SUCCESS : code;
    }
    struct error *error =
        order_write(operation.management, remote_host_namespace(operation.remote), operation.worker, wanted);
    if (!error)
        printf("worker %s %s\n", operation.worker, done);
    return finish(&operation, error);
}

static int run_cordon(const struct arguments *arguments) {
    return order(&subcommand_cordon, arguments, &(struct worker_order){.cordoned = true}, "cordoned");
}

static int run_uncordon(const struct arguments *arguments) {
    return order(&subcommand_uncordon, arguments, &(struct worker_order){.cordoned = false}, "uncordoned");
}

// Until nothing active is left there.
static struct error *wait_drained(const struct operation *operation, int64_t until_ns) {
    for (long long told = -1;;) {
        AUTO_JSON worker = NULL;
        struct error *error = order_find_worker(operation->remote, operation->worker, &worker);
        if (error)
            return error;
        long long active = (long long)json_int64(json_get(worker, "active"), 0);
        if (worker && active == 0) {
            printf("worker %s drained\n", operation->worker);
            return NULL;
        }
        if (worker && active != told)
            printf("worker %s: %lld workloads are active\n", operation->worker, active);
        told = active;
        (void)fflush(stdout);
        if (clock_now().mono_ns >= until_ns)
            return error_new(ERROR_LIMIT, "worker %s: %lld workloads are still active; it stays cordoned and draining",
                             operation->worker, active);
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
}

static int run_drain(const struct arguments *arguments) {
    const char *values[N_DRAIN_FLAGS + 1];
    struct operation operation = {.remote = NULL};
    int64_t timeout_ns = 0;
    int code = begin(&subcommand_drain, arguments, values, &operation);
    if (code == 0 && strcmp(values[POLICY], "finish") != 0 && strcmp(values[POLICY], "move") != 0)
        code = flags_usage_error(&subcommand_drain, "--policy: found \"%s\", expected finish or move", values[POLICY]);
    if (code == 0 && values[TIMEOUT] && !clock_parse_duration(values[TIMEOUT], &timeout_ns))
        code = flags_usage_error(&subcommand_drain, "--timeout: found \"%s\", expected a duration, as 30m",
                                 values[TIMEOUT]);
    if (code != 0) {
        remote_close(operation.remote);
        return code < 0 ? EXIT_SUCCESS : code;
    }
    const struct worker_order wanted = {.cordoned = true, .drain = values[POLICY]};
    struct error *error =
        order_write(operation.management, remote_host_namespace(operation.remote), operation.worker, &wanted);
    if (!error)
        printf("worker %s cordoned and draining (%s)\n", operation.worker, values[POLICY]);
    if (!error && !values[NO_WAIT])
        error = wait_drained(&operation, timeout_ns ? clock_now().mono_ns + timeout_ns : CLOCK_NEVER);
    return finish(&operation, error);
}

const struct subcommand subcommand_cordon = {
    .name = "cordon",
    .run = run_cordon,
    .operand = "WORKER",
    .flags = flags,
    .n_flags = N_FLAGS,
    .summary = "place nothing new in a worker",
    .text = "What runs in the worker goes on. Written to ConfigMap wharf-workers in the host's namespace, so it also\n"
            "holds for a host that is restarted.\n",
};

const struct subcommand subcommand_uncordon = {
    .name = "uncordon",
    .run = run_uncordon,
    .operand = "WORKER",
    .flags = flags,
    .n_flags = N_FLAGS,
    .summary = "use a worker again that was cordoned or drained",
    .text = "Removes the worker's entry from ConfigMap wharf-workers. What its configuration or its Secret says of it\n"
            "stays in force.\n",
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
