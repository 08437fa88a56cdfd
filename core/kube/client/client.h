// SPDX-License-Identifier: Apache-2.0
// Requests to one API server: paths, content types, interpretation of responses. A client belongs to the thread of its
// transport. The client sends each request once (and once more after a 401, with reloaded credentials); the caller
// decides about retries from the outcome.
#pragma once

#include "core/base/clock.h"
#include "core/kube/client/meter.h"
#include "core/kube/client/probe.h"
#include "core/kube/client/types.h"
#include "core/kube/transport/transport.h"

// `response` is valid during the call; the handler may take ownership of object or value by setting the field to NULL.
typedef void (*response_handler)(void *ctx, struct response *response);

struct client_options {
    const char *cluster;         // for log lines; copied
    struct transport *transport; // not owned
    size_t max_in_flight;        // further requests are queued; 0: 64
    struct budget *budget;       // not owned; may be NULL
    struct probe *probe;         // notified of server activity; not owned; may be NULL
    struct meter *meter;         // counts requests; not owned; may be NULL
};

struct client;
struct error *client_new(const struct client_options *options, struct client **out);
// Cancels everything; no handler is called.
void client_free(struct client *client);

// Copies the request. The client's thread calls the handler exactly once, later; returns an error only for an invalid
// request (a name that is not a path segment) or out of memory, without calling the handler. *id may be NULL.
struct error *client_submit(struct client *client, const struct request *request, response_handler handler, void *ctx,
                            uint64_t *id);

// The handler will not be called. A request already sent may still take effect.
void client_cancel(struct client *client, uint64_t id);

// Sends submitted requests. Returns the monotonic time of the next call needed, or CLOCK_NEVER.
int64_t client_tick(struct client *client, struct moment now);

// Requests submitted and not yet completed.
size_t client_pending(const struct client *client);

struct transport *client_transport(struct client *client);

// Interprets an HTTP result as an API response. Fills all of `response`; response_clear afterwards. An object over the
// default limits, or the budget's, becomes a stub.
void response_read(struct response *response, const struct http_result *result, enum verb verb);
void response_read_within(struct response *response, const struct http_result *result, enum verb verb,
                          const struct budget *budget);

// The same, except for the body of a success. True: the body is JSON and is left to the caller.
bool response_begin(struct response *response, const struct http_result *result, enum verb verb);

// Reads a metav1.Status, as response_read does and for the ERROR events of a watch. `code` applies if the Status has no
// known reason. Sets reason, code, message and retry_after_ns.
void response_read_status(struct response *response, const struct json *status, int code, enum verb verb);

// One line at level debug for each request to an API server: cluster, verb, path, status code, time. Bodies are never
// logged. State of one request; initialised to zeros, and unused unless debug is logged.
struct request_log {
    const char *verb; // static
    char *path;       // owned
    int64_t begun_ns; // CLOCK_BOOTTIME
};

const char *request_log_verb(enum verb verb); // "create", "patch", ...

// The request is sent now. Drops a previous one that did not end (cancelled).
void request_log_begin(struct request_log *log, const char *verb, const char *path);
// A stream was opened and continues.
void request_log_opened(const struct request_log *log, const char *cluster);
// The request has ended.
void request_log_end(struct request_log *log, const char *cluster, const struct http_result *result);
void request_log_free(struct request_log *log);
