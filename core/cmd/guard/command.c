// SPDX-License-Identifier: Apache-2.0
// `wharf guard`: in a worker cluster, stops the mirrors of a host that has lost it (docs/fencing.md).
#include "core/base/log.h"
#include "core/base/thread.h"
#include "core/cmd/guard/reporter.h"
#include "core/cmd/run/run.h"
#include "core/cmd/setup.h"
#include "core/host/check/rights.h"
#include "core/host/io/cluster_connection.h"
#include "core/host/lease/guard_run.h"
#include "core/kube/object/object.h"
#include "core/kube/transport/curl_transport.h"
#include "core/serve/http/http.h"
#include "core/serve/metrics/metrics.h"

#include <ctype.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#define LAST_LINES_NS CLOCK_SECOND
#define OK 200U // HTTP
#define UNAVAILABLE 503U

static const struct flag flags[] = {
    FLAG("origin", 0, "NAME", "the origin of the guarded mirrors (wharf.dev/origin)", .required = true,
         .check = text_is_dns_label, .expected = "the origin of a host"),
    FLAG("namespace", 'n', "NAMESPACE", "namespace of the Leases: the host's fencing.namespace",
         .fallback = RIGHTS_NAMESPACE, CHECK_NAMESPACE),
    FLAG("action", 0, "ACTION",
         "suspend mirrors, and delete those of kinds that cannot be suspended;\n"
         "or delete all",
         .fallback = "suspend", .words = WORDS("suspend", "delete")),
    FLAG("config", 0, "FILE",
         "a host's configuration, for its adapters and their settings (default: all\nadapters of the "
         "directory that need no settings)"),
    FLAG_ADAPTERS,
    FLAG("adapters-enabled", 0, "A,B", "these adapters only"),
    FLAG("kubeconfig", 0, "FILE", "the worker's kubeconfig (default: the service account of the pod)"),
    FLAG("context", 0, "CONTEXT", "context of --kubeconfig (default: the current one)"),
    FLAG("report-to", 0, "FILE",
         "kubeconfig of the management cluster: report there what stopped mirrors\n"
         "have achieved, with --worker, for a host with fencing.reports (default: none)"),
    FLAG("report-namespace", 0, "NAMESPACE", "the host's namespace there", .fallback = RIGHTS_NAMESPACE,
         CHECK_NAMESPACE),
    FLAG("worker", 0, "NAME", "the worker's name in the host's configuration", .check = text_is_dns_label,
         .expected = "the name of a worker"),
    FLAG("serve", 0, "ADDRESS", "IP address with a port for /livez, /readyz and /metrics (default: none)"),
    FLAG("log-format", 0, "FORMAT", "format of log lines", .fallback = "text", .words = WORDS("text", "json")),
};

struct guard_program {
    const struct call *call;
    struct setup setup;
    struct signals *signals;
    struct cluster_connection connection;
    struct budget budget;
    struct loop *loop;
    struct guard_run *run; // on the loop's thread
    char identity[64];
    struct http_server *server;
    struct reporter *reporter; // or NULL
    pthread_mutex_t mutex;
    struct guard_status status; // under the mutex
    sem_t stopped;
};

// Loads the enabled adapters, or all of the directory but `generic`, which has no kinds without settings.
static struct error *load_setup(struct guard_program *program) {
    const struct call *call = program->call;
    struct setup *setup = &program->setup;
    bool has_generic = false;
    if (flags_value(call, "config") || flags_value(call, "adapters-enabled"))
        return setup_enabled(call, setup);
    TRY(setup_all(flags_value(call, "adapters"), setup, &has_generic));
    if (setup->config->n_adapters == 0)
        return error_new(ERROR_INVALID, "%s has no adapters, expected those of the kinds to guard",
                         setup->config->adapter_directory);
    return setup_report(setup);
}

static struct error *connect_worker(struct guard_program *program) {
    struct worker_spec cluster = {.kubeconfig_path = (char *)flags_value(program->call, "kubeconfig"),
                                  .context = (char *)flags_value(program->call, "context")};
    const struct exec_policy *policy = &program->setup.config->credential_plugins;
    budget_init(&program->budget, BUDGET_DEFAULT, 0, 0, NULL);
    TRY(curl_transport_setup());
    TRY(connection_load(&program->connection, &cluster, policy, clock_now().wall_ns));
    return connection_open(&program->connection, &program->budget);
}

static struct error *start_reporter(struct guard_program *program) {
    const struct call *call = program->call;
    const struct reporter_options options = {.kubeconfig = flags_value(call, "report-to"),
                                             .namespace_ = flags_value(call, "report-namespace"),
                                             .origin = flags_value(call, "origin"),
                                             .worker = flags_value(call, "worker"),
                                             .policy = &program->setup.config->credential_plugins};
    if (!options.kubeconfig)
        return NULL;
    if (!options.worker)
        return error_new(ERROR_USAGE, "--report-to: found without --worker, expected both");
    return reporter_start(&options, &program->reporter);
}

static int64_t tick_guard(struct guard_program *program, struct moment now) {
    int64_t next_ns = guard_run_tick(program->run, now);
    AUTO_LOCK(&program->mutex);
    guard_run_status(program->run, &program->status);
    return next_ns;
}

static unsigned make_page(void *ctx, enum http_page page, struct buffer *body) {
    struct guard_program *program = ctx;
    struct metrics_process process;
    pthread_mutex_lock(&program->mutex);
    struct guard_status status = program->status;
    pthread_mutex_unlock(&program->mutex);
    int64_t now_ns = clock_now().mono_ns;
    if (page == HTTP_LIVE)
        return guard_page_alive(&status, now_ns, body) ? OK : UNAVAILABLE;
    if (page == HTTP_READY)
        return guard_page_ready(&status, now_ns, body) ? OK : UNAVAILABLE;
    metrics_process_read(&process);
    guard_page_metrics(&status, &process, body);
    return OK;
}

static struct error *start_serving(struct guard_program *program) {
    struct http_source source = {.page = make_page, .ctx = program};
    const char *address = flags_value(program->call, "serve");
    program->status.at_ns = clock_now().mono_ns;
    text_copy(program->status.origin, sizeof program->status.origin, flags_value(program->call, "origin"));
    return address ? error_wrap(http_server_start(address, NULL, &source, &program->server), "--serve") : NULL;
}

static int64_t tick(void *ctx, struct moment now) {
    struct guard_program *program = ctx;
    const struct call *call = program->call;
    if (program->run)
        return tick_guard(program, now);
    struct guard_run_options options = {
        .guard = {.origin = flags_value(call, "origin"),
                  .namespace_ = flags_value(call, "namespace"),
                  .identity = program->identity,
                  .action = flags_word(call, "action") > 0 ? GUARD_DELETES : GUARD_SUSPENDS},
        .transport = program->connection.transport,
        .budget = &program->budget,
        .kinds = program->setup.adapters->kinds,
        .n_kinds = program->setup.adapters->n_kinds,
        .watch_list = true,
        .seed = random_system(),
        .report = program->reporter ? reporter_put : NULL,
        .report_ctx = program->reporter};
    AUTO_ERROR error = guard_run_new(&options, now, &program->run);
    if (!error)
        return tick_guard(program, now);
    log_fields(LOG_ERROR, "the guard cannot begin yet", {"error", error_text(error)});
    return now.mono_ns + CLOCK_SECOND;
}

static void on_stop(void *ctx) {
    struct guard_program *program = ctx;
    sem_post(&program->stopped);
}

// Unique for a process: pods of a StatefulSet keep the same names. Part of an annotation's name.
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

static struct error *run_until_stopped(struct guard_program *program) {
    const struct call *call = program->call;
    log_setup(flags_word(call, "log-format") > 0 ? LOG_JSON : LOG_TEXT, LOG_INFO);
    TRY(signals_start(&program->signals));
    if (!log_start())
        return error_new(ERROR_IO, "cannot start the log thread");
    TRY(load_setup(program));
    TRY(start_serving(program));
    TRY(connect_worker(program));
    TRY(start_reporter(program));
    TRY(loop_start("guard", program->connection.transport, tick, program, &program->loop));
    log_fields(LOG_INFO, "wharf guard starting", {"version", WHARF_VERSION}, {"origin", flags_value(call, "origin")},
               {"namespace", flags_value(call, "namespace")}, {"action", flags_value(call, "action")},
               LOG_INT("kinds", program->setup.adapters->n_kinds), {"serving", flags_value(call, "serve")});
    signals_handle(program->signals, on_stop, NULL, program);
    while (sem_wait(&program->stopped) != 0)
        continue;
    signals_handle(program->signals, NULL, NULL, NULL);
    return NULL;
}

static void free_program(struct guard_program *program) {
    http_server_stop(program->server);
    if (program->loop)
        loop_stop(program->loop);
    guard_run_free(program->run);
    reporter_stop(program->reporter);
    connection_close(&program->connection);
    setup_free(&program->setup);
    signals_end(program->signals);
    (void)log_stop(LAST_LINES_NS);
    sem_destroy(&program->stopped);
    pthread_mutex_destroy(&program->mutex);
}

static struct error *run_guard(struct call *call) {
    struct guard_program program = {.call = call};
    name_process(program.identity);
    sem_init(&program.stopped, 0, 0);
    pthread_mutex_init(&program.mutex, NULL);
    struct error *error = run_until_stopped(&program);
    call->code = main_log_end(error, "wharf guard failed", "wharf guard stopped");
    free_program(&program);
    return NULL;
}

SUBCOMMAND(
    guard, run_guard, "stop mirrors in a worker that its host has lost",
    "Runs in a worker cluster, beside the mirrors. A host with `fencing: {enabled: true}` renews a Lease there. "
    "If\n"
    "the host does not renew the Lease for its fenceAfter, by the guard's own clock, the guard suspends or "
    "deletes\n"
    "the host's mirrors, so that they do not run twice when the host reschedules their workloads. The guard acts\n"
    "only after it has seen the Lease, and never on mirrors of another origin. docs/fencing.md has the details.\n"
    "With --report-to the guard also tells the host what these mirrors have achieved, so that it does not run again.\n",
    FLAGS(flags));
