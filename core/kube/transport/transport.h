// SPDX-License-Identifier: Apache-2.0
// The interface between the Kubernetes client and the network, which tests replace: submit an HTTP request, receive its
// response or stream, cancel it. A transport connects to one API server. A transport belongs to one thread: submit and
// cancel are called there, and handlers are called there, never from within submit or cancel.
#pragma once

#include "core/kube/transport/gate.h"
#include "core/kube/transport/tenant.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum http_method { HTTP_GET, HTTP_POST, HTTP_PUT, HTTP_PATCH, HTTP_DELETE };
const char *http_method_name(enum http_method method);

struct http_request {
    enum http_method method;
    const char *path;         // path and query below the server's URL: "/apis/batch/v1/jobs?watch=true"
    const char *content_type; // of the body; NULL: none
    const char *accept;       // NULL: application/json
    const char *tenant;       // see tenant.h; NULL: none
    const char *body;         // NULL: none
    size_t body_len;
    bool sensitive;  // the transport keeps no copy of a body that has been sent or passed on; handlers run in a section
                     // of sensitive.h
    bool stream;     // the body of a 200 is passed to handler->data as it arrives; otherwise it is collected for `done`
    size_t max_body; // a collected body (also an error body of a stream) over this many bytes ends the request
    int64_t timeout_ns;      // hard limit for the whole exchange; 0: none
    int64_t stall_ns;        // end the request after this long without a byte; 0: never
    const struct gate *gate; // closed once connected: the request is not sent. NULL: always open
};

// How an exchange ended.
enum http_outcome {
    HTTP_ANSWERED, // a complete response with a status code
    HTTP_REFUSED,  // never sent: name resolution, connect or TLS failed; the server got nothing
    HTTP_BROKEN    // possibly sent, without a complete response: unknown whether a write took effect
};

struct http_result {
    enum http_outcome outcome;
    int status;       // with HTTP_ANSWERED; with HTTP_BROKEN of a stream, the code it began with, or 0
    const char *body; // collected body, NUL-terminated, never NULL; valid during the call of done
    size_t body_len;
    const char *content_type; // "" if absent
    int64_t retry_after_ns;   // from Retry-After in seconds; -1: absent
    const char *warning;      // text of Warning: 299 headers, or NULL
    const char *problem;      // not HTTP_ANSWERED: one sentence about the failure; else NULL
    bool stalled;             // ended because of stall_ns
    bool too_large;           // ended because of max_body or the budget of all responses
};

struct http_handler {
    // The status line and headers of a response with status 200 were received: the stream is open, though data may be
    // long in coming. Only for streams, once, before the first data; may be NULL. False ends the exchange, as for
    // `data`.
    bool (*opened)(void *ctx);
    // Part of a stream's body, only for responses with status 200; may be NULL if request.stream is false. False ends
    // the exchange: `done` is called with HTTP_BROKEN.
    bool (*data)(void *ctx, const char *bytes, size_t len);
    // Exactly once for each submitted request that is not cancelled. The request may be freed by then.
    void (*done)(void *ctx, const struct http_result *result);
    void *ctx;
};

struct transport;
struct transport_ops {
    // Copies the request. Returns an id that is valid until `done`; 0: out of memory, and `done` will
    // not be called.
    uint64_t (*submit)(struct transport *transport, const struct http_request *request,
                       const struct http_handler *handler);
    // No handler of the exchange is called afterwards. Unknown ids are ignored.
    void (*cancel)(struct transport *transport, uint64_t id);
    // Reloads credentials before the next request (after a 401). False: the credentials are static.
    bool (*refresh)(struct transport *transport);
    void (*free)(struct transport *transport);
};
struct transport {
    const struct transport_ops *ops; // first member of an implementation
    // Called when the server closed a connection that no exchange was using; NULL: ignored. Then as for handlers.
    void (*closed)(void *ctx);
    void *closed_ctx;
};
