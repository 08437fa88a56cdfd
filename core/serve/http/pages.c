// SPDX-License-Identifier: Apache-2.0
// The answers to probes, Prometheus and browsers: made without waiting.
#include "core/serve/http/server.h"
#include "core/serve/metrics/health.h"
#include "core/serve/metrics/metrics.h"

static unsigned failed(struct error *error, struct buffer *body) {
    buffer_reset(body);
    buffer_printf(body, "%s\n", error_text(error));
    error_free(error);
    return MHD_HTTP_INTERNAL_SERVER_ERROR;
}

unsigned page_health(struct http_server *server, struct buffer *body) {
    if (server->source.page)
        return server->source.page(server->source.ctx, HTTP_LIVE, body);
    bool alive = health_alive(server->source.stalled_ns(server->source.ctx), body);
    return alive ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
}

unsigned page_ready(struct http_server *server, struct buffer *body) {
    if (server->source.page)
        return server->source.page(server->source.ctx, HTTP_READY, body);
    struct host_snapshot snapshot;
    struct error *error = server->source.snapshot(server->source.ctx, &snapshot);
    if (error)
        return failed(error, body);
    bool been_in_sync = atomic_load(&server->been_in_sync);
    bool ready = health_ready(&snapshot, &been_in_sync, body);
    atomic_store(&server->been_in_sync, been_in_sync);
    server->source.free_snapshot(&snapshot);
    return ready ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
}

unsigned page_metrics(struct http_server *server, struct buffer *body) {
    if (server->source.page)
        return server->source.page(server->source.ctx, HTTP_METRICS, body);
    struct host_snapshot snapshot;
    struct error *error = server->source.snapshot(server->source.ctx, &snapshot);
    if (error)
        return failed(error, body);
    struct metrics_process process;
    metrics_process_read(&process);
    error = metrics_print(&snapshot, &process, body);
    server->source.free_snapshot(&snapshot);
    return error ? failed(error, body) : MHD_HTTP_OK;
}

// The page has no data of its own; the requests of the page are subject to the API's rules.
unsigned page_ui(struct http_server *server, struct buffer *body) {
    buffer_append(body, server->ui.html, server->ui.len);
    return MHD_HTTP_OK;
}
