// SPDX-License-Identifier: Apache-2.0
// Serves GET /healthz, /readyz and /metrics from a thread of its own (libmicrohttpd). Its answers come from
// a snapshot taken for each request.
#ifndef WHARF_SERVE_HTTP_H
#define WHARF_SERVE_HTTP_H

#include "core/host/host.h"

// Where snapshots come from; called on the server's thread, freed with host_snapshot_free.
struct http_source {
    struct error *(*snapshot)(void *ctx, struct host_snapshot *out);
    void (*free_snapshot)(struct host_snapshot *snapshot);
    int64_t (*stalled_ns)(void *ctx); // see host_stalled_ns
    void *ctx;
};

struct http_server;

// `address` is an IP address with a port: "127.0.0.1:9440", "[::1]:9440"; port 0: any free one. The server listens
// when this returns. ERROR_INVALID for another kind of address, ERROR_IO for one that cannot be used.
struct error *http_server_start(const char *address, const struct http_source *source, struct http_server **out);

uint16_t http_server_port(const struct http_server *server);

// Ends the thread; the source is not called any more. NULL is fine.
void http_server_stop(struct http_server *server);

#endif
