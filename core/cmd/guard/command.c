// SPDX-License-Identifier: Apache-2.0
// `wharf guard`: in a worker cluster, stops the mirrors of a host that has lost it (docs/fencing.md).
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/cmd/enabled.h"
#include "core/cmd/run/signals.h"
#include "core/cmd/setup.h"
#include "core/host/check/rights.h"
#include "core/host/io/cluster_connection.h"
#include "core/host/lease/guard_run.h"
#include "core/kube/object/budget.h"
#include "core/kube/transport/curl_transport.h"
#include "core/kube/transport/loop.h"
#include "core/serve/http/http.h"
#include "core/serve/metrics/guard_pages.h"

#include <ctype.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAST_LINES_NS CLOCK_SECOND
#define NAMES_MAX 65536
#define OK 200U // HTTP
#define UNAVAILABLE 503U

enum { ORIGIN, NAMESPACE, ACTION, CONFIG, ADAPTERS, ENABLED, KUBECONFIG, CONTEXT, SERVE, LOG, N_FLAGS };

static const struct flag flags[] = {
    [ORIGIN] = {.name = "origin",
                .argument = "NAME",
                .required = true,
                .help = "the origin of the host whose mirrors are guarded (wharf.dev/origin)"},
    [NAMESPACE] = {.name = "namespace",
                   .letter = 'n',
                   .argument = "NAMESPACE",
                   .fallback = RIGHTS_NAMESPACE,
                   .help = "of the Leases: the host's fencing.namespace"},
    [ACTION] = {.name = "action",
                .argument = "ACTION",
                .fallback = "suspend",
                .help = "suspend: mirrors are suspended, or deleted where their kind cannot be;\ndelete: all are "
                        "deleted"},
    [CONFIG] = {.name = "config",
                .argument = "FILE",
                .help = "a host's configuration, for its adapters and their settings (default: all\nadapters of the "
                        "directory that need no settings)"},
    [ADAPTERS] = FLAG_ADAPTERS,
    [ENABLED] = {.name = "adapters-enabled", .argument = "A,B", .help = "these adapters only"},
    [KUBECONFIG] = {.name = "kubeconfig",
                    .argument = "FILE",
                    .help = "of the worker (default: the service account of the pod)"},
    [CONTEXT] = {.name = "context", .argument = "CONTEXT", .help = "of --kubeconfig (default: the current one)"},
    [SERVE] = {.name = "serve",
               .argument = "ADDRESS",
               .help = "an IP address with a port, where /livez, /readyz and /metrics are served (default: nowhere)"},
    [LOG] = {.name = "log-format", .argument = "FORMAT", .fallback = "text", .help = "text or json"},
};

struct guard_program {
    const char *const *values;
    struct enabled enabled;
    struct signals *signals;
    struct cluster_connection connection;
    struct budget budget;
    struct loop *loop;
    struct guard_run *run; // on the loop's thread
    char identity[64];
    struct http_server *server;
    pthread_mutex_t mutex;
    struct guard_status status; // under the mutex
    sem_t stopped;
};

// All adapters of the directory but `generic`, which has no kinds without settings.
static struct error *list_adapters(const char *directory, struct buffer *names) {
    struct config *config = NULL;
    struct error *error = directory ? NULL : config_without_file("wharf guard", NULL, &config);
    if (error)
        return error;
    const char *where = directory ? directory : config->adapter_directory;
    __attribute__((cleanup(setup_names_free))) struct setup_names found = {.count = 0};
    setup_read_names(where, &found);
    for (size_t i = 0; i < found.count; i++)
        if (strcmp(found.list[i], "generic") != 0)
            buffer_printf(names, "%s%s", names->len > 0 ? "," : "", found.list[i]);
    if (names->len == 0)
        error = error_new(ERROR_INVALID, "%s has no adapters, expected those of the kinds to guard", where);
    config_free(config);
    return error ? error : names->failed ? error_no_memory() : NULL;
}

static struct error *load(struct guard_program *program) {
    const char *const *values = program->values;
    AUTO_BUFFER(names, NAMES_MAX);
    bool all = !values[CONFIG] && !values[ENABLED];
    struct error *error = all ? list_adapters(values[ADAPTERS], &names) : NULL;
    if (!error)
        error = enabled_load(values[CONFIG], values[ADAPTERS], all ? names.data : values[ENABLED], &program->enabled);
    return error;
}

static struct error *connect_worker(struct guard_program *program) {
    char context[] = "";
    const char *const *values = program->values;
    struct worker_spec cluster = {.kubeconfig_path = (char *)values[KUBECONFIG],
                                  .context = values[CONTEXT] ? (char *)values[CONTEXT] : context};
    const struct exec_policy *policy = &program->enabled.config->credential_plugins;
    budget_init(&program->budget, BUDGET_DEFAULT, 0, 0, NULL);
    struct error *error = curl_transport_setup();
    if (!error)
        error = connection_load(&program->connection, &cluster, policy, clock_now().wall_ns);
    if (!error)
        error = connection_open(&program->connection, &program->budget);
    return error;
}

static int64_t work(struct guard_program *program, struct moment now) {
    int64_t next_ns = guard_run_tick(program->run, now);
    struct guard_status status;
    if (!program->server)
        return next_ns;
    guard_run_status(program->run, &status);
    pthread_mutex_lock(&program->mutex);
    program->status = status;
    pthread_mutex_unlock(&program->mutex);
    return next_ns;
}

static unsigned make_page(void *ctx, enum http_page page, struct buffer *body) {
    struct guard_program *program = ctx;
    pthread_mutex_lock(&program->mutex);
    struct guard_status status = program->status;
    pthread_mutex_unlock(&program->mutex);
    struct metrics_process process;
    int64_t now_ns = clock_now().mono_ns;
    if (page == HTTP_LIVE)
        return guard_page_alive(&status, now_ns, body) ? OK : UNAVAILABLE;
    if (page == HTTP_READY)
        return guard_page_ready(&status, now_ns, body) ? OK : UNAVAILABLE;
    metrics_process_read(&process);
    guard_page_metrics(&status, &process, body);
    return OK;
}

static struct error *serve(struct guard_program *program) {
    struct http_source source = {.page = make_page, .ctx = program};
    const char *address = program->values[SERVE];
    program->status.at_ns = clock_now().mono_ns;
    text_copy(program->status.origin, sizeof program->status.origin, program->values[ORIGIN]);
    return address ? error_wrap(http_server_start(address, &source, &program->server), "--serve") : NULL;
}

static int64_t tick(void *ctx, struct moment now) {
    struct guard_program *program = ctx;
    const char *const *values = program->values;
    if (program->run)
        return work(program, now);
    struct guard_run_options options = {
        .guard = {.origin = values[ORIGIN],
                  .namespace_ = values[NAMESPACE],
                  .identity = program->identity,
                  .action = strcmp(values[ACTION], "delete") == 0 ? GUARD_DELETES : GUARD_SUSPENDS},
        .transport = program->connection.transport,
        .budget = &program->budget,
        .kinds = program->enabled.adapters->kinds,
        .n_kinds = program->enabled.adapters->n_kinds,
        .watch_list = true,
        .seed = random_system()};
    struct error *error = guard_run_new(&options, now, &program->run);
    if (!error)
        return work(program, now);
    log_fields(LOG_ERROR, "the guard cannot begin yet", {"error", error_text(error)});
    error_free(error);
    return now.mono_ns + CLOCK_SECOND;
}

static void stop(void *ctx) {
    struct guard_program *program = ctx;
    sem_post(&program->stopped);
}

// A process is never taken for another one: pods of a StatefulSet keep their names. It is part of an annotation's name.
static void name_process(char out[64]) {
    char host[48] = "guard";
    if (gethostname(host, sizeof host - 1) != 0 || !isalnum((unsigned char)*host))
        text_copy(host, sizeof host, "guard");
    host[sizeof host - 1] = '\0';
    for (char *at = host; *at; at++)
        if (!isalnum((unsigned char)*at))
            *at = '-';
    snprintf(out, 64, "%.40s_%08x", host, (unsigned)random_system());
}

static struct error *run_guard(struct guard_program *program) {
    log_setup(strcmp(program->values[LOG], "json") == 0 ? LOG_JSON : LOG_TEXT, LOG_INFO);
    struct error *error = signals_start(&program->signals);
    if (!error && !log_start())
        error = error_new(ERROR_IO, "cannot start the log thread");
    if (!error)
        error = load(program);
    if (!error)
        error = serve(program);
    if (!error)
        error = connect_worker(program);
    if (!error)
        error = loop_start("guard", program->connection.transport, tick, program, &program->loop);
    if (error)
        return error;
    log_fields(LOG_INFO, "wharf guard starting", {"version", WHARF_VERSION}, {"origin", program->values[ORIGIN]},
               {"namespace", program->values[NAMESPACE]}, {"action", program->values[ACTION]},
               LOG_INT("kinds", program->enabled.adapters->n_kinds), {"serving", program->values[SERVE]});
    signals_on_stop(program->signals, stop, program);
    while (sem_wait(&program->stopped) != 0)
        continue;
    signals_forget(program->signals);
    return NULL;
}

static void end(struct guard_program *program) {
    http_server_stop(program->server);
    if (program->loop)
        loop_stop(program->loop);
    guard_run_free(program->run);
    connection_close(&program->connection);
    enabled_free(&program->enabled);
    signals_end(program->signals);
    (void)log_stop(LAST_LINES_NS);
    sem_destroy(&program->stopped);
    pthread_mutex_destroy(&program->mutex);
}

static int check(const char *const *values) {
    const struct subcommand *command = &subcommand_guard;
    if (!text_is_dns_label(values[ORIGIN]))
        return flags_usage_error(command, "--origin: found %s, expected a name like that of a host's origin",
                                 values[ORIGIN]);
    if (!text_is_dns_label(values[NAMESPACE]))
        return flags_usage_error(command, "--namespace: found %s, expected the name of a namespace", values[NAMESPACE]);
    if (strcmp(values[ACTION], "suspend") != 0 && strcmp(values[ACTION], "delete") != 0)
        return flags_usage_error(command, "--action: found %s, expected suspend or delete", values[ACTION]);
    if (strcmp(values[LOG], "text") != 0 && strcmp(values[LOG], "json") != 0)
        return flags_usage_error(command, "--log-format: found %s, expected text or json", values[LOG]);
    return EXIT_SUCCESS;
}

static int run(const struct arguments *arguments) {
    const char *values[N_FLAGS + 1];
    int code = EXIT_SUCCESS;
    if (!flags_read(&subcommand_guard, arguments, values, &code))
        return code;
    code = check(values);
    if (code != EXIT_SUCCESS)
        return code;
    struct guard_program program = {.values = values};
    name_process(program.identity);
    sem_init(&program.stopped, 0, 0);
    pthread_mutex_init(&program.mutex, NULL);
    struct error *error = run_guard(&program);
    if (error)
        log_fields(LOG_ERROR, "wharf guard failed", {"error", error_text(error)});
    else
        log_plain(LOG_INFO, "wharf guard stopped");
    code = main_exit_code(error);
    error_free(error);
    end(&program);
    return code;
}

const struct subcommand subcommand_guard = {
    .name = "guard",
    .run = run,
    .flags = flags,
    .n_flags = N_FLAGS,
    .summary = "stop mirrors in a worker that its host has lost",
    .text =
        "Runs in a worker cluster, beside the mirrors. A host with `fencing: {enabled: true}` renews a Lease there; "
        "if\n"
        "that is not renewed for the host's fenceAfter, by the guard's own clock, the guard suspends or deletes the\n"
        "host's mirrors, so that they do not run twice when the host reschedules their workloads. It acts only on a\n"
        "Lease that it has seen, and never on mirrors of another origin. docs/fencing.md says more.\n",
};
