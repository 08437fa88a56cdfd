// SPDX-License-Identifier: Apache-2.0
// Work on a cluster's thread beside the watches of workloads: watches of other objects, checks, Leases. Each watcher is
// one file and one row of `watcher_table`; callers use the row alone.
#pragma once

#include "core/config/config.h"
#include "core/engine/engine.h"
#include "core/kube/client/client.h"
#include "core/kube/watch/reflector.h"

struct cluster_connection;

struct fencing_settings {
    bool enabled;
    uint32_t epoch;      // see fence_news
    int64_t after_ns;    // fenceAfter
    char namespace_[64]; // of the Leases, in each worker
};

// Changes possibly while the cluster is connected.
struct cluster_io_settings {
    struct kind *const *kinds; // not owned; later ones begin with the former ones
    size_t n_kinds;
    enum pod_events_level pod_events; // of a worker
    bool capacity;                    // of a worker: track free capacity
    bool namespaces;                  // of the management cluster: watch the namespaces' labels
    bool dependencies;                // watch the objects that the engine wishes
    bool pod_causes;                  // of a worker: read the pods of failed mirrors, as the engine asks
    bool tenants;                     // watch namespaces for their uids, and in workers for their consent
    struct fencing_settings fencing;
};

// Shared by everything on one cluster's thread. Owns nothing; strings live as long as the watchers.
struct cluster_scope {
    size_t cluster; // ENGINE_MANAGEMENT or a worker's number
    const char *name;
    const struct cluster_connection *connection; // NULL in the simulation
    struct transport *transport;
    struct cluster_io_settings settings;
    struct meter *meter;   // may be NULL
    struct budget *budget; // memory budget of the cluster; may be NULL
    struct client *client; // for commands; owned by cluster_io, like the fields below
    struct probe *probe;
    bool has_objects;            // an object of some kind was seen
    bool rejected;               // the server rejects the host's credentials: CONTACT_REJECTED
    uint64_t guard_shards;       // shards whose Leases for the worker's guard the host renews, see engine_renews
    const char *origin;          // lists and watches of workers select this label value
    const char *namespace_map;   // of a worker, see boundary.h; NULL: namespaces have the same names there
    const char *controller_name; // reportingController of Events
    const char *instance;        // reportingInstance of Events
    struct gates *gates;         // of writes; NULL: always open
    bool watch_list;
    uint64_t seed;
    // Accepts an event: copies the struct and owns the object or the content of the response; strings are valid during
    // the call only. The receiver sets `now` and `received_ns`. Called on the cluster's thread.
    void (*post)(void *ctx, struct engine_event *event);
    void *ctx;
};

// Posts an event of this cluster, in the names of a worker's namespaces; the engine gets the workloads' (boundary.h).
void cluster_post(const struct cluster_scope *scope, struct engine_event *event);
// Options of a watch in all namespaces, of a kind in the core group, version v1.
struct reflector_options cluster_watch_options(const struct cluster_scope *scope, const char *plural);

struct written_object { // of a write that was sent
    size_t kind;
    enum verb verb;
    char namespace_[64];
    char tenant[64]; // of the request; "": none
};

// News of a watch, or of the cluster.
struct cluster_notice {
    enum {
        NOTICE_LISTING, // a list begins, of objects in `version`
        NOTICE_SEEN,    // the current state of `object`
        NOTICE_GONE,    // the last state of `object`
        NOTICE_LISTED,
        NOTICE_STATE,    // `state` or `problem` changed; STARTING: the watch closes
        NOTICE_REFUSED,  // the first refusal of the watch since the last connection; follows NOTICE_STATE
        NOTICE_RESTORED, // the cluster was restored or wiped: `problem`
        // Of the cluster.
        NOTICE_REACHED,         // the server answers again
        NOTICE_CONFIGURED,      // the settings in the scope have changed
        NOTICE_WANT_NAMESPACES, // the engine waits for a change of some namespace
        NOTICE_WISH,            // of the engine: `wish`
        NOTICE_ASK,             // of the engine: `question`
        NOTICE_REWOUND,         // resourceVersions went back, as another watch shows: `problem`
        NOTICE_FORBIDDEN,       // a write, `written`, got a 403
        NOTICE_UNWANTED,        // the watcher is about to stop,
        NOTICE_CLOSING          // or the connection to close: `problem`
    } type;
    bool own;    // of a watch of the watcher
    size_t kind; // of a watch: the kind, or the number of the watcher's own watch
    const char *version;
    struct object *object; // freed after the call, unless the watch gives its objects
    bool restored;         // LISTED: an object that is missing was perhaps not deleted; RESTORED: for the second time
    enum reflector_state state;
    const char *problem;
    const struct written_object *written;
    const struct dependency_wish *wish;
    const struct pod_question *question;
    bool denied; // REFUSED: a 403, of rights; false: of credentials
};

typedef void (*notice_handler)(void *ctx, const struct cluster_notice *notice);

// A watch of one kind: open only while wanted, and closed when the server refuses the watch (401, 403) or does not
// serve the kind (404). A reflector alone retries every half minute. This watch retries after ten minutes, and for an
// absent kind after delays that grow to one minute.
struct object_watch { // zero-initialised: never opens
    struct reflector_options options;
    struct transport *transport;
    notice_handler handle;
    void *ctx;
    size_t kind;                 // of the notices
    bool persistent;             // stays open when refused or absent, to notice a grant soon
    bool eager;                  // refused: the delays are those of an absent kind, and each refusal is a notice
    bool gives;                  // the handler owns the objects: of workloads, and of objects that they refer to
    struct reflector *reflector; // NULL: closed
    struct random random;
    int64_t open_ns;   // not before
    int64_t absent_ns; // the next delay
    bool reported;     // the refusal
    bool listing;      // a list has begun and is not complete
    bool restored;     // since the last list
    enum reflector_state state;
};

// `options` and the objects behind its pointers outlive the watch. Opens nothing before the first tick.
void object_watch_init(struct object_watch *watch, const struct reflector_options *options, struct transport *transport,
                       notice_handler handle, void *ctx);
void object_watch_clear(struct object_watch *watch); // without a notice

// Opens and closes the watch as `wanted`, and does the work that is due. Returns the time of the next call needed.
int64_t object_watch_tick(struct object_watch *watch, bool wanted, struct moment now);

// Closes the watch until `open_ns`. Not from one of its own notices other than NOTICE_REFUSED.
void object_watch_close(struct object_watch *watch, int64_t open_ns);
// Opens the watch again with another field selector. Not from a handler.
void object_watch_select(struct object_watch *watch, const char *field_selector);
// See the functions of the reflector; a closed watch stays closed.
void object_watch_hurry(struct object_watch *watch);
void object_watch_relist(struct object_watch *watch);
void object_watch_rewind(struct object_watch *watch, const char *problem);

#define WATCHER_WATCHES 2 // of one watcher, at most

struct watcher_base {
    const struct cluster_scope *scope; // outlives the watcher
    struct object_watch watches[WATCHER_WATCHES];
};

// One row. The cluster's thread calls all functions; each may be NULL.
struct watcher {
    bool of_management, of_workers;
    bool (*wanted)(const struct cluster_io_settings *settings); // NULL: always
    size_t size;                                                // of the state, which begins with a struct watcher_base
    // The watcher's own watches, up to one without a plural; members without a value are filled from the scope.
    struct reflector_options watches[WATCHER_WATCHES];
    bool persistent;       // the watches are
    bool uncounted;        // the watches have no budget and no meter
    bool of_kinds;         // gets the notices of the watches of workloads too
    notice_handler handle; // of the cluster and of the watches
    struct error *(*start)(const struct cluster_scope *scope, void *state);
    // Does the work that is due; NULL: ticks the watches. Returns the monotonic time of the next call needed. Also
    // called after each handler of the transport.
    int64_t (*step)(void *state, struct moment now);
    void (*stop)(void *state); // frees what the state owns; no call follows
};

extern const struct watcher capacity_watcher, pod_events_watcher, field_check_watcher, kueue_watcher,
    worker_namespaces_watcher, namespaces_watcher, guard_lease_watcher, denied_rights_watcher, tenants_watcher,
    dependencies_watcher, pod_causes_watcher;
#define WATCHERS 11

// The watchers that run, in the order of the table.
struct watcher_set {        // zero-initialised
    void *states[WATCHERS]; // NULL: does not run
};

// Logs the problem of a watch, NULL: none, once until it changes. *logged: of the watcher, 0 at first.
void watcher_warn(const struct cluster_scope *scope, uint64_t *logged, const char *message, const char *problem);
struct error *watcher_start(const struct watcher *row, const struct cluster_scope *scope, void **state);
void watcher_stop(const struct watcher *row, void *state);
int64_t watcher_tick_watches(struct watcher_base *base, bool wanted, struct moment now); // all, see object_watch_tick

// Starts the wanted rows of the table that do not run, and stops rows that are no longer wanted.
struct error *watcher_set_update(struct watcher_set *watchers, const struct cluster_scope *scope);
int64_t watcher_set_step(const struct watcher_set *watchers, struct moment now);
void watcher_set_notify(const struct watcher_set *watchers, const struct cluster_notice *notice);
void watcher_set_stop(struct watcher_set *watchers);
