// SPDX-License-Identifier: Apache-2.0
// The read-only API as JSON, without HTTP: a path and parameters go in, a body and a status code come out. docs/api.md
// describes the paths. Everything is read from a snapshot, or on the engine's thread in slices of a few milliseconds
// (core/host/turn/query.h), so these functions block: call on serving threads.
#pragma once

#include "core/host/host.h"
#include "core/host/turn/query.h"

// The short names of the kinds ("rj" for rayjobs), from the discovery of the management cluster.
struct short_names;
struct short_names *short_names_new(void);        // NULL when out of memory
void short_names_free(struct short_names *names); // NULL is fine

// Where everything comes from. `ctx` goes to the functions; tests have their own.
struct api_source {
    struct error *(*snapshot)(void *ctx, struct host_snapshot *out);
    void (*free_snapshot)(struct host_snapshot *snapshot);
    struct error *(*query)(void *ctx, query_run run, void *arg);                 // see host_query
    struct error *(*read)(void *ctx, const char *path, struct response *answer); // the management cluster
    const struct adapters *(*adapters)(void *ctx);                               // see host_adapters
    void *ctx;
    const struct config *config;
    struct short_names *short_names; // NULL: kinds have none
};
void api_source_init(struct api_source *source, struct host *host, const struct config *config);
void api_source_clear(struct api_source *source); // zeroed is fine
// The adapters in use now; those of an earlier call stay valid.
const struct adapters *api_adapters_of(const struct api_source *source);

struct api_parameter { // of the query string, percent-decoded
    const char *name, *value;
};

struct api_request {
    const char *path; // percent-decoded: "/api/v1/workloads"
    const struct api_parameter *parameters;
    size_t n_parameters;
};

// Answers GET of a path below /api/v1 that is JSON: fills the body (also for an error: a metav1.Status) and the code.
// False: no such path here; nothing filled.
bool api_get(const struct api_source *source, const struct api_request *request, struct buffer *body, unsigned *code);

// A metav1.Status with status Failure and Kubernetes' usual reason for the code ("NotFound").
void api_failure(struct buffer *body, unsigned code, const char *message);

// The HTTP status code of an error.
unsigned api_code(const struct error *error);

// The kind that a person names: kind, plural or singular, with or without ".group", in any case; or a short name that
// the management cluster knows. Lives as long as the source's adapters. On failure *out is NULL: ERROR_NOT_FOUND.
struct error *api_find_kind(const struct api_source *source, const char *name, const struct kind **out);

// Where the mirror of a workload is, for reading its pods.
struct api_mirror {
    char cluster[64]; // the worker's name
    size_t number;    // and the number
    char space[64];   // the namespace of the mirror,
    char uid[64];     // and the uid
    char version[64]; // the API version of the kind in the worker, "v1"
    uint32_t attempt; // of the mirror
    bool as_tenant;   // the host acts as the tenant there, see core/engine/tenancy/
    bool finished;    // the workload has
    bool awaited;     // there is none, but there will be: the workload is not finished
};
// ERROR_NOT_FOUND, with a sentence that says why, where there is no mirror.
struct error *api_find_mirror(const struct api_source *source, const struct kind *kind, const char *namespace_,
                              const char *name, struct api_mirror *out);

// What is kept of the failed attempts of a workload (core/host/words/), the newest first: an array, owned by the
// caller. `uid` "": of the workload of this name. ERROR_NOT_FOUND: no such workload is delegated to this host.
struct error *api_last_words(const struct api_source *source, const struct kind *kind, const char *namespace_,
                             const char *name, const char *uid, struct json **out);

// The stream /api/v1/watch, one for each reader. Zero-initialised: everything is new. `sequence` may be set to a
// Last-Event-ID.
struct api_watch {
    uint64_t sequence;
    uint64_t workers, status; // hashes of the data that was sent last
};
// Appends a server-sent event (complete, with id, event and data) for each change since the last call, if there is any.
struct error *api_watch_batch(const struct api_source *source, struct api_watch *watch, struct buffer *out);
