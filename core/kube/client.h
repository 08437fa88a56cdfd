// SPDX-License-Identifier: Apache-2.0
// Requests to one API server: paths, content types, rate limit, and what an answer means. A client belongs to the
// thread of its transport. It sends each request once (and once more after a 401 with credentials read again); whoever
// asks decides about retries, from the outcome.
#ifndef WHARF_KUBE_CLIENT_H
#define WHARF_KUBE_CLIENT_H

#include "core/base/clock.h"
#include "core/kube/object.h"
#include "core/kube/probe.h"
#include "core/kube/transport.h"

struct resource {
    const char *group;   // "" for core
    const char *version; // "v1"
    const char *plural;  // "jobs"
    bool cluster_scoped;
};

enum verb {
    VERB_GET,
    VERB_CREATE,
    VERB_MERGE_PATCH,  // application/merge-patch+json on the object
    VERB_STATUS_PATCH, // the same on /status
    VERB_DELETE,       // body: DeleteOptions
    VERB_RAW_GET       // `name` is a whole path, e.g. "/apis/batch/v1"; the answer's value is any document
};

// What an answer means for the one who asked (Status.reason if known, else the code; apimachinery api/errors).
enum reason {
    REASON_OK,
    REASON_NOT_SENT,        // never reached the server
    REASON_UNKNOWN_OUTCOME, // sent, no answer, or a 5xx that leaves open whether it took effect: 504, 500 ServerTimeout
    REASON_BAD_REQUEST,     // 400, 405, 406, 413, 415, and 500 "request is too large": permanent for this payload
    REASON_UNAUTHORIZED,    // 401, also after credentials were read again
    REASON_FORBIDDEN,       // 403: RBAC, admission
    REASON_QUOTA,           // 403 with "exceeded quota"
    REASON_NAMESPACE_TERMINATING, // 403 with that cause
    REASON_NOT_FOUND,             // 404 of the object
    REASON_NAMESPACE_NOT_FOUND,   // 404 of the namespace (create)
    REASON_KIND_NOT_FOUND,        // 404 of the resource
    REASON_ALREADY_EXISTS,        // 409
    REASON_CONFLICT,              // 409: resourceVersion or precondition
    REASON_EXPIRED,               // 410
    REASON_INVALID,               // 422
    REASON_TOO_MANY,              // 429
    REASON_TOO_LARGE_VERSION,     // 504 Timeout with cause ResourceVersionTooLarge
    REASON_SERVER_ERROR,          // 500, 503 and whatever else says "not now"
    REASON_GARBAGE                // an answer that is not what the API answers: a redirect, no JSON, JSON cut short
};
const char *reason_text(enum reason reason); // "AlreadyExists"

struct response {
    enum reason reason;
    int code;               // HTTP status, 0 without an answer
    char *message;          // one sentence for people, never NULL; with a Status: its message
    int64_t retry_after_ns; // -1: the server did not say
    struct object *object;  // REASON_OK with an object in the answer; else NULL
    struct json *value; // VERB_RAW_GET: the document; what stores nothing (a review, a dry run): the answer; else NULL
    size_t cost;        // of object and value: bytes of memory, about
    char *warning;      // of a dry run: what the server warns of, several with "; " between; else NULL
};
void response_clear(struct response *response);

// Whether a write is only tried: admitted, validated and answered, and not stored (dryRun=All).
enum dry_run {
    DRY_RUN_NO,
    DRY_RUN,       // fields that the server does not know are told in a warning and left out, as in a real write
    DRY_RUN_STRICT // they are refused (fieldValidation=Strict)
};

struct request {
    enum verb verb;
    struct resource resource; // strings are copied by client_submit
    const char *namespace_;   // "" for cluster-scoped
    const char *name;
    const char *body; // JSON; NULL: none
    size_t body_len;
    bool exempt;          // from the rate limit
    enum dry_run dry_run; // of VERB_CREATE and the patches
};

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

// The path of a collection or an object, percent-encoded, for whoever speaks to the transport directly (reflector).
struct error *resource_path(const struct resource *resource, const char *namespace_, const char *name,
                            const char *subresource, struct buffer *out);

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
