// SPDX-License-Identifier: Apache-2.0
// Work on a cluster's thread beside the watches of workloads: watches of other objects, checks, Leases. Each watcher is
// one file and one row of `watcher_table`; callers use the row alone.
#pragma once

#include "core/config/config.h"
#include "core/engine/engine.h"
#include "core/kube/client/client.h"
#include "core/kube/client/probe.h"
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
    uint64_t guard_shards;       // shards whose Leases for the worker's guard the host renews, see engine_renews
    const char *origin;          // lists and watches of workers select this label value
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

// Posts an event of this cluster.
void cluster_post(const struct cluster_scope *scope, struct engine_event *event);
// Options for a reflector of all namespaces, of a kind in the core group, version v1.
struct reflector_options cluster_watch_options(const struct cluster_scope *scope, const char *plural);

struct written_object { // of a write that was sent
    size_t kind;
    enum verb verb;
    char namespace_[64];
};

// News for the watchers of a cluster.
struct cluster_notice {
    enum {
        // Objects of the kinds, as in struct reflector_handler; the engine gets the objects afterwards.
        NOTICE_LISTING, // of `kind`, in `version`
        NOTICE_SEEN,    // `object`
        NOTICE_GONE,
        NOTICE_LISTED,
        NOTICE_STATE,           // a kind's watch was connected or lost
        NOTICE_REACHED,         // the server answers again
        NOTICE_CONFIGURED,      // the settings in the scope have changed
        NOTICE_WANT_NAMESPACES, // the engine waits for a change of some namespace
        NOTICE_FORBIDDEN,       // a write, `written`, got a 403
        NOTICE_UNWANTED,        // the watcher is about to stop,
        NOTICE_CLOSING          // or the connection to close
    } type;
    size_t kind;
    const char *version;
    const struct json *object;
    const struct written_object *written;
};

// One row. `wanted` and `notice` may be NULL. The cluster's thread calls all functions.
struct watcher {
    bool of_management, of_workers;
    bool (*wanted)(const struct cluster_io_settings *settings); // NULL: always
    // `scope` outlives the watcher. `*state` is NULL, or the `state` argument of watcher_set_add.
    struct error *(*start)(const struct cluster_scope *scope, void **state);
    // Does the work that is due. Returns the monotonic time of the next call needed. Also called after each handler of
    // the transport.
    int64_t (*step)(void *state, struct moment now);
    void (*notice)(void *state, const struct cluster_notice *notice);
    void (*stop)(void *state); // frees the state; no call follows
};

extern const struct watcher capacity_watcher, pod_events_watcher, field_check_watcher, kueue_watcher,
    worker_namespaces_watcher, namespaces_watcher, guard_lease_watcher, denied_rights_watcher;
// In calling order, NULL-terminated.
extern const struct watcher *const watcher_table[];

// The watchers that run.
struct watcher_set { // zero-initialised
    struct running_watcher {
        const struct watcher *row;
        void *state;
    } * list;
    size_t count;
};

// Starts the wanted rows of the table that do not run, and stops rows that are no longer wanted.
struct error *watcher_set_update(struct watcher_set *watchers, const struct cluster_scope *scope);
// Starts a watcher that is not in the table.
struct error *watcher_set_add(struct watcher_set *watchers, const struct watcher *row,
                              const struct cluster_scope *scope, void *state);
int64_t watcher_set_step(const struct watcher_set *watchers, struct moment now);
void watcher_set_notify(const struct watcher_set *watchers, const struct cluster_notice *notice);
void watcher_set_stop(struct watcher_set *watchers);
