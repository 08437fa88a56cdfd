// SPDX-License-Identifier: Apache-2.0
// The HTTP server, over libmicrohttpd, with a thread for each connection. Probes and /metrics are answered at once,
// from a snapshot; all other requests may wait for the engine, an API server or a worker.
#pragma once

#include "core/serve/api/api.h"

// Where everything comes from. Called on the server's threads.
enum http_page { HTTP_LIVE, HTTP_READY, HTTP_METRICS };
struct http_source {
    // Of another program than the host (`wharf guard`): fills the body and returns the status code. Nothing else is
    // called then, but `ctx` is given. NULL: the host's pages.
    unsigned (*page)(void *ctx, enum http_page page, struct buffer *body);
    struct error *(*snapshot)(void *ctx, struct host_snapshot *out); // freed with free_snapshot
    void (*free_snapshot)(struct host_snapshot *snapshot);
    int64_t (*stalled_ns)(void *ctx); // see host_stalled_ns
    // All NULL: no paths below /api.
    const struct api_source *api;                                                                 // not owned
    struct error *(*review)(void *ctx, const struct request *request, struct response *response); // see access.h
    struct error *(*endpoint)(void *ctx, const char *cluster, struct endpoint **out);             // see host_endpoint
    void *ctx;
    int64_t patience_ns; // for a worker to list pods, and to open a log
    int64_t review_ns;   // until a right is reviewed again, also that of a stream or session; 0: see access.h
};
#define HTTP_PATIENCE_NS (20 * CLOCK_SECOND)
void http_source_init(struct http_source *source, struct host *host, const struct api_source *api); // api: of the host

struct http_server;

struct http_tls {
    const char *cert_file, *key_file; // see tls.c
};
struct error *http_tls_check(const struct http_tls *tls);

// `address` is an IP address with a port: "127.0.0.1:9440", "[::1]:9440"; port 0: any free one. `tls` NULL: plain HTTP.
// The server listens when this returns. ERROR_INVALID for another kind of address, and if the files are not a
// certificate and the key; ERROR_IO for an unusable address.
struct error *http_server_start(const char *address, const struct http_tls *tls, const struct http_source *source,
                                struct http_server **out);

// The same on a listening socket that does not block, also a Unix socket. Takes the socket, also on failure; the port
// is 0.
struct error *http_server_start_on(int fd, const struct http_tls *tls, const struct http_source *source,
                                   struct http_server **out);

uint16_t http_server_port(const struct http_server *server);

// Ends the threads, and every stream and session; the source is not called any more. NULL is fine.
void http_server_stop(struct http_server *server);
