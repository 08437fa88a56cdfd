// SPDX-License-Identifier: Apache-2.0
// The routes, and the answers to probes, Prometheus and browsers, which are made without waiting.
#include "core/base/text.h"
#include "core/serve/http/server.h"
#include "core/serve/metrics/metrics.h"

static unsigned put_failure(struct error *error, struct buffer *body) {
    buffer_reset(body);
    buffer_printf(body, "%s\n", error_text(error));
    error_free(error);
    return MHD_HTTP_INTERNAL_SERVER_ERROR;
}

static unsigned page_health(struct http_server *server, struct buffer *body) {
    bool alive = health_alive(server->source.stalled_ns(server->source.ctx), body);
    return alive ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
}

static unsigned page_ready(struct http_server *server, struct buffer *body) {
    struct host_snapshot snapshot;
    struct error *error = server->source.snapshot(server->source.ctx, &snapshot);
    if (error)
        return put_failure(error, body);
    bool been_in_sync = atomic_load(&server->been_in_sync);
    bool ready = health_ready(&snapshot, &been_in_sync, body);
    atomic_store(&server->been_in_sync, been_in_sync);
    server->source.free_snapshot(&snapshot);
    return ready ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
}

static unsigned page_metrics(struct http_server *server, struct buffer *body) {
    struct host_snapshot snapshot;
    struct metrics_process process;
    struct error *error = server->source.snapshot(server->source.ctx, &snapshot);
    if (error)
        return put_failure(error, body);
    metrics_process_read(&process);
    error = metrics_print(&snapshot, &process, body);
    server->source.free_snapshot(&snapshot);
    return error ? put_failure(error, body) : MHD_HTTP_OK;
}

// The page has no data of its own; the requests of the page are subject to the API's rules.
static unsigned page_ui(struct http_server *server, struct buffer *body) {
    buffer_append(body, server->ui.html, server->ui.len);
    return MHD_HTTP_OK;
}

#define PROBES 4 // the first routes, which exist without the API too

static const struct route routes[] = {
    {.path = "/healthz", .page = HTTP_LIVE, .content_type = WEB_TEXT, .make = page_health},
    {.path = "/livez", .page = HTTP_LIVE, .content_type = WEB_TEXT, .make = page_health},
    {.path = "/readyz", .page = HTTP_READY, .content_type = WEB_TEXT, .make = page_ready},
    {.path = "/metrics", .page = HTTP_METRICS, .content_type = METRICS_CONTENT_TYPE, .make = page_metrics},
    {.path = "/", .content_type = WEB_HTML, .make = page_ui},
    {.path = "/api/v1/status", .access = ACCESS_WHARF, .serve = serve_api},
    {.path = "/api/v1/workers", .access = ACCESS_WHARF, .serve = serve_api},
    {.path = "/api/v1/adapters", .access = ACCESS_WHARF, .serve = serve_api},
    {.path = "/api/v1/rights", .access = ACCESS_WHARF, .serve = serve_api},
    {.path = "/api/v1/watch", .access = ACCESS_WHARF, .kind = CONNECTION_WATCH, .serve = serve_watch},
    {.path = "/api/v1/workloads", .access = ACCESS_WORKLOADS, .serve = serve_api},
    {.path = "/api/v1/accounts", .access = ACCESS_WORKLOADS, .serve = serve_api},
    {.path = "/api/v1/workloads/", .segments = 3, .access = ACCESS_EXPLAIN, .serve = serve_api},
    {.path = "/api/v1/pods/", .segments = 3, .access = ACCESS_LOGS, .serve = serve_pods},
    {.path = "/api/v1/last-words/", .segments = 3, .access = ACCESS_LOGS, .serve = serve_api},
    {.path = "/api/v1/logs/", .segments = 3, .access = ACCESS_LOGS, .kind = CONNECTION_LOGS, .serve = serve_logs},
    {.path = "/api/v1/exec/", .segments = 3, .access = ACCESS_EXEC, .kind = CONNECTION_EXEC, .serve = serve_exec},
};

const struct route *route_find(const char *path, bool with_api) {
    size_t count = with_api ? sizeof routes / sizeof routes[0] : PROBES;
    for (size_t i = 0; i < count; i++)
        if (routes[i].segments > 0 ? text_has_prefix(path, routes[i].path) : strcmp(path, routes[i].path) == 0)
            return &routes[i];
    return NULL;
}

bool route_split(char *rest, size_t count, const char **segments) {
    for (size_t i = 0; i < count; i++) {
        char *slash = strchr(rest, '/');
        segments[i] = rest;
        if (*rest == '\0' || rest == slash || !slash != (i + 1 == count))
            return false;
        if (slash) {
            *slash = '\0';
            rest = slash + 1;
        }
    }
    return true;
}
