// SPDX-License-Identifier: Apache-2.0
// What a request to an API server is and what its answer means, as plain data: for those who decide on requests and
// never send one themselves.
#ifndef WHARF_KUBE_TYPES_H
#define WHARF_KUBE_TYPES_H

#include "core/base/buffer.h"
#include "core/kube/object.h"

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

#define REQUEST_BODY_MAX                                                                                               \
    ((size_t)3 * 1024 * 1024) // what an API server takes (the generic server's MaxRequestBodyBytes)

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

// The path of a collection or an object, percent-encoded, for whoever speaks to the transport directly (reflector).
struct error *resource_path(const struct resource *resource, const char *namespace_, const char *name,
                            const char *subresource, struct buffer *out);

// Whether an API server answers, see probe.h.
enum contact {
    CONTACT_UNKNOWN, // no answer yet
    CONTACT_GOOD,
    CONTACT_SUSPECT, // silent, or the last probe ran out of time: no new work for it
    CONTACT_LOST     // silent for longer: as good as disconnected
};

// Of the watch of one kind in one cluster, see reflector.h.
enum reflector_state {
    REFLECTOR_STARTING,  // nothing known yet
    REFLECTOR_CONNECTED, // the list is complete and the watch is open
    REFLECTOR_LOST,      // the server cannot be reached or answers with errors; what was told may be out of date
    REFLECTOR_ABSENT     // the server does not serve the kind
};

#endif
