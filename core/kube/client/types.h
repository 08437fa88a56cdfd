// SPDX-License-Identifier: Apache-2.0
// API requests and the meaning of their responses, as plain data, also for code that decides on requests but does not
// send them.
#pragma once

#include "core/kube/object/object.h"
#include "core/kube/transport/gate.h"
#include "core/kube/transport/tenant.h"

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
    VERB_RAW_GET,      // `name` is a complete path, e.g. "/apis/batch/v1"; the response's value is any document
    VERB_APPLY         // server-side apply, not by the engine: RBAC can limit this to a name, unlike VERB_CREATE
};

// The outcome of a request (Status.reason if known, else the code; apimachinery api/errors).
enum reason {
    REASON_OK,
    REASON_NOT_SENT,              // never reached the server
    REASON_UNKNOWN_OUTCOME,       // sent, no response, or a 5xx that leaves the effect open: 504, 500
                                  // ServerTimeout
    REASON_BAD_REQUEST,           // 400, 405, 406, 413, 415, and 500 "request is too large": permanent for this payload
    REASON_UNAUTHORIZED,          // 401, also after credentials were reloaded
    REASON_FORBIDDEN,             // 403: RBAC, admission
    REASON_QUOTA,                 // 403 with "exceeded quota"
    REASON_NAMESPACE_TERMINATING, // 403 with that cause
    REASON_NOT_TENANT,            // 403: the host may not impersonate the tenant
    REASON_NOT_FOUND,             // 404 of the object
    REASON_NAMESPACE_NOT_FOUND,   // 404 of the namespace (create)
    REASON_KIND_NOT_FOUND,        // 404 of the resource
    REASON_ALREADY_EXISTS,        // 409
    REASON_CONFLICT,              // 409: resourceVersion or precondition
    REASON_EXPIRED,               // 410
    REASON_INVALID,               // 422
    REASON_TOO_MANY,              // 429
    REASON_TOO_LARGE_VERSION,     // 504 Timeout with cause ResourceVersionTooLarge
    REASON_SERVER_ERROR,          // 500, 503 and other transient errors
    REASON_GARBAGE                // not an API response: a redirect, not JSON, truncated JSON
};
const char *reason_text(enum reason reason); // "AlreadyExists"
// The same request fails until rights, quotas, the configuration or the request change.
bool reason_is_permanent(enum reason reason);
// The same request may succeed later, without any change.
bool reason_is_transient(enum reason reason);
// Missing rights: an optional request is not repeated soon.
bool reason_is_refusal(enum reason reason);

struct response {
    enum reason reason;
    int code;               // HTTP status, 0 without a response
    char *message;          // one human-readable sentence, never NULL; with a Status: its message
    int64_t retry_after_ns; // -1: not given
    struct object *object;  // REASON_OK with an object in the response; else NULL
    struct json *value;     // VERB_RAW_GET: the document; review, dry run: the response; else NULL
    size_t cost;            // approximate bytes of memory of object and value
    bool sensitive;         // of the request: object and value overwrite their memory; the message has no contents
    char *warning;          // of a dry run: the server's warnings, separated by "; "; else NULL
};
void response_clear(struct response *response);

// Whether a write is only admitted and validated, not stored (dryRun=All).
enum dry_run {
    DRY_RUN_NO,
    DRY_RUN,       // unknown fields are dropped with a warning, as in a real write
    DRY_RUN_STRICT // unknown fields are rejected (fieldValidation=Strict)
};

// Accept of requests of which metadata is enough: a server may send whole objects all the same.
#define ACCEPT_METADATA "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
#define ACCEPT_METADATA_LIST "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

#define REQUEST_BODY_MAX ((size_t)3 * 1024 * 1024) // limit of the API server (the generic server's MaxRequestBodyBytes)

struct request {
    enum verb verb;
    struct resource resource; // client_submit copies the strings
    const char *namespace_;   // "" for cluster-scoped
    const char *name;
    const char *subresource; // of VERB_CREATE: "token" of the ServiceAccount `name`; NULL: none
    const char *body;        // JSON; NULL: none
    size_t body_len;
    enum dry_run dry_run; // only VERB_CREATE and the patches
    bool metadata;        // only VERB_RAW_GET of a list: metadata is enough (PartialObjectMetadata)
    bool sensitive;       // body and answer may have secrets, see sensitive.h; the server's warnings are dropped
    const char *tenant;   // impersonate user wharf:TENANT of group wharf:tenants; NULL: the host itself
    struct gate *gate;    // the request and its answer need an open gate; NULL: always open
};

// The path of a collection or an object, percent-encoded, for direct users of the transport (reflector).
struct error *resource_path(const struct resource *resource, const char *namespace_, const char *name,
                            const char *subresource, struct buffer *out);

// Whether an API server answers, see client.h.
enum contact {
    CONTACT_UNKNOWN, // no response yet
    CONTACT_GOOD,
    CONTACT_SUSPECT, // silent, or the last probe failed: nothing new is placed there
    CONTACT_LOST,    // silent for longer: treated as disconnected
    CONTACT_REJECTED // answers, and rejects the host's credentials: nothing new is placed there
};
#define CONTACTS (CONTACT_REJECTED + 1)
const char *contact_name(enum contact contact); // "good"

// Counters about one API server, see client.h.
#define METER_BUCKETS 7 // of the time that requests took, by meter_bounds_ns; the last one has no bound
#define METER_SERIES 24 // separate verbs and codes; all others are METER_OTHER

enum meter_verb {
    METER_GET,
    METER_CREATE,
    METER_PATCH,
    METER_PATCH_STATUS,
    METER_DELETE,
    METER_LIST, // in pages; lists that come as a stream are not counted
    METER_OTHER
};

// Outcomes of the Events of pods.
enum meter_pods {
    METER_PODS_WATCHED, // 1 while watched
    METER_PODS_RECEIVED,
    METER_PODS_REPORTED, // reports, each about one or more pods
    METER_PODS_OTHER,    // of pods that do not belong to a mirror
    METER_PODS_LIMITED,  // dropped: over the limit of a mirror and reason
    METER_PODS_CROWDED,  // dropped: too many wait for a search
    METER_PODS_UNREAD,   // dropped: the pod or its owner could not be read
    METER_PODS
};

// The kind of the host's credentials.
enum credentials_kind { CREDENTIALS_NONE, CREDENTIALS_TOKEN, CREDENTIALS_CERTIFICATE, CREDENTIALS_PLUGIN };

struct meter_series {
    enum meter_verb verb;
    int code; // 0: there was no response
    uint64_t buckets[METER_BUCKETS];
    int64_t sum_ns;
};

struct meter_reading {
    struct meter_series series[METER_SERIES];
    size_t n_series;
    uint64_t restarts;    // of watches
    uint64_t events_lost; // Events that the recorder could not write (management cluster)
    int64_t heard_ns;     // when the last byte came from the server (monotonic); 0: never
    int64_t expires_ns;   // when the client certificate expires, since 1970; 0: there is none
    int64_t token_ns;     // the same of the bearer token; 0: not in the token
    enum credentials_kind credentials;
    uint64_t pod_events[METER_PODS];
};

// State of the watch of one kind in one cluster, see reflector.h.
enum reflector_state {
    REFLECTOR_STARTING,  // nothing received yet
    REFLECTOR_CONNECTED, // the list is complete and the watch is open
    REFLECTOR_LOST,      // the server is unreachable or returns errors; known objects may be stale
    REFLECTOR_ABSENT     // the server does not serve the kind
};
