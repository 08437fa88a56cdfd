// SPDX-License-Identifier: Apache-2.0
// Requests to one API server: paths, content types, rate limit, and what an answer means. A client belongs to the
// thread of its transport. It sends each request once (and once more after a 401 with credentials read again); whoever
// asks decides about retries, from the outcome.
#ifndef WHARF_KUBE_CLIENT_H
#define WHARF_KUBE_CLIENT_H

#include "core/base/clock.h"
#include "core/kube/probe.h"
#include "core/kube/transport.h"
#include "core/kube/types.h"

// `response` is the handler's to read during the call; it may take object or value out of it by setting them to NULL.
typedef void (*response_handler)(void *ctx, struct response *response);

struct client_options {
    const char *cluster;         // for log lines; copied
    struct transport *transport; // not owned
    double qps;                  // requests a second, <= 0: no limit; streams and lists are exempt
    double burst;
    size_t max_in_flight;  // further requests wait in line; 0: 32
    struct budget *budget; // not owned; may be NULL
    struct probe *probe;   // told of what is heard, not owned; may be NULL
};

struct client;
struct error *client_new(const struct client_options *options, struct moment now, struct client **out);
// Cancels everything; no handler is called.
void client_free(struct client *client);

// Copies the request. The handler is called exactly once, later, on the client's thread; errors only for a request that
// cannot be made (a name that is no path segment, no memory): then the handler is not called. *id may be NULL.
struct error *client_submit(struct client *client, const struct request *request, response_handler handler, void *ctx,
                            uint64_t *id);

// Its handler is not called any more. A request already sent may still take effect.
void client_cancel(struct client *client, uint64_t id);

// Sends what the rate limit lets through now. Returns the monotonic time of the next call that is needed, or
// CLOCK_NEVER.
int64_t client_tick(struct client *client, struct moment now);

// Requests submitted and not answered.
size_t client_pending(const struct client *client);

struct transport *client_transport(struct client *client);

// Reads an HTTP result as an API answer. Fills all of `response`; response_clear afterwards. An object beyond the
// default limits, or the budget's, comes as a stub.
void response_read(struct response *response, const struct http_result *result, enum verb verb);
void response_read_within(struct response *response, const struct http_result *result, enum verb verb,
                          const struct budget *budget);

// The same for all but the body of a success. True: that is JSON and the caller's to read.
bool response_begin(struct response *response, const struct http_result *result, enum verb verb);

// Reads a metav1.Status, as response_read does and for the ERROR events of a watch. `code` counts where the Status has
// no reason that is known. Sets reason, code, message and retry_after_ns.
void response_read_status(struct response *response, const struct json *status, int code, enum verb verb);

#endif
