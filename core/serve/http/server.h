// SPDX-License-Identifier: Apache-2.0
// Shared by http.c (the server), web.c (its requests), departures.c and the routes.
#ifndef WHARF_SERVE_SERVER_H
#define WHARF_SERVE_SERVER_H

#include "core/serve/access/auth.h"
#include "core/serve/access/grants.h"
#include "core/serve/access/newcomers.h"
#include "core/serve/access/shares.h"
#include "core/serve/api/watchers.h"
#include "core/serve/http/acceptor.h"
#include "core/serve/http/connections.h"
#include "core/serve/http/departures.h"
#include "core/serve/http/http.h"
#include "core/serve/http/route.h"
#include "core/serve/http/tasks.h"
#include "core/serve/http/tls.h"
#include "core/serve/ui/ui.h"

#include <microhttpd.h>
#include <stdatomic.h>

#define WEB_UPGRADE_HEADERS 4

struct http_server {
    struct MHD_Daemon *daemon;
    struct acceptor *acceptor;
    struct http_source source;
    struct tasks *tasks;
    struct tasks *sessions; // those of logs and exec
    struct tls *tls;        // NULL: plain HTTP
    struct auth *auth;
    struct grants *grants;
    struct departures *departures;
    struct watchers *watchers; // NULL without an API
    struct ui ui;
    struct shares shares;
    struct newcomers newcomers;
    uint16_t port;
    atomic_bool stopping;
    atomic_size_t log_sources; // containers whose logs are read
    size_t max_log_sources;
    atomic_uint pods_readers; // threads that read pods of a worker
    // The server's thread only.
    bool been_in_sync;
    struct connections connections;
};

enum web_state { WEB_NEW, WEB_WAITING, WEB_ANSWERED };

struct web_call {
    struct http_server *server;
    struct MHD_Connection *connection;
    const struct route *route;
    enum web_state state;
    int fd;
    bool local;       // from a loopback address to one, for a name of this machine
    bool reviewed;    // its token was valid when the request came
    int64_t since_ns; // it waits for that review
    char *path, *rest;
    const char *segments[ROUTE_SEGMENTS];
    struct api_parameter *parameters;
    size_t n_parameters;
    struct auth_user user;
    struct share share;  // of a stream or a session
    struct grant *grant; // of one; NULL: none is needed, or it was passed on
    // The answer.
    unsigned code;
    const char *content_type;
    char *note;
    struct buffer body;
    struct stream *stream;
    struct web_upgrade upgrade;
    char *upgrade_headers[2 * WEB_UPGRADE_HEADERS];
    size_t n_upgrade_headers;
};

// web.c. NULL when out of memory.
struct web_call *web_call_new(struct http_server *server, struct MHD_Connection *connection, const char *path,
                              const struct route *route);
void web_call_free(struct web_call *call);
// Queues its answer. On the server's thread.
enum MHD_Result web_queue(struct web_call *call);
// A plain answer, at once. `policy`: its Content-Security-Policy; NULL: nothing is allowed.
enum MHD_Result web_queue_text(struct MHD_Connection *connection, unsigned code, const char *content_type,
                               const char *policy, struct buffer *body);

// Resumes a call as if its request had just come. From any thread.
void web_begin_again(struct web_call *call);

// access.c. The token that decides about the call; NULL: it needs none, or has none.
const char *access_token(const struct web_call *call);
// Identifies the caller and checks that they may have what they ask for; sets call->user. On failure *code is
// the status code.
struct error *access_check(struct web_call *call, unsigned *code);

// pages.c
unsigned page_health(struct http_server *server, struct buffer *body);
unsigned page_ready(struct http_server *server, struct buffer *body);
unsigned page_metrics(struct http_server *server, struct buffer *body);
unsigned page_ui(struct http_server *server, struct buffer *body);

// serve_api.c
void serve_api(struct web_call *call);
void serve_watch(struct web_call *call);

// serve_pods.c, logs.c, exec.c
void serve_pods(struct web_call *call);
void serve_logs(struct web_call *call);
void serve_exec(struct web_call *call);

#endif
