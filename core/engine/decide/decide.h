// SPDX-License-Identifier: Apache-2.0
// The decision for one workload: a pure, level-triggered function of the known facts, so it may be called at any time,
// twice, or after a crash. docs/lifecycle.md describes the rules.
#ifndef WHARF_ENGINE_DECIDE_H
#define WHARF_ENGINE_DECIDE_H

#include "core/base/clock.h"
#include "core/engine/placement/namespaces.h"
#include "core/engine/shard/shard_hash.h"
#include "core/engine/store/recent.h"
#include "core/engine/store/throttle.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct placement_view;
struct unstarted_facts;

#define DECIDE_UNPLACED 0U                 // the management cluster never holds mirrors
#define DECIDE_UNKNOWN_CLUSTER UINT32_MAX  // the annotation names a cluster that the configuration does not have
#define DECIDE_GIVEN_UP_SEVERAL UINT32_MAX // attempts in more than one worker
#define DECIDE_STATUS_REFUSALS 2           // after as many rejections, a status delays nothing

// One worker cluster, as far as one kind is concerned.
struct worker_facts {
    const char *name;
    uint32_t name_hash;     // see decide_name_hash
    bool settled;           // state known: connected, lost or without the kind
    bool connected;         // the list is complete and the watch is open
    bool listed;            // the list was complete at least once
    bool serves;            // connected and in the version that the management cluster has
    bool frozen;            // not identified yet, or refused: nothing is done there
    bool refused;           // it, or the management cluster, is not the expected cluster (rule 9)
    bool eligible;          // may get new work: serves the kind, answers in time, and is not closed
    bool closed;            // cordoned, drained or leaving: gets nothing new
    bool moves;             // what runs there is moved to an eligible worker,
    int64_t moves_at_ns;    // what has started from then on
    int64_t lost_since_ns;  // monotonic; meaningful unless connected
    size_t active;          // unfinished workloads of all kinds that are placed here
    size_t active_kind;     // of this kind
    size_t max_active;      // as many may be placed here; 0: any number
    size_t max_kind;        // of this kind
    uint32_t weight;        // 1 or more
    uint32_t order;         // from 1 on; 0: after all others
    const char *namespaces; // its rule, see namespaces.h; or NULL
    uint64_t guarded;       // shards (masks, like what follows) whose mirrors its guard stops once it is lost,
    int64_t fenced_ns;      // by then: they are not given up before; 0: no such time
    int64_t unguarded_ns;   // those of the other shards are not given up before that; CLOCK_NEVER: never
    uint64_t resumes;       // what its guard suspended may be resumed
    uint64_t closed_shards; // get nothing new: its guard would stop it, or may
    struct recent finished; // workloads of all kinds that began within a minute
};

// What runs in the worker is not given up before that. `begun_ns`: of the shard, see fence_begin.
static inline int64_t decide_fenced_ns(const struct worker_facts *worker, uint32_t shard, int64_t begun_ns) {
    if (!shard_is_in(worker->guarded, shard))
        return worker->unguarded_ns;
    return worker->fenced_ns > begun_ns ? worker->fenced_ns : begun_ns;
}

// Of the workload, as the entry keeps it.
struct workload_facts {
    int64_t not_before_ns;    // no write to the workload before that
    int64_t unknown_since_ns; // when DECIDE_UNKNOWN_CLUSTER was first seen
    int64_t retain_until_ns;  // finished: when its mirror may be deleted
    int64_t earlier_until_ns; // an earlier mirror may run in a worker that left: no other one is created before that
    struct throttle places;   // further attempts: none before its at_ns
    struct throttle statuses; // of status_held: when it may be written
    struct throttle restores; // of misplaced: not before its at_ns
    uint32_t cluster;         // DECIDE_UNPLACED, a worker, or DECIDE_UNKNOWN_CLUSTER
    uint32_t attempt;         // 0: not placed
    uint32_t gone_attempt;    // its mirror existed and is known to be gone; 0: none
    uint32_t given_up;        // decide_name_hash of the worker that an attempt was given up in; 0: none
    uint32_t drained_attempt; // its mirror was deleted because its worker is drained; 0: none
    uint32_t clean_attempt;   // no mirror of this attempt can have been created yet; 0: none
    uint32_t final_attempt;   // of has_final_status
    uint16_t status_refusals; // consecutive rejections of its status by the management cluster
    bool exists : 1;          // in the management cluster, and delegated to this host
    bool being_deleted : 1;   // has a deletionTimestamp
    bool finished : 1;
    bool suspended : 1;
    bool too_large : 1;        // not handled
    bool status_due : 1;       // the status may have to be written
    bool status_held : 1;      // a status is delayed: it was written too often
    bool has_final_status : 1; // the final status of final_attempt's mirror is not written yet
    bool record_unsure : 1;    // a change of the annotations has an unknown outcome, and they were not seen since
    bool misplaced : 1;        // the annotations do not name `cluster` and `attempt`, where its mirror is: restore them
    bool queued : 1;           // the management cluster's Kueue has not admitted it
    bool check_rejected : 1;   // nor will it: an admission check has rejected it
    bool ended : 1;            // finished, and that is its mirror's final status, or this host's
    bool foreign_end : 1;      // finished, and another writer said so while its mirror ran
    bool end_untold : 1;       // its end is reported once it is certain, see rival.h
};

// Of the object of this name in one worker, as the mirror keeps it.
struct mirror_facts {
    struct mirror_facts *next;  // in another worker
    int64_t not_before_ns;      // no request about it before that
    int64_t held_until_ns;      // nor before that: it may be an orphan
    int64_t update_at_ns;       // no change is carried to it before that
    int64_t excluded_until_ns;  // the cluster rejected it; 0: it did not
    int64_t unstarted_since_ns; // since when it waits to be started there; 0: it has started, or is over
    int64_t unanswered_ns;      // when a create of this attempt last got no answer and may take effect later; 0: never
    int64_t absent_ns;          // when it was last read by name and not found; 0: never
    uint32_t cluster;
    uint32_t attempt;
    bool present : 1;     // exists and is this host's mirror, of this workload or an earlier one of the same name
    bool of_workload : 1; // its uid label names this workload
    bool being_deleted : 1;
    bool busy : 1;       // a request about it is in flight
    bool unsure : 1;     // must be read before its absence means anything
    bool may_exist : 1;  // a create of it has an unknown outcome, and it was not seen or read since
    bool update_due : 1; // it may differ from the workload
    bool too_large : 1;  // the last version seen was too large: an older one, or a stub, is kept
    bool name_only : 1;  // only its name and marks are kept: its status has to be read
    bool finished : 1;
    bool finalizer : 1;      // has the host's finalizer
    bool marks_stripped : 1; // a webhook strips its marks, or its worker drops fields: it must be deleted
    bool tried : 1;          // it did not start there, and was withdrawn; see decide_unstarted.h
    bool queued : 1;         // the worker's Kueue has not admitted it
    bool fenced : 1;         // suspended by its worker's guard
    bool suspended : 1;      // its `suspend` field says so, whoever wrote that
    bool left_suspended : 1; // by the worker, which is to resume it
    bool proven : 1;         // known to be this host's: by its seal, its create's answer, or the annotations (no key)
};

struct decide_facts {
    const struct workload_facts *workload;
    bool busy;                          // a write to the workload, or a read of it, is in flight
    const struct mirror_facts *mirrors; // a list
    const struct worker_facts *workers; // [0] is not used: indices are cluster numbers
    size_t n_clusters;                  // workers + 1
    bool management_connected, management_listed;
    bool placing;              // new placements are allowed (the host is not stopping)
    bool settle_time_is_over;  // no longer waits for unsettled workers
    int64_t also_run_until_ns; // no first attempt before that: a controller runs workloads of the kind here, too
    int64_t status_at_ns;      // no status before that: the kind's status subresource fails
    int64_t changes_at_ns;     // neither a status nor a further attempt before that, see status_budget.h
    int64_t bytes_at_ns;       // no status before that: those of its worker take too much space
    bool status_passes;        // it does not wait for changes_at_ns
    int64_t lost_timeout_ns;
    bool wait_when_lost;    // it is not placed again for the loss of its worker
    uint32_t shard;         // of the workload,
    int64_t fence_begun_ns; // see fence_begin
    int64_t now_ns;
    const char *namespaces;                  // the rule for all workers, see namespaces.h; or NULL
    struct namespaces_subject namespace_;    // the namespace of the workload
    const struct placement_view *view;       // NULL: any worker may be chosen, by the default policy
    bool *asks;                              // set where a worker is chosen, so that a view matters; may be NULL
    bool own_record;                         // the annotations are what this process wrote, see own_record.h
    const struct unstarted_facts *unstarted; // NULL: nothing of it waits to be started, and no worker rejected it
};

// No create of the mirror can have an effect after that: what is absent then stays so.
static inline int64_t decide_absent_at_ns(const struct mirror_facts *mirror, int64_t lost_timeout_ns) {
    return mirror->unanswered_ns ? clock_after(mirror->unanswered_ns, lost_timeout_ns) : 0;
}

// The worker may get it, as far as the worker is concerned.
static inline bool decide_is_eligible(const struct decide_facts *f, size_t cluster) {
    return f->workers[cluster].eligible && !shard_is_in(f->workers[cluster].closed_shards, f->shard);
}

enum action_type {
    ACTION_NONE,    // nothing to do until something changes
    ACTION_WAIT,    // nothing to do before at_ns
    ACTION_PLACE,   // write the annotations: cluster, attempt
    ACTION_CREATE,  // create the mirror: cluster, attempt
    ACTION_UPDATE,  // carry changes to the mirror in cluster
    ACTION_STATUS,  // bring the workload's status up to date
    ACTION_DELETE,  // delete the mirror in cluster
    ACTION_RELEASE, // remove the host's finalizer from the mirror in cluster
    ACTION_VERIFY,  // read the object in cluster
    ACTION_FORGET,  // nothing of it is left anywhere
    ACTION_READ,    // read the workload: see confirm.h
    ACTION_GIVE_UP  // no worker accepts it: its status or an Event says so
};

// What a workload waits for, other than its mirror to finish.
enum waiting {
    WAITING_NOT,
    WAITING_ANSWER, // a request in flight: does not end what was waited for before
    WAITING_MANAGEMENT,
    WAITING_BACKOFF,
    WAITING_SETTLING,
    WAITING_STOPPING,
    WAITING_NO_WORKER,
    WAITING_REFUSED,
    WAITING_WORKER,
    WAITING_IDENTITY,
    WAITING_UNKNOWN_WORKER,
    WAITING_PREDECESSOR,
    WAITING_EARLIER,
    WAITING_GONE,
    WAITING_REPEATED,
    WAITING_STATUS,
    WAITING_FINAL_STATUS,
    WAITING_PROOF,
    WAITING_SIZE,
    WAITING_DRAIN,
    WAITING_NAMESPACE,
    WAITING_ROOM,
    WAITING_KEPT,
    WAITING_START,
    WAITING_GAVE_UP,
    WAITING_QUEUED,
    WAITING_KUEUE,
    WAITING_CHECK_REJECTED,
    WAITING_CAPACITY,
    WAITING_UNGUARDED,
    WAITING_RESUME,
    WAITING_ALSO_RUN,
    WAITING_CHANGES,
    WAITING_BYTES,
    WAITINGS
};

struct action {
    enum action_type type;
    size_t cluster; // NONE, WAIT: whose object or connection is waited for, 0: none
    uint32_t attempt;
    int64_t at_ns;
    bool withdraws;  // DELETE: only in the state that was seen, since it did not start
    bool had_choice; // PLACE: there was another worker
    bool blocked;    // would do more if a cluster were connected
    enum waiting waiting;
    const char *why; // static, for logs and Events
};

uint32_t decide_name_hash(const char *name); // of a worker; never 0

struct action decide(const struct decide_facts *facts);

// For metrics ("no-worker"), and as a sentence for Events. Static.
const char *waiting_name(enum waiting waiting);
const char *waiting_text(enum waiting waiting);
// No worker accepts it now: each has its own reason.
bool waiting_is_for_a_worker(enum waiting waiting);

// A mirror that the annotations do not name and that is not proven: it is neither adopted nor deleted, and unless the
// annotated mirror exists, no other one is created.
bool decide_is_held(const struct decide_facts *facts, const struct mirror_facts *mirror);

// The mirror that the annotations name, if it exists; or NULL.
const struct mirror_facts *decide_placed(const struct decide_facts *facts);
// The same, unless its worker was given up: the source of the status.
const struct mirror_facts *decide_followed(const struct decide_facts *facts);

// Its status is final and its mirror runs, as far as is known: nothing of the mirror ends for that reason.
bool decide_is_disputed(const struct workload_facts *workload, const struct mirror_facts *placed);

// The final status of the current attempt's mirror is not written yet.
bool decide_has_final_status(const struct workload_facts *workload);

#endif
