// SPDX-License-Identifier: Apache-2.0
// The server, and one request with the answer. libmicrohttpd gives each connection a thread, on which a request
// may wait for the engine, an API server or a worker.
#pragma once

#include "core/serve/access/access.h"
#include "core/serve/http/http.h"
#include "core/serve/http/net.h"
#include "core/serve/ui/ui.h"

#include <stdatomic.h>
#include <sys/types.h>

#define WEB_BODY_MAX ((size_t)16 * 1024 * 1024)
#define WEB_TEXT "text/plain; charset=utf-8"
#define WEB_JSON "application/json"
#define WEB_HTML "text/html; charset=utf-8"
#define WEB_EVENTS "text/event-stream"

struct http_server {
    struct MHD_Daemon *daemon;
    struct acceptor acceptor;
    struct http_source source;
    struct tls *tls; // NULL: plain HTTP
    struct auth *auth;
    struct grants *grants;
    struct ui ui;
    struct new_tokens new_tokens;
    struct turnstile answers; // requests that use the engine or an API server
    uint16_t port;
    atomic_bool stopping, been_in_sync;
    atomic_size_t log_sources; // containers with a log that is being read
    size_t max_log_sources;
    atomic_uint pods_readers;    // threads that read pods of a worker
    pthread_mutex_t watch_lock;  // one reader of /api/v1/watch uses the engine at a time
    pthread_mutex_t lock;        // protects all below
    pthread_cond_t session_over; // of exec
    size_t sessions;
    struct connections connections;
};

enum access {
    ACCESS_OPEN,      // everybody
    ACCESS_WHARF,     // get of the path /wharf, or a caller at a loopback address
    ACCESS_WORKLOADS, // list of the requested kinds, or a caller at a loopback address
    ACCESS_EXPLAIN,   // get of the object, or a caller at a loopback address
    ACCESS_LOGS,      // get of pods/log in the namespace
    ACCESS_EXEC       // create of pods/exec in the namespace
};

#define ROUTE_SEGMENTS 3

struct web_call;
struct route {
    const char *path; // a slash at the end: `segments` more parts follow
    size_t segments;
    enum access access;
    enum connection_kind kind;
    enum http_page page;      // of `make`, where another program than the host is the source
    const char *content_type; // of `make`
    // Answers at once, from memory: fills the body and returns the status code. NULL: `serve` answers.
    unsigned (*make)(struct http_server *server, struct buffer *body);
    // May wait. Calls exactly one of the answering functions below, or returns the error for the answer.
    struct error *(*serve)(struct web_call *call);
};

// pages.c. NULL: there is none. `with_api` false: only paths without the API.
const struct route *route_find(const char *path, bool with_api);
// Splits the rest of a path into exactly `count` segments, none of them empty; changes `rest`.
bool route_split(char *rest, size_t count, const char **segments);

// An answer without an end, or a session.
struct web_reader {
    // Blocks until there are bytes, and returns up to `max`. -1: the end; -2: the client is gone. NULL: a session.
    ssize_t (*read)(void *ctx, char *out, size_t max);
    void (*free)(void *ctx); // after the last read; of a session: the client is gone
    void *ctx;
};

// A connection that leaves HTTP: owns the call from now on. `early`: bytes that the client has sent already.
typedef void (*web_upgraded)(void *ctx, int fd, const char *early, size_t early_len);

struct web_call {
    struct http_server *server;
    struct MHD_Connection *connection;
    const struct route *route;
    int fd;
    bool local;        // from a loopback address to one, for a name of this machine
    bool upgraded;     // the session frees the call
    char *path, *rest; // percent-decoded
    const char *segments[ROUTE_SEGMENTS];
    struct api_parameter *parameters; // in their order
    size_t n_parameters;
    struct auth_user user; // without a name: a caller at a loopback address who needed no token
    struct grant *grant;   // of a stream or a session; NULL: the caller needs none
    // The answer.
    unsigned code;
    struct MHD_Response *response; // NULL: none; the connection is closed
    struct web_reader reader;
    web_upgraded upgrade;
    void *handle; // of libmicrohttpd, of an upgraded connection
};

// web.c
int web_socket(struct MHD_Connection *connection);
// NULL when out of memory.
struct web_call *web_call_new(struct http_server *server, struct MHD_Connection *connection, const char *path,
                              const struct route *route);
void web_call_free(struct web_call *call);         // NULL is fine
const char *web_user(const struct web_call *call); // "": without a name
// Percent-decoded; NULL: absent; the first one if there are several.
const char *web_parameter(const struct web_call *call, const char *name);
const char *web_text(const struct web_call *call, const char *name);   // the same; NULL also if empty
bool web_flag(const struct web_call *call, const char *name);          // "true" or "1"
const char *web_header(const struct web_call *call, const char *name); // NULL: absent

// Takes the content of `body`; `content_type` is a literal.
void web_answer(struct web_call *call, unsigned code, const char *content_type, struct buffer *body);
// A metav1.Status with the usual reason of the code.
void web_fail(struct web_call *call, unsigned code, const char *format, ...) __attribute__((format(printf, 3, 4)));
// 200, with the bytes of the reader. `note` goes into the header Wharf-Note; NULL is fine, and the text is copied.
void web_stream(struct web_call *call, const char *content_type, const char *note, const struct web_reader *reader);
// 101 with a copy of the headers. Either `upgraded` is called, with the session's ctx, or the session's `free`.
void web_upgrade(struct web_call *call, const struct api_parameter *headers, size_t n_headers, web_upgraded upgraded,
                 const struct web_reader *session);
void web_upgrade_close(struct web_call *call); // ends an upgraded connection

// Queues the answer of the call.
enum MHD_Result web_queue(struct web_call *call);
// A plain answer, at once. `policy`: the Content-Security-Policy; NULL: allow nothing.
enum MHD_Result web_queue_text(struct MHD_Connection *connection, unsigned code, const char *content_type,
                               const char *policy, struct buffer *body);

// http.c. False: as many of the kind are open as there may be.
bool http_extend(struct web_call *call, enum connection_kind kind);
void http_served(struct web_call *call); // after the answer, or the review of the token

// access.c. The token that decides about the call; NULL: the call needs none, or has none.
const char *access_token(const struct web_call *call);
// Identifies the caller and checks the right to the route; sets call->user. On failure *code is the status code.
struct error *access_check(struct web_call *call, unsigned *code);

// The routes: serve_api.c, targets.c, logs.c, last_words.c, exec.c
struct error *serve_api(struct web_call *call);
struct error *serve_watch(struct web_call *call);
struct error *serve_pods(struct web_call *call);
struct error *serve_logs(struct web_call *call);
struct error *serve_kept_logs(struct web_call *call, int64_t tail); // last_words.c, for serve_logs; tail -1: all lines
struct error *serve_exec(struct web_call *call);
