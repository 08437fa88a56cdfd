// SPDX-License-Identifier: Apache-2.0
// Kubernetes clusters in memory: each has an API server (storage with resource versions, list and watch, validation,
// the status rules of batch/v1 Jobs, discovery) and the controllers that the tests need (Job, CronJob, garbage
// collection, TTL, namespaces). A cluster is passive: it answers requests, and advances when it is stepped with a later
// time. It is deterministic for a seed and sequence of calls.
//
// A cluster is used by one thread, or under the lock of its front. Every time is in nanoseconds since 1970 (virtual or
// real) and never goes back. Running out of memory ends the process: this is a test fixture.
#pragma once

#include "core/base/buffer.h"
#include "core/json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORLD_NEVER INT64_MAX

// Response to a watch from a resourceVersion that is no longer in the history.
enum world_expired {
    WORLD_EXPIRED_EVENT, // 200 and an ERROR event with the 410 Status, as an API server does
    WORLD_EXPIRED_HTTP,  // HTTP 410
    WORLD_EXPIRED_BOTH   // alternating
};

struct world_options {
    const char *name;            // copied; NULL: "world"
    uint64_t seed;               // uids, default durations of pods
    size_t history;              // watch events kept of each resource; 0: 4096
    bool no_watch_list;          // sendInitialEvents is refused with 422, as a server without the feature does
    int64_t bookmark_ns;         // between bookmarks; 0: 60 s
    enum world_expired expired;  // see above
    bool managed_fields;         // every write adds a managedFields entry
    bool pods;                   // the Job controller also creates Pod objects
    bool no_controllers;         // no Job and CronJob controllers; garbage collection still runs
    int64_t controller_delay_ns; // from a write to the controller's reaction; 0: 10 ms
    int64_t pod_start_ns;        // from creation of a pod until it is ready; 0: 200 ms
    int64_t pod_run_ns;          // how long a pod runs, unless an annotation sets it; 0: 1 to 3 s, from the seed
    int64_t pod_stop_ns;         // from stopping a pod until it has ended; 0: 100 ms
    int64_t pod_backoff_ns;      // before a failed pod is replaced, doubling up to 8 times that; 0: 500 ms
};

struct world_cluster;

// Has the namespaces default, kube-system, kube-public and kube-node-lease, and serves jobs and cronjobs (batch/v1),
// namespaces, pods (v1), events (events.k8s.io/v1), leases (coordination.k8s.io/v1), and what pods refer to:
// configmaps, secrets, serviceaccounts, persistentvolumeclaims (v1), priorityclasses (scheduling.k8s.io/v1) and
// runtimeclasses (node.k8s.io/v1). Pods of a Job start when what they need is there, see pod_needs.h.
struct world_cluster *world_new(const struct world_options *options, int64_t now_ns);
void world_free(struct world_cluster *cluster);
const char *world_name(const struct world_cluster *cluster);

// Requests ------------------------------------------------------------------------------------------------------

struct world_request {
    const char *method;       // "GET", "POST", "PUT", "PATCH", "DELETE"
    const char *path;         // with the query: "/apis/batch/v1/jobs?limit=500"
    const char *content_type; // NULL: none
    const char *accept;       // of forms other than JSON objects: Tables and PartialObjectMetadata; NULL: none
    const char *user;         // Impersonate-User; NULL: none, so the caller itself
    const char *group;        // Impersonate-Group; NULL: none
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

// Processes one request that is not a watch (a GET with watch=true returns 400 here). Fills the whole `response`.
void world_request(struct world_cluster *cluster, const struct world_request *request, int64_t now_ns,
                   struct world_response *response);

// True for a GET whose query has watch=true or watch=1: such a request goes to world_watch.
bool world_is_watch(const struct world_request *request);

// Watches ---------------------------------------------------------------------------------------------------------

struct world_watch;

// Opens a stream, or returns NULL and fills `refused`. `notify` is called (from within world_request, world_step and
// other calls that change the cluster) when there is something to read after world_watch_read had found nothing; it may
// be called spuriously, and must not call back into the cluster.
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

// Runs controllers, bookmarks and deadlines that are due by `now_ns`. Returns the time of the next call needed, or
// WORLD_NEVER. A request may bring that forward, see world_due.
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

// Adds a custom kind, as when its CRD is established; false if it exists. Its objects are checked for metadata only.
bool world_register(struct world_cluster *cluster, const struct world_kind *kind);
// Removes it, with all its objects: watches get DELETED for each and end. False if it does not exist.
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
    const char *user;       // impersonated; NULL: none
    bool internal;          // by the cluster's own controllers
    bool noop;              // accepted and nothing changed
    int status;             // HTTP status of the answer (200 and 201: accepted)
    const struct json *old; // accepted: before, NULL for a create
    const struct json *now; // accepted: after, NULL when the object is gone
    const char *message;    // refused: what the Status said
    int64_t now_ns;
};
// Called for every write, after it took effect. While a hook is set, writes are somewhat slower (they keep the old
// object to show it). The hook may only read from the cluster. NULL removes it.
void world_set_hook(struct world_cluster *cluster, void (*hook)(void *ctx, const struct world_write *write), void *ctx);

// From now on Jobs have spec.scheduling, as in Kubernetes 1.37 with the feature gate WorkloadWithJob. At first the API
// server does not know the field, as that of 1.36.
void world_set_scheduling(struct world_cluster *cluster, bool has);

// Stands for admission webhooks and policy engines: called before a create or update, also of the status, from outside
// is validated; may change `object` (with metadata, without apiVersion and kind). Returns 0 to let it pass, else an
// HTTP status (403, 500, 422) with a message: "exceeded quota: ..." for example.
typedef int (*world_admission)(void *ctx, enum world_verb verb, const char *plural, struct json *object,
                               char message[256]);
void world_set_admission(struct world_cluster *cluster, world_admission admit, void *ctx);

// Revokes a permission: `verb` as in RBAC ("create", "patch", "*"), `resource` as "jobs.batch", "jobs.batch/status",
// "*". Requests get 403, SelfSubjectAccessReviews are denied. world_allow_all restores all permissions.
void world_deny(struct world_cluster *cluster, const char *verb, const char *resource);
// The same for requests that impersonate the user, "*": any user. With the verb "impersonate" and the resource "users":
// nobody may impersonate the user.
void world_deny_user(struct world_cluster *cluster, const char *user, const char *verb, const char *resource);
// As a Role with resourceNames grants: only requests for a single object by its name pass, also lists and watches with
// such a field selector.
void world_deny_unnamed(struct world_cluster *cluster, const char *resource);
void world_allow_all(struct world_cluster *cluster);

// Drops the watch history of all resources: continuing from an older resourceVersion gets 410.
void world_compact(struct world_cluster *cluster);
// etcd restored from a backup: objects and resource versions are those of the backup, all watches end silently. Kinds
// that are not served now are not restored.
struct world_copy;
struct world_copy *world_copy(const struct world_cluster *cluster);
void world_copy_free(struct world_copy *copy);
void world_restore(struct world_cluster *cluster, const struct world_copy *copy, int64_t now_ns);
// As `etcdutl snapshot restore --bump-revision --mark-compacted`: all earlier versions are compacted.
void world_bump(struct world_cluster *cluster, uint64_t version);
// etcd started empty: only the namespaces that every cluster has, with new uids and smaller versions.
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
// Whether held pods may end; not at first.
void world_let_end(struct world_cluster *cluster, bool may_end, int64_t now_ns);
// A user's merge patch of the object (subresource NULL) or of its status ("status"). Returns the HTTP status.
int world_patch(struct world_cluster *cluster, const char *group, const char *plural, const char *namespace_,
                const char *name, const char *subresource, const char *patch, int64_t now_ns);

// Called for every pod that a Job's controller makes: `index` of an Indexed Job, else -1. The hook may only read from
// the cluster. NULL removes it.
typedef void (*world_pod_hook)(void *ctx, const struct json *job, int64_t index);
void world_set_pod_hook(struct world_cluster *cluster, world_pod_hook hook, void *ctx);

struct world_counts {
    uint64_t writes[WORLD_VERBS];   // accepted, from outside, without no-ops
    uint64_t noops;                 // accepted, from outside, nothing changed
    uint64_t internal[WORLD_VERBS]; // accepted, by the cluster's controllers
    uint64_t events;                // creates and updates of Events among the writes
    uint64_t gets, lists, watches;
    uint64_t refused[600];     // answers from 400 up, by status; from outside
    uint64_t internal_refused; // writes of the cluster's own controllers rejected: a bug in the model
};
const struct world_counts *world_counts(const struct world_cluster *cluster);

// What the Job controller reads from a Job (or from its pod template) as annotations:
//   world.test/duration  "2s"                 how long each pod runs once it is ready
//   world.test/spread    "300ms"              and by how much longer than the one before it, of each eight
//   world.test/hold      "true"               its pods do not end before world_let_end
//   world.test/start     "0s"                 how long until a pod is ready
//   world.test/fail      "all", "3", "index:1,3"  which pods fail: all, the first 3, those of the indexes 1 and 3
//   world.test/changes   "5"                  number of writes of the Job's status, see job_script.c
// and the CronJob controller from a CronJob:
//   world.test/interval  "5s"                 a Job is made so often (spec.schedule is only checked to be there)
//
// Without world.test/changes the status of a Job that is not suspended, whose pods all run at once and succeed, is
// written four times: started, ready, succeeded (SuccessCriteriaMet), Complete.
#define WORLD_DURATION "world.test/duration"
#define WORLD_SPREAD "world.test/spread"
#define WORLD_HOLD "world.test/hold"
#define WORLD_START "world.test/start"
#define WORLD_FAIL "world.test/fail"
#define WORLD_CHANGES "world.test/changes"
#define WORLD_INTERVAL "world.test/interval"
