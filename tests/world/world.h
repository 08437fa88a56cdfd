// SPDX-License-Identifier: Apache-2.0
// Kubernetes clusters in memory: each has an API server (storage with resource versions, list and watch, validation,
// the status rules of batch/v1 Jobs, discovery) and the controllers that the tests need (Job, CronJob, garbage
// collection, TTL, namespaces). A cluster does nothing by itself: it answers requests, and moves on when it is stepped
// with a later time. Given one seed and one sequence of calls it always does the same.
//
// A cluster belongs to one thread, or to whoever holds the lock that its front puts around it. Every time is in
// nanoseconds since 1970 (virtual or real) and never goes back. Running out of memory ends the process: this is a test
// fixture, and says so rather than to limp on.
#ifndef WHARF_WORLD_WORLD_H
#define WHARF_WORLD_WORLD_H

#include "core/base/buffer.h"
#include "core/json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORLD_NEVER INT64_MAX

// What a watch from a resourceVersion that is no longer in the history gets.
enum world_expired {
    WORLD_EXPIRED_EVENT, // 200 and an ERROR event with the 410 Status, as an API server does
    WORLD_EXPIRED_HTTP,  // HTTP 410
    WORLD_EXPIRED_BOTH   // one and the other in turn
};

struct world_options {
    const char *name;            // copied; NULL: "world"
    uint64_t seed;               // uids, default durations of pods
    size_t history;              // watch events kept of each resource; 0: 4096
    bool no_watch_list;          // sendInitialEvents is refused with 422, as a server without the feature does
    int64_t bookmark_ns;         // between bookmarks; 0: 60 s
    enum world_expired expired;  // see above
    bool managed_fields;         // every write leaves a managedFields entry
    bool pods;                   // the Job controller makes Pod objects too
    bool no_controllers;         // Jobs and CronJobs are left alone; garbage collection runs all the same
    int64_t controller_delay_ns; // from a write to the controller's reaction; 0: 10 ms
    int64_t pod_start_ns;        // a pod is ready so long after it was made; 0: 200 ms
    int64_t pod_run_ns;          // and runs so long, if no annotation says otherwise; 0: 1 to 3 s, from the seed
    int64_t pod_stop_ns;         // a pod that is told to end takes so long; 0: 100 ms
    int64_t pod_backoff_ns;      // before a failed pod is replaced, doubling up to 8 times that; 0: 500 ms
};

struct world_cluster;

// Has the namespaces default, kube-system, kube-public and kube-node-lease, and serves jobs and cronjobs (batch/v1),
// namespaces, pods (v1), events (events.k8s.io/v1) and leases (coordination.k8s.io/v1).
struct world_cluster *world_new(const struct world_options *options, int64_t now_ns);
void world_free(struct world_cluster *cluster);
const char *world_name(const struct world_cluster *cluster);

// Requests ------------------------------------------------------------------------------------------------------

struct world_request {
    const char *method;       // "GET", "POST", "PUT", "PATCH", "DELETE"
    const char *path;         // with the query: "/apis/batch/v1/jobs?limit=500"
    const char *content_type; // NULL: none
    const char *accept;       // Tables are the one other form than JSON objects; NULL: none is asked for
    const char *body;         // NULL: none
    size_t body_len;
};

struct world_response {
    int status;
    const char *content_type; // static
    char *body;               // NUL-terminated; owned by the response
    size_t body_len;
    int retry_after_s;   // Retry-After; 0: none
    const char *warning; // text of a Warning: 299 header, static; NULL: none
};
void world_response_clear(struct world_response *response);

// Answers one request that is no watch (a GET with watch=true is answered 400 here). Fills `response` whole.
void world_request(struct world_cluster *cluster, const struct world_request *request, int64_t now_ns,
                   struct world_response *response);

// True for a GET whose query has watch=true or watch=1: such a request goes to world_watch.
bool world_is_watch(const struct world_request *request);

// Watches ---------------------------------------------------------------------------------------------------------

struct world_watch;

// Opens a stream, or returns NULL and fills `refused`. `notify` is called (from within world_request, world_step and
// other calls that change the cluster) when there is something to read after world_watch_read had found nothing; it
// may be called a time too many, and must not call back into the cluster.
struct world_watch *world_watch(struct world_cluster *cluster, const char *path, int64_t now_ns,
                                void (*notify)(void *ctx), void *ctx, struct world_response *refused);

// Appends whole frames (one JSON document and a newline each) until `out` has grown by about `want` bytes or nothing
// is left; returns the number of bytes appended.
size_t world_watch_read(struct world_watch *watch, struct buffer *out, size_t want, int64_t now_ns);

// The Accept header of its request, before anything is read: see world_request.
void world_watch_accept(struct world_watch *watch, const char *accept);

// True once the server has ended the stream and everything was read.
bool world_watch_ended(const struct world_watch *watch);
void world_watch_close(struct world_watch *watch);

// Time ------------------------------------------------------------------------------------------------------------

// Lets controllers, bookmarks and deadlines do what is due by `now_ns`. Returns when it has to be called next, or
// WORLD_NEVER. A request may bring that forward: world_due says.
int64_t world_step(struct world_cluster *cluster, int64_t now_ns);
int64_t world_due(const struct world_cluster *cluster);

// For tests and drivers --------------------------------------------------------------------------------------------

struct world_kind {
    const char *group;       // "" for core
    const char *versions[4]; // served versions, storage version first; NULL after the last
    const char *plural, *kind;
    bool cluster_scoped;
    bool no_status;                // no status subresource: status is written through the object itself
    const struct json *definition; // its CustomResourceDefinition, for short names, columns and the schema that kubectl
                                   // explains; NULL: none. Lives as long as the cluster
};

// A custom kind comes, as when its CRD is established; false if it is there already. Its objects are checked for
// metadata only.
bool world_register(struct world_cluster *cluster, const struct world_kind *kind);
// It goes, with all its objects: watches get DELETED for each and end. False if it is not there.
bool world_unregister(struct world_cluster *cluster, const char *group, const char *plural);

// The object as stored, with apiVersion and kind left out; valid until the next call that can change the cluster. NULL
// if absent.
const struct json *world_object(struct world_cluster *cluster, const char *group, const char *plural,
                                const char *namespace_, const char *name);
// Objects in key order: start with *cursor = NULL; NULL at the end. The cluster must not change between the calls.
const struct json *world_next(struct world_cluster *cluster, const char *group, const char *plural,
                              const void **cursor);
size_t world_count(struct world_cluster *cluster, const char *group, const char *plural);
uint64_t world_version(const struct world_cluster *cluster); // the newest resourceVersion

enum world_verb { WORLD_CREATE, WORLD_UPDATE, WORLD_UPDATE_STATUS, WORLD_DELETE, WORLD_READ, WORLD_VERBS };

// One write that was accepted or refused. A PATCH counts as an update.
struct world_write {
    enum world_verb verb;
    const char *group, *plural, *namespace_, *name;
    bool internal;          // by the cluster's own controllers
    bool noop;              // accepted and nothing changed
    int status;             // HTTP status of the answer (200 and 201: accepted)
    const struct json *old; // accepted: before, NULL for a create
    const struct json *now; // accepted: after, NULL when the object is gone
    const char *message;    // refused: what the Status said
    int64_t now_ns;
};
// Called for every write, after it took effect. While a hook is set, writes are somewhat slower (they keep the old
// object to show it). The hook must not call back into the cluster but to read. NULL takes it away.
void world_set_hook(struct world_cluster *cluster, void (*hook)(void *ctx, const struct world_write *write), void *ctx);

// Stands for admission webhooks and policy engines: called before a create or update from outside is validated; may
// change `object` (with metadata, without apiVersion and kind). Returns 0 to let it pass, else an HTTP status (403,
// 500, 422) with a message: "exceeded quota: ..." for example.
typedef int (*world_admission)(void *ctx, enum world_verb verb, const char *plural, struct json *object,
                               char message[256]);
void world_set_admission(struct world_cluster *cluster, world_admission admit, void *ctx);

// Takes away a permission: `verb` as in RBAC ("create", "patch", "*"), `resource` as "jobs.batch", "jobs.batch/status",
// "*". Requests get 403, SelfSubjectAccessReviews say no. world_allow_all gives everything back.
void world_deny(struct world_cluster *cluster, const char *verb, const char *resource);
void world_allow_all(struct world_cluster *cluster);

// Forgets the watch history of all resources: whoever continues from an older resourceVersion gets 410.
void world_compact(struct world_cluster *cluster);
// etcd restored from a copy of it: objects and resource versions are those of then, all watches end without a word.
// Kinds that are not served now stay away.
struct world_copy;
struct world_copy *world_copy(const struct world_cluster *cluster);
void world_copy_free(struct world_copy *copy);
void world_restore(struct world_cluster *cluster, const struct world_copy *copy, int64_t now_ns);
// etcd begun anew: nothing but the namespaces that every cluster has, with new uids and smaller versions.
void world_wipe(struct world_cluster *cluster, int64_t now_ns);
// Ends all watches, as a server that restarts or a proxy with a limit does.
void world_end_watches(struct world_cluster *cluster);

// A user's write without HTTP: creates (no uid yet), or replaces spec, labels and annotations. `object` as in a POST.
// Returns the HTTP status.
int world_apply(struct world_cluster *cluster, const char *group, const char *plural, const struct json *object,
                int64_t now_ns);
// A user's delete. Returns the HTTP status.
int world_delete(struct world_cluster *cluster, const char *group, const char *plural, const char *namespace_,
                 const char *name, const char *propagation, int64_t now_ns);
// A user's merge patch of the object (subresource NULL) or of its status ("status"). Returns the HTTP status.
int world_patch(struct world_cluster *cluster, const char *group, const char *plural, const char *namespace_,
                const char *name, const char *subresource, const char *patch, int64_t now_ns);

struct world_counts {
    uint64_t writes[WORLD_VERBS];   // accepted, from outside, without no-ops
    uint64_t noops;                 // accepted, from outside, nothing changed
    uint64_t internal[WORLD_VERBS]; // accepted, by the cluster's controllers
    uint64_t events;                // creates and updates of Events among the writes
    uint64_t gets, lists, watches;
    uint64_t refused[600];     // answers from 400 up, by status; from outside
    uint64_t internal_refused; // the cluster's own controllers were refused: a defect of the model
};
const struct world_counts *world_counts(const struct world_cluster *cluster);

// What the Job controller reads from a Job (or from its pod template) as annotations:
//   world.test/duration  "2s"                 how long each pod runs once it is ready
//   world.test/start     "0s"                 how long until a pod is ready
//   world.test/fail      "all", "3", "index:1,3"  which pods fail: all, the first 3, those of the indexes 1 and 3
//   world.test/changes   "5"                  the Job's status is written exactly so many times, see jobs.c
// and the CronJob controller from a CronJob:
//   world.test/interval  "5s"                 a Job is made so often (spec.schedule is only checked to be there)
//
// Without world.test/changes the status of a Job that is not suspended, whose pods all run at once and succeed, is
// written four times: started, ready, succeeded (SuccessCriteriaMet), Complete.
#define WORLD_DURATION "world.test/duration"
#define WORLD_START "world.test/start"
#define WORLD_FAIL "world.test/fail"
#define WORLD_CHANGES "world.test/changes"
#define WORLD_INTERVAL "world.test/interval"

#endif
