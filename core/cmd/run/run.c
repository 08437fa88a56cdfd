// SPDX-License-Identifier: Apache-2.0
// `wharf run`, from reading the configuration to the exit code.
#include "core/cmd/main.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/cmd/run/live.h"
#include "core/cmd/run/notify.h"
#include "core/cmd/run/reload.h"
#include "core/cmd/run/serving.h"
#include "core/cmd/run/signals.h"
#include "core/cmd/setup.h"
#include "core/host/host.h"
#include "core/kube/transport/curl_transport.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#define LAST_LINES_NS CLOCK_SECOND // for flushing the log at the end

enum { CONFIG, ADAPTERS, N_FLAGS };

static const struct flag flags[] = {[CONFIG] = FLAG_CONFIG, [ADAPTERS] = FLAG_ADAPTERS};

struct program {
    struct config *config;
    struct adapters *adapters;
    struct host *host;
    struct api_source api;
    struct serving *serving;
    struct signals *signals;
    struct live_program *live;
    struct notify *notify; // NULL: not started by systemd
};

static void print_problems(const struct problems *problems) {
    for (size_t i = 0; i < problems->count; i++) {
        AUTO_TEXT line = text_format("wharf: %s", problems->list[i]);
        text_print_line(stderr, line ? line : problems->list[i]);
    }
    if (problems->lost)
        fprintf(stderr, "wharf: and %zu more problems, omitted for lack of memory\n", problems->lost);
}

static struct error *load_config(struct program *program, const char *path, const char *adapter_directory) {
    struct problems problems = {0};
    struct error *error = setup_config(path, adapter_directory, &problems, &program->config);
    print_problems(&problems);
    if (!error && (problems.count || problems.lost || !program->config))
        error = error_new(ERROR_INVALID, "%s cannot be used", path);
    problems_free(&problems);
    return error;
}

static struct error *load_adapters(struct program *program) {
    struct problems problems = {0};
    struct error *error = setup_adapters(program->config, &problems, &program->adapters);
    for (size_t i = 0; i < problems.count; i++)
        log_fields(LOG_WARN, "adapter not loaded", {"problem", problems.list[i]});
    problems_free(&problems);
    if (!error && program->adapters->n_kinds == 0)
        error = error_new(ERROR_INVALID, "no adapter provides a kind: there is nothing to do");
    return error;
}

static int64_t stalled_ns(void *host) {
    return host_stalled_ns(host);
}

static struct error *start_serving(struct program *program) {
    struct http_source source;
    if (!config_serves(&program->config->serve))
        return NULL;
    api_source_init(&program->api, program->host, program->config);
    http_source_init(&source, program->host, &program->api);
    return serving_start(&program->config->serve, &source, &program->serving);
}

static void stop_host(void *ctx) {
    struct program *program = ctx;
    notify_send(program->notify, "STOPPING=1");
    host_stop(program->host);
}

static bool is_running(void *host, struct buffer *waits_for) {
    struct host_snapshot snapshot;
    struct error *error = host_snapshot(host, &snapshot);
    if (error) {
        error_free(error);
        return false;
    }
    bool running = snapshot.running;
    if (snapshot.waits_for)
        text_show(waits_for, snapshot.waits_for); // may be a server's text
    host_snapshot_free(&snapshot);
    return running;
}

static struct error *start_notifying(struct program *program) {
    struct notify_source source = {.running = is_running, .stalled_ns = stalled_ns, .ctx = program->host};
    return notify_start(program->notify, &source);
}

static void reload(void *live) {
    live_reload(live);
}

static void reloading(void *notify) {
    notify_reloading(notify);
}

static void reloaded(void *notify, bool used) {
    notify_reloaded(notify, used ? "running" : "running; the configuration was not reloaded, see the log");
}

static struct error *start_live(struct program *program, const char *adapter_directory, const char *text) {
    struct live_options options = {.host = program->host,
                                   .config = program->config,
                                   .adapter_directory = adapter_directory,
                                   .text = text,
                                   .reloading = reloading,
                                   .reloaded = reloaded,
                                   .ctx = program->notify};
    struct error *error = live_start(&options, &program->live);
    if (!error)
        signals_on_reload(program->signals, reload, program->live);
    return error;
}

static struct error *prepare(struct program *program, const char *config_path, const char *adapter_directory) {
#ifdef M_ARENA_MAX
    // More malloc arenas than busy threads only waste memory.
    mallopt(M_ARENA_MAX, 2);
#endif
    // First, so that an adapter that hangs in start cannot prevent the process from ending.
    struct error *error = signals_start(&program->signals);
    if (!error)
        error = notify_open(&program->notify);
    AUTO_TEXT text = reload_text(config_path);
    if (!error)
        error = load_config(program, config_path, adapter_directory);
    if (error)
        return error;
    log_setup(program->config->log_format, program->config->log_level);
    if (!log_start())
        return error_new(ERROR_IO, "cannot start the log thread");
    error = load_adapters(program);
    if (!error)
        error = curl_transport_setup();
    if (!error)
        error = host_new(program->config, program->adapters, &program->host);
    if (!error)
        error = start_serving(program);
    if (!error)
        error = start_notifying(program);
    if (!error)
        error = start_live(program, adapter_directory, text);
    return error;
}

static void tell_start(const struct program *program) {
    log_fields(LOG_INFO, "wharf starting", {"version", WHARF_VERSION}, {"config", program->config->path},
               LOG_INT("workers", program->config->n_workers), LOG_INT("kinds", program->adapters->n_kinds),
               {"serving", program->config->serve.address}, {"socket", serving_socket(program->serving)});
}

static struct error *run_host(struct program *program) {
    tell_start(program);
    signals_on_stop(program->signals, stop_host, program);
    struct error *error = host_run(program->host);
    signals_forget(program->signals);
    signals_on_reload(program->signals, NULL, NULL);
    return error;
}

static struct error *run(struct call *call) {
    struct program program = {.config = NULL};
    struct error *error = prepare(&program, call->values[CONFIG], call->values[ADAPTERS]);
    if (!error)
        error = run_host(&program);
    serving_stop(program.serving);
    api_source_clear(&program.api);
    live_stop(program.live);      // reports a reload
    notify_close(program.notify); // reads from the host
    host_free(program.host);
    adapters_free(program.adapters);
    config_free(program.config);
    call->code = main_log_end(error, "wharf failed", "wharf stopped");
    signals_end(program.signals);
    (void)log_stop(LAST_LINES_NS);
    return NULL;
}

const struct subcommand subcommand_run = {
    .name = "run",
    .run = run,
    .flags = flags,
    .n_flags = N_FLAGS,
    .summary = "run the host",
    .text =
        "Watches the management cluster for workloads that are delegated to this host, runs a mirror of each in a\n"
        "worker cluster, and copies the mirror's status back. SIGTERM or SIGINT stops it once the writes in flight\n"
        "have finished, after at most twelve seconds; a second signal stops it at once. Logs go to stderr.\n",
};
