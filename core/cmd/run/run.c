// SPDX-License-Identifier: Apache-2.0
// `wharf run`, from reading the configuration to the exit code.
#include "core/cmd/run/run.h"
#include "core/adapter/services/net.h"
#include "core/base/log.h"
#include "core/base/trust.h"
#include "core/cmd/setup.h"
#include "core/host/check/dependencies.h"
#include "core/kube/transport/curl_transport.h"
#include "core/serve/http/http.h"

#include <malloc.h>
#include <stdio.h>

#define LAST_LINES_NS CLOCK_SECOND // for flushing the log at the end

static const struct flag flags[] = {FLAG_CONFIG, FLAG_ADAPTERS};

struct program {
    struct config *config;
    struct adapters *adapters;
    struct host *host;
    struct api_source api;
    // One at the address, one at the Unix socket, each with separate connections and bounds, so that a flood at the
    // port takes no place from callers on the machine. NULL: none.
    struct http_server *port, *local;
    struct local_socket socket;
    struct marks marks;
    struct signals *signals;
    struct reload *reload;
    struct notify *notify; // NULL: not started by systemd
};

static struct error *load_config(struct program *program, const char *path, const char *adapter_directory) {
    struct problems problems = {0};
    struct error *error = setup_config(path, adapter_directory, &problems, &program->config);
    if ((main_print_problems("wharf: ", &problems) > 0 || !program->config) && !error)
        error = error_new(ERROR_INVALID, "%s cannot be used", path);
    problems_free(&problems);
    return error;
}

// Without some adapters, nothing is known about the resources that their kinds refer to.
static struct error *check_dependencies(const struct program *program) {
    struct problems problems = {0};
    dependencies_check(program->config, program->adapters, &problems);
    size_t count = main_print_problems("wharf: ", &problems);
    problems_free(&problems);
    return count == 0 ? NULL : error_new(ERROR_INVALID, "%s cannot be used", program->config->path);
}

static struct error *load_adapters(struct program *program) {
    struct problems problems = {0};
    struct error *error = setup_adapters(program->config, false, &problems, &program->adapters);
    for (size_t i = 0; i < problems.count; i++)
        log_fields(LOG_WARN, "adapter or kind not loaded", {"problem", problems.list[i]});
    if (!error && problems.count == 0)
        error = check_dependencies(program);
    problems_free(&problems);
    if (!error && program->adapters->n_kinds == 0)
        error = error_new(ERROR_INVALID, "no adapter provides a kind: there is nothing to do");
    return error;
}

static int64_t stalled_ns(void *host) {
    return host_stalled_ns(host);
}

static struct error *serve_socket(struct program *program, const char *path, const struct http_source *source) {
    int fd = -1;
    TRY(local_socket_listen(path, program->config->serve.group, &program->socket, &fd));
    return http_server_start_on(fd, NULL, source, &program->local);
}

// A default socket that cannot be made is logged, a configured one is an error.
static struct error *start_local(struct program *program, const struct http_source *source) {
    const struct config_serve *config = &program->config->serve;
    if (config->socket)
        return error_wrap(serve_socket(program, config->socket, source), "serve.socket");
    AUTO_TEXT path = NULL;
    AUTO_ERROR error = local_socket_default(http_server_port(program->port), &path);
    if (!error && path)
        error = serve_socket(program, path, source);
    else if (!error && config->group)
        error = error_new(ERROR_INVALID, "there is no folder for a socket: configure serve.socket");
    if (!error || error->code == ERROR_NO_MEMORY || config->group)
        return error_wrap(TAKE(error), "serve.socketGroup");
    log_fields(LOG_WARN, "no Unix socket for callers on this machine", {"path", path}, {"error", error_text(error)});
    return NULL;
}

// Both servers listen when this returns.
static struct error *start_serving(struct program *program) {
    const struct config_serve *config = &program->config->serve;
    const struct http_tls tls = {config->cert_file, config->key_file};
    const bool has_tls = config->cert_file;
    struct http_source source;
    if (!config_serves(config))
        return NULL;
    api_source_init(&program->api, program->host, program->config);
    http_source_init(&source, program->host, &program->api);
    if (config->address)
        TRY(error_wrap(http_server_start(config->address, has_tls ? &tls : NULL, &source, &program->port),
                       has_tls ? "serve.address, serve.tls" : "serve.address"));
    return start_local(program, &source);
}

// Where an adapter that ends this process leaves a mark for the next one: the state directory of the service, else the
// folder of the socket.
static struct error *open_marks(struct program *program) {
    const char *state = getenv("STATE_DIRECTORY");
    AUTO_TEXT folder = state && *state == '/' ? strndup(state, strcspn(state, ":"))
                       : program->socket.path ? text_directory(program->socket.path)
                                              : NULL;
    AUTO_ERROR error = folder ? marks_open(folder, &program->marks)
                              : error_new(ERROR_NOT_FOUND, "STATE_DIRECTORY is not set, and there is no Unix socket");
    if (error && error->code == ERROR_NO_MEMORY)
        return TAKE(error);
    if (error)
        log_fields(LOG_WARN, "no folder for marks: after a crash in an adapter its workload is called again",
                   {"error", error_text(error)});
    for (size_t i = 0; i < program->marks.count; i++) {
        const struct mark *mark = program->marks.list[i];
        log_fields(LOG_WARN, "a former process ended in an adapter", {"adapter", mark->adapter},
                   {"function", mark->function}, {"kind", mark->kind}, {"object", mark->object},
                   {"reason", mark->reason});
    }
    host_use_marks(program->host, &program->marks);
    return NULL;
}

static void stop_host(void *ctx) {
    struct program *program = ctx;
    notify_send(program->notify, "STOPPING=1");
    host_stop(program->host);
}

static bool is_running(void *host, struct buffer *waits_for) {
    struct host_snapshot snapshot;
    AUTO_ERROR error = host_snapshot(host, &snapshot);
    if (error)
        return false;
    bool running = snapshot.running;
    if (snapshot.waits_for)
        text_show(waits_for, snapshot.waits_for); // may be a server's text
    host_snapshot_free(&snapshot);
    return running;
}

static void on_reload(void *ctx) {
    const struct program *program = ctx;
    reload_now(program->reload);
}

static struct error *start_reload(struct program *program, const char *adapter_directory, const char *text) {
    struct reload_options options = {.host = program->host,
                                     .config = program->config,
                                     .adapter_directory = adapter_directory,
                                     .text = text,
                                     .notify = program->notify};
    return reload_start(&options, &program->reload);
}

static struct error *prepare(struct program *program, const char *config_path, const char *adapter_directory) {
#ifdef M_ARENA_MAX
    // More malloc arenas than busy threads only waste memory.
    mallopt(M_ARENA_MAX, 2);
#endif
    // First, so that an adapter that hangs in start cannot prevent the process from ending.
    TRY(signals_start(&program->signals));
    TRY(notify_open(&program->notify));
    AUTO_TEXT text = reload_text(config_path);
    TRY(load_config(program, config_path, adapter_directory));
    log_setup(program->config->log_format, program->config->log_level);
    if (!log_start())
        return error_new(ERROR_IO, "cannot start the log thread");
    TRY(load_adapters(program));
    TRY(curl_transport_setup());
    TRY(host_new(program->config, program->adapters, &program->host));
    TRY(start_serving(program));
    TRY(open_marks(program));
    TRY(notify_start(program->notify, &(struct notify_source){is_running, stalled_ns, program->host}));
    return start_reload(program, adapter_directory, text);
}

static struct error *run_host(struct program *program) {
    log_fields(LOG_INFO, "wharf starting", {"version", WHARF_VERSION}, {"config", program->config->path},
               LOG_INT("workers", program->config->n_workers), LOG_INT("kinds", program->adapters->n_kinds),
               {"serving", program->config->serve.address}, {"socket", program->socket.path});
    signals_handle(program->signals, stop_host, on_reload, program);
    struct error *error = host_run(program->host);
    signals_handle(program->signals, NULL, NULL, NULL);
    return error;
}

static struct error *run_service(struct call *call) {
    struct program program = {.config = NULL};
    struct error *error = prepare(&program, flags_value(call, "config"), flags_value(call, "adapters"));
    if (!error)
        error = run_host(&program);
    local_socket_remove(&program.socket); // first: callers find another host, or none
    http_server_stop(program.local);
    http_server_stop(program.port);
    api_source_clear(&program.api);
    reload_stop(program.reload);  // reports a reload
    notify_close(program.notify); // reads from the host
    host_free(program.host);
    marks_free(&program.marks);
    adapters_free(program.adapters);
    config_free(program.config);
    call->code = main_log_end(error, "wharf failed", "wharf stopped");
    signals_end(program.signals);
    (void)log_stop(LAST_LINES_NS);
    return NULL;
}

SUBCOMMAND(run, run_service, "run the host",
           "Watches the management cluster for workloads that are delegated to this host, runs a mirror of each in a\n"
           "worker cluster, and copies the mirror's status back. SIGTERM or SIGINT stops it once the writes in flight\n"
           "have finished, after at most twelve seconds; a second signal stops it at once. Logs go to stderr.\n",
           FLAGS(flags));
