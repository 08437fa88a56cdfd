// SPDX-License-Identifier: Apache-2.0
// The engine's state, shared by all parts; the table of parts; the queue of entries, the facts of an entry and the
// actions. Each part has a header.
#pragma once

#include "core/base/text.h"
#include "core/engine/aside/aside.h"
#include "core/engine/engine.h"
#include "core/engine/fence/fence.h"
#include "core/engine/shard/shard_hash.h"
#include "core/engine/store/store.h"

#define ENGINE_BATCH 256                // entries reconciled in one step
#define ENGINE_TREES 64                 // cached trees; 512 saved no processor time and took 5 MiB
#define ENGINE_LARGE ((size_t)64 << 10) // bytes; the host checks the mirror size of larger workloads
// Until the first list of the management cluster is complete, most mirrors without a workload are not orphans: the host
// permits this factor of the number and the memory. Later the host reads mirrors kept by name one by one.
#define ENGINE_UNLISTED 8

#define KEPT_FIELDS 16 // combinations of fields, of each worker

// The state of the parts. Only the folder with the name of a member of struct engine, struct engine_cluster or struct
// workload uses that member (membership: clusters); all folders read the other members.

struct identity { // of one cluster, see identity.c
    bool read;    // since the last connection was lost
    bool known;   // read once, or certainly unreadable
    bool unknown_reported;
    bool pinned;         // `first` is from the worker's Secret
    uint64_t identified; // ordinal among the clusters identified and not refused; 0: none yet
    enum refusal {
        REFUSAL_NONE,
        REFUSAL_MANAGEMENT, // the worker is the management cluster,
        REFUSAL_NOT_SELF,   // or with `self` is not
        REFUSAL_DUPLICATE,  // another worker with a better claim has the same uid
        REFUSAL_OTHER       // a different cluster than at startup, or than the one that joined
    } refusal;
    size_t duplicate_of;
    char first[STORE_UID_MAX], uid[STORE_UID_MAX]; // the first and the last uid read; "": none
    char recorded[STORE_UID_MAX];                  // see engine_event.worker; "": none
};

struct tenants {    // of one cluster, see tenancy/
    struct map map; // struct tenant, by namespace
    bool listed;
    bool lost; // the watch
    char problem[160];
};

#define SUSPECT_NOTES 16

struct suspect { // see elsewhere/
    struct suspect_note {
        uint64_t workload, reason; // hashes; workload 0: none
        int64_t at_ns;
    } notes[SUSPECT_NOTES];
    int64_t until_ns; // end of the suspension; 0: none
    char reason[64];
    size_t kind; // of the workload with the Event about the suspension,
    char key[320];
};

struct engine_cluster {              // one number
    char *name;                      // [0] "management"; NULL: vacant
    struct worker_settings settings; // owned
    struct lane {                    // of entries to reconcile, see queue.c
        struct entry *first, *last;
        int64_t used_ns; // of the engine's time, for the turns of lanes: an empty lane saves nothing up
        struct engine_time time;
    } lane;
    struct { // see clusters/
        enum contact contact;
        uint64_t join;          // ordinal of joining
        int64_t moves_since_ns; // start of the drain by moving
        // Start of a series of failed attempts to reach the cluster; 0: none. Some watches may still work.
        int64_t refused_since_ns;
        struct identity identity;
    } membership;
    struct fence fence;
    struct tenants tenancy;
    struct orphan_count {    // see orphans.c
        size_t names, bytes; // number and text size, also before the lists are complete
        uint32_t waiting;    // not released yet
        uint32_t released;   // within the window
        int64_t window_ns;   // start of the window
        size_t excess;       // bytes of mirrors with a workload, see large_mirrors_bound
    } limits;
    struct unsealed_log { // throttles the log line about foreign objects with the host's marks
        struct throttle throttle;
        int64_t next_ns;
    } observe;
    struct { // see completions.c
        struct recent finished;
        struct durations *durations; // of compared workloads; NULL: none
        uint16_t fast;               // a bit for each of the last 16 compared workloads: far faster than elsewhere
    } placement;
    struct suspect elsewhere;
    struct kept_fields { // see dropped_must_try
        uint64_t fingerprints[KEPT_FIELDS];
        unsigned next;
    } mirror;
    struct pace *request;
    struct status_bytes { // written for statuses of the worker's mirrors, see status.h
        int64_t full_ns, closed_until_ns;
        bool reported;
    } status;
};

struct engine {
    struct engine_settings settings; // the texts are owned; the rules of placement are in placement.rules
    char *origin;
    struct kind *const *kinds;
    size_t n_kinds;
    const struct scorer *const *scorers;
    size_t n_scorers;
    const struct seal_keys *seals;
    bool placing;
    uint64_t seed;
    struct random random;
    struct store store;
    struct engine_cluster *clusters;
    size_t n_clusters;
    struct watch_state *watches;   // [cluster * n_kinds + kind], see cluster_watch
    struct worker_facts **workers; // [kind][cluster]
    struct stats stats;
    struct call_clock *clock; // of adapter calls
    // The current step.
    struct moment now;
    int64_t stepped_ns;   // time of the step before (monotonic)
    int64_t received_ns;  // of the current event
    int64_t wake_ns;      // due time of the next step, by the last one
    size_t events_before; // of update, when the step began
    struct update *update;
    // The parts.
    struct part_calls *calls;
    struct { // see queue.c
        struct heap timers;
        int64_t lane_level_ns; // lane.used_ns of the last lane that had a turn
        int64_t charged_ns;    // engine_options.processor at the last charge
        int64_t (*processor)(void);
    } queue;
    struct startup_grace {
        size_t n_kinds;    // kinds with an ended grace period
        size_t seen_kinds; // kinds when `until_ns` was set
        int64_t until_ns;  // end for the others
    } startup_grace;
    struct { // see aside/
        struct aside_adapter *adapters;
        struct aside_marks {
            struct aside_mark *list[ASIDE_MARKS];
            size_t count;
        } marks;
    } aside;
    struct accounts *accounts;
    struct capacity *capacity;            // NULL: free capacity is unlimited everywhere
    struct dependency_part *dependencies; // NULL: the feature is off
    struct changes *history;
    struct {
        uint32_t epoch;               // how often a reload enabled fencing
        int64_t begun_ns[SHARDS_MAX]; // by shard, see fence_begin
    } fence;
    struct {
        int64_t absent_until_ns; // no Kueue in the management cluster; time of the next check
    } kueue;
    struct {
        struct admission {      // see limit.c
            struct map refused; // struct refused, by uid
            size_t rest;        // refused and not recorded, since the last lists
            int64_t listed_ns;  // time of the last requested list
            bool unreported;    // refused while another host held the lease
            uint64_t shards;    // held at the last check, see shard_mask
        } admission;
        bool grew; // settings.max_orphans did, since the last step
    } limits;
    struct { // see clusters/
        uint64_t joins;
        uint64_t identified; // clusters, ever
        struct map missing;  // struct missing_worker, by name
    } membership;
    struct {
        int64_t adopt_until_ns; // see engine_options
    } observe;
    struct { // see placing.h
        struct placement_rules *rules;
        struct placement_queue { // workloads that wait for a worker with maxActive
            struct fair_queue waiting;
            size_t left, misses; // of the round
            bool freed, trying;
            struct entry *tried;
            int64_t next_ns;
        } queue;
        struct namespace_labels {
            struct map map; // struct namespace_, by name
            bool listed;
            int64_t due_ns, ticked_ns; // of the next pass over all entries, CLOCK_NEVER: none; of the last pass
        } namespaces;
        struct namespace_waiters { // see namespace_retry_wait
            struct entry **list;
            size_t count, capacity;
        } namespace_waiters;
        bool workers_are_limited;       // some have maxActive
        struct scoring {                // see scoring.c
            int64_t begun_ns, spent_ns; // the batch: its begin, and the time in calls
            int64_t waits_since_ns;     // first wait for an answer in the batch; 0: none
            uint64_t silent;            // scorers without a valid last answer, a bit each
            bool late;                  // the batch before, or this one, reached the limit
        } scoring;
    } placement;
    struct {
        int64_t pod_reports_full_ns; // of the bucket of pod reports
    } report;
    struct engine_requests {
        struct request_in_flight *requests;
        size_t n_requests, cap_requests, in_flight;
        uint32_t free_request; // index + 1, 0: none
        size_t turn_of;        // see pacing_next
        unsigned window_max;   // see engine_options
    } request;
    struct {                // see shard.h
        struct shard *list; // NULL: this host handles all entries
        uint32_t count;
    } shard;
    struct {
        struct throttle other_hosts; // writes by another host with the same origin
    } status;
    struct {                       // see tenancy/
        int64_t due_ns, passed_ns; // of the next pass over entries, CLOCK_NEVER: none; of the last pass
        bool all;                  // the pass decides on all entries anew
    } tenancy;
};

// Parts ---------------------------------------------------------------------------------------------------------

// A part of the engine: one feature. The code of a part is a folder, and the state is one struct in struct engine,
// and one in struct workload where needed; only the folder uses these structs (lint proves that). The row in the table
// of parts lists the functions that the engine calls, all optional. docs/architecture.md, "How to add a feature".
struct part {
    const char *name;

    // Begins with the engine: the part's state is zero, and the engine has its settings. Ends with the engine, while
    // the store exists if the part precedes the store's in the table.
    struct error *(*begin)(struct engine *engine, const struct engine_options *options);
    void (*end)(struct engine *engine);
    // engine->settings have changed: `former` are the old ones. Also once after all parts have begun, with former ==
    // &engine->settings.
    void (*configure)(struct engine *engine, const struct engine_settings *former);

    // Handles events of these types (PART_EVENT), in the order of the table. A part that takes event->object or
    // another member sets the member to NULL.
    uint64_t events;
    void (*event)(struct engine *engine, struct engine_event *event);
    // After the event of each step: handles due work.
    void (*tick)(struct engine *engine);
    // The next entry to decide, besides queued ones; NULL: none.
    struct entry *(*turn)(struct engine *engine);
    // At the end of a step. Then: the due time of the next call, CLOCK_NEVER: at the next event.
    void (*step_ends)(struct engine *engine);
    int64_t (*due_ns)(struct engine *engine);

    // The engine is about to read a version of the entry's workload; `had`: not the first version.
    void (*seen)(struct engine *engine, struct entry *entry, const struct json *object, bool had);

    // Before the decision about an entry; `stand_by` instead of a decision if another host holds the shard.
    void (*before)(struct engine *engine, struct entry *entry);
    void (*stand_by)(struct engine *engine, struct entry *entry);
    // The facts of the part about the entry.
    void (*facts)(const struct engine *engine, const struct entry *entry, struct decide_facts *facts);
    // After the decision about a workload.
    void (*after)(struct engine *engine, struct entry *entry, const struct action *action);

    // Answers to requests of these types (PART_REQUEST).
    uint64_t requests;
    void (*answered)(struct engine *engine, struct entry *entry, struct request_in_flight *request,
                     struct response *response);

    // The workload or the entry ends: the part drops all references.
    void (*workload_ends)(struct engine *engine, struct entry *entry);
    void (*entry_ends)(struct engine *engine, struct entry *entry);
    // Updates the statistics.
    void (*count)(struct engine *engine);
};

#define PART_EVENT(type) (UINT64_C(1) << (type))
#define PART_EVENTS UINT64_MAX
#define PART_REQUEST(type) (UINT64_C(1) << (type))

#define PARTS_MAX 40 // with the NULL at the end

// For each function of struct part: the parts that have one, in the order of the table.
struct part_calls {
    const struct part *of[sizeof(struct part) / sizeof(void *)][PARTS_MAX];
};
struct part_calls *part_calls_new(void); // free(); NULL: out of memory

// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are names
#define EACH_PART(part, member)                                                                                        \
    for (const struct part *const *at_ = engine->calls->of[offsetof(struct part, member) / sizeof(void *)], *part;     \
         (part = *at_); at_++)
// NOLINTEND(bugprone-macro-parentheses)

// The queue -----------------------------------------------------------------------------------------------------

// The entries to reconcile, and their times. Entries wait in a lane for each cluster, that of their mirror. The lane
// that has used the least processor time comes first, so that a costly object of one worker delays others for no longer
// than the object takes.

void queue_entry(struct engine *engine, struct entry *entry);
struct entry *queue_take(struct engine *engine); // NULL: none
// Sets the entry's timer unless a future, earlier time is set.
void queue_wake(struct engine *engine, struct entry *entry, int64_t at_ns);
// True before the time; then the engine reconciles the entry again at the time.
bool queue_is_early(struct engine *engine, struct entry *entry, int64_t at_ns);
// For a request that failed for lack of memory.
void queue_retry_soon(const struct engine *engine, int64_t *not_before_ns);

// The cluster of an entry's lane: the cluster of the placement or mirror, else the management cluster.
size_t queue_lane(const struct engine *engine, const struct entry *entry);
// Charges a cluster with the processor time since the last call.
void queue_charge(struct engine *engine, size_t cluster);

// The delay before a retry: `base_ns` after the first of `failures` in a row, doubling up to `max_ns`, with jitter.
int64_t backoff_ns(struct engine *engine, unsigned failures, int64_t base_ns, int64_t max_ns);

// The facts: the input of decide() for one entry --------------------------------------------------------------------

// The namespace, for rules about namespaces.
struct namespaces_subject facts_namespace(const struct engine *engine, const struct entry *entry);
struct action facts_decide(struct engine *engine, struct entry *entry);

// The mirror that the annotations name, or NULL; for the status, NULL also after the host gave the worker up.
struct mirror *facts_placed_mirror(const struct entry *entry);
struct mirror *facts_followed_mirror(const struct engine *engine, const struct entry *entry);

// Whether the worker of the placement is unreachable or not in the configuration.
bool facts_worker_is_lost(const struct engine *engine, const struct entry *entry);
// The worker of the placement; ENGINE_MANAGEMENT: none, or none in the configuration.
uint32_t facts_placed_cluster(const struct entry *entry);
// Its name, even without configuration; NULL: none, or out of memory.
const char *facts_worker_name(const struct engine *engine, const struct entry *entry);

// Actions -------------------------------------------------------------------------------------------------------

// Reconciles an entry: decides, and performs actions until there is nothing to do but wait.
void act_reconcile(struct engine *engine, struct entry *entry);

// The actions. True: decide again.
bool act_place(struct engine *engine, struct entry *entry, const struct action *action);
bool act_create(struct engine *engine, struct entry *entry, const struct action *action);
bool act_status(struct engine *engine, struct entry *entry, bool leaves); // see struct action
bool act_delete(struct engine *engine, struct entry *entry, struct mirror *mirror);
bool act_withdraw(struct engine *engine, struct entry *entry, struct mirror *mirror); // of an unstarted mirror
bool act_verify(struct engine *engine, struct entry *entry, size_t cluster);
bool act_release(struct engine *engine, struct entry *entry, struct mirror *mirror); // the host's finalizer
