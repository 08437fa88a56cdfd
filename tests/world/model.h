// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of a simulated cluster: the storage of objects, history and watches. Internal to the world.
#pragma once

#include "core/base/clock.h"
#include "core/base/map.h"
#include "core/base/text.h"
#include "tests/world/world.h"

#define WORLD_LEVELS 12

// One state of an object as text, shared by the store, the history and snapshots. The text begins with
// {"metadata":{"resourceVersion":"<version>" and has neither apiVersion nor kind: those are prepended on output.
struct blob {
    size_t refs;
    uint64_t version;
    size_t len;               // of the text
    size_t spec_at, spec_len; // where the value of "spec" stands in the text; 0: there is none
    const char *key;          // "namespace/name" or "name"
    size_t namespace_len;     // of the key
    const char *labels;       // name, value, name, value, ..., each NUL-terminated; "" ends it
    char text[];
};

struct kind;
struct custom;
struct fixture;

struct stored {
    struct kind *kind;
    struct blob *blob;
    struct json *value;     // a tree without apiVersion and kind
    const char *key;        // "namespace/name" or "name"
    const char *namespace_; // "" if cluster-scoped
    const char *name;
    char uid[37];
    bool owned;           // has ownerReferences
    void *run;            // what a controller keeps about it
    struct timer timer;   // of that controller
    struct timer collect; // time of its garbage collection
    struct stored *next[WORLD_LEVELS];
};

enum event_type { EVENT_ADDED, EVENT_MODIFIED, EVENT_DELETED };

struct event {
    enum event_type type;
    uint64_t version;
    struct blob *now, *before; // `now` of a DELETED carries the version of the deletion; `before` NULL if ADDED
};

enum special {
    SPECIAL_NONE,
    SPECIAL_JOB,
    SPECIAL_CRONJOB,
    SPECIAL_NAMESPACE,
    SPECIAL_POD,
    SPECIAL_EVENT,
    SPECIAL_LEASE,
    // What pods refer to; SPECIAL_CONFIGMAP is the first.
    SPECIAL_CONFIGMAP,
    SPECIAL_SECRET,
    SPECIAL_SERVICEACCOUNT,
    SPECIAL_CLAIM, // PersistentVolumeClaim
    SPECIAL_PRIORITYCLASS,
    SPECIAL_RUNTIMECLASS
};

struct kind {
    struct world_cluster *cluster;
    char *group, *plural, *kind, *versions[4];
    char *resource; // "jobs.batch", "pods"
    size_t version_count;
    bool cluster_scoped, has_status, builtin, has_generation;
    enum special special;
    const struct custom *custom;   // rules of its CRD; NULL: unknown
    const struct json *definition; // its CRD; NULL: none
    const struct fixture *player;  // its controller plays these stories; NULL: it has none
    struct map by_key;
    struct stored head; // of the skip list; only `next` is used
    struct random levels;
    struct event *ring; // the history
    size_t ring_size;
    uint64_t first, last; // sequence numbers: events first .. last-1 are in the ring
    uint64_t compacted;   // a watch cannot start from a version below this
    struct world_watch *watches;
    struct kind *next_kind;
};

struct denial {
    char *user; // impersonated; NULL: the caller itself
    char *verb, *resource;
    bool named_pass; // but not requests for a single object by its name
    struct denial *next;
};

struct world_cluster {
    struct world_options options;
    char *name;
    struct random random;
    int64_t now_ns;
    uint64_t version;
    uint64_t uids;
    struct kind *kinds;
    struct kind *namespaces, *pods, *jobs;
    struct map by_uid;
    struct map dependents; // uid of an owner -> struct dependents
    struct heap controllers, garbage, watch_times;
    struct denial *denials;
    struct buffer scratch;
    struct world_counts counts;
    bool expired_turn;
    bool held_may_end;
    bool scheduling; // see world_set_scheduling
    void (*hook)(void *ctx, const struct world_write *write);
    void *hook_ctx;
    world_pod_hook pod_hook;
    void *pod_hook_ctx;
    world_admission admit;
    void *admit_ctx;
};

// memory.c: out of memory ends the process.
void *world_alloc(size_t size);
char *world_strdup(const char *text);
void *world_resize(void *memory, size_t size);
void world_oom(void) __attribute__((noreturn));
struct json *world_json_copy(const struct json *value);
void world_json_set(struct json *object, const char *key, struct json *value);
void world_set_text(struct json *object, const char *key, const char *text);
void world_set_int(struct json *object, const char *key, int64_t number);
// The object member `key`, created if absent or not an object.
struct json *world_json_child(struct json *object, const char *key);

// world.c: those that every cluster has.
void world_add_namespaces(struct world_cluster *cluster);

// kinds.c
struct kind *world_kind_add(struct world_cluster *cluster, const struct world_kind *from, enum special special);
struct kind *world_kind_find(const struct world_cluster *cluster, const char *group, const char *plural);
bool world_kind_serves(const struct kind *kind, const char *version);
void world_kind_free(struct kind *kind);

// blob.c
struct blob *world_blob_new(struct world_cluster *cluster, const struct stored *object, const struct blob *same_spec);
struct blob *world_blob_stamp(const struct blob *from, uint64_t version); // a copy with another resourceVersion
struct blob *world_blob_ref(struct blob *blob);
void world_blob_unref(struct blob *blob);
// Appends the object as its own document.
void world_blob_print(const struct blob *blob, const struct kind *kind, const char *version, struct buffer *out);

// store.c: these change what is stored and notify watches and controllers, without validation.
struct stored *world_find(const struct kind *kind, const char *namespace_, const char *name);
struct stored *world_find_key(const struct kind *kind, const char *key);
// The first object whose key is not less than `key`, or NULL.
struct stored *world_seek(const struct kind *kind, const char *key);
struct stored *world_store_add(struct kind *kind, struct json *value); // takes `value`, with metadata complete
// Replaces the tree (takes it). `same_spec`: the member spec is unchanged.
void world_store_replace(struct stored *object, struct json *value, bool same_spec);
// The same, and returns the old tree, which the caller frees; NULL if it was `value`.
struct json *world_store_exchange(struct stored *object, struct json *value, bool same_spec);
void world_store_remove(struct stored *object);

// history.c
void world_history_add(struct kind *kind, enum event_type type, struct blob *now, struct blob *before);
void world_history_clear(struct kind *kind);
const struct event *world_history_at(const struct kind *kind, uint64_t sequence);
// The sequence number of the first event with a version above `version`.
uint64_t world_history_after(const struct kind *kind, uint64_t version);
