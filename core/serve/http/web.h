// SPDX-License-Identifier: Apache-2.0
// One request to the server and its answer. What needs no time is answered at once; else the connection is suspended
// until one of the functions that answer is called, on whatever thread: exactly one of them, once. The call must not be
// used afterwards.
#ifndef WHARF_SERVE_WEB_H
#define WHARF_SERVE_WEB_H

#include "core/serve/api/api.h"
#include "core/serve/http/stream.h"

#define WEB_BODY_MAX ((size_t)16 * 1024 * 1024)
#define WEB_TEXT "text/plain; charset=utf-8"
#define WEB_JSON "application/json"
#define WEB_HTML "text/html; charset=utf-8"
#define WEB_EVENTS "text/event-stream"

struct web_call;
struct http_server;
struct http_source;

const struct http_source *web_source(const struct web_call *call);
struct http_server *web_server(const struct web_call *call);
const char *web_path(const struct web_call *call); // percent-decoded
const char *web_user(const struct web_call *call); // "": a caller at a loopback address who did not need a token
// A part of the path after the route's own: "job", "team-a", "train".
const char *web_segment(const struct web_call *call, size_t index);

// Percent-decoded; NULL: absent; the first one if there are several.
const char *web_parameter(const struct web_call *call, const char *name);
// All, in order; valid as long as the call.
const struct api_parameter *web_parameters(const struct web_call *call, size_t *count);
bool web_flag(const struct web_call *call, const char *name);          // "true" or "1"
const char *web_header(const struct web_call *call, const char *name); // NULL: absent

// The content of `body` is taken; `content_type` is a literal.
void web_answer(struct web_call *call, unsigned code, const char *content_type, struct buffer *body);
// A metav1.Status with the usual reason of the code.
void web_fail(struct web_call *call, unsigned code, const char *format, ...) __attribute__((format(printf, 3, 4)));
// With the code that fits the error; takes it.
void web_fail_error(struct web_call *call, struct error *error);
// 200, with what the stream brings; takes the reader's reference. `note` goes into the header Wharf-Note; it may be
// NULL, and is copied.
void web_stream(struct web_call *call, const char *content_type, const char *note, struct stream *stream);

// The socket of a connection that was upgraded, with what the client had already sent.
struct web_socket {
    int fd;
    const char *early; // valid during the call of `taken`
    size_t early_len;
    void *handle;
};
// Exactly one of them is called, on the server's thread.
struct web_upgrade {
    void (*taken)(void *ctx, const struct web_socket *socket);
    void (*gone)(void *ctx); // the client is
    void *ctx;
};
// 101 with `headers`, whose texts are copied.
void web_upgrade(struct web_call *call, const struct api_parameter *headers, size_t n_headers,
                 const struct web_upgrade *upgrade);
// Ends an upgraded connection. From any thread.
void web_socket_close(const struct web_socket *socket);

#endif
