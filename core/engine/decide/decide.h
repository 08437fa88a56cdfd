// SPDX-License-Identifier: Apache-2.0
// The decision for one workload: a pure, level-triggered function of the known facts, for calls at any time, twice, or
// after a crash. docs/lifecycle.md describes the rules.
#pragma once

#include "core/base/clock.h"
#include "core/engine/shard/shard_hash.h"
#include "core/engine/store/throttle.h"

struct placement_view;

#define DECIDE_UNPLACED 0U                 // the management cluster never holds mirrors
#define DECIDE_UNKNOWN_CLUSTER UINT32_MAX  // the annotation names a worker without configuration
#define DECIDE_GIVEN_UP_SEVERAL UINT32_MAX // attempts in more than one worker
#define DECIDE_LAST_STATUSES 3             // so many statuses just before a deletion, and it waits for no other
#define DECIDE_STATUS_REFUSALS 2           // so many rejections, and the status delays nothing else

// Permitted namespaces of workloads: overall, and by worker. A workload with an earlier placement stays until the end
// after a change of the rule. A rule is a text with one pattern a line: "+team-*" allows, "-kube-*" denies; and one
// line "=env in (a,b)" with a selector of the namespace's labels. A denial always wins; if a pattern allows namespaces,
// the rule denies all others; a selector denies every namespace that does not match.
enum namespaces_verdict {
    NAMESPACES_PERMITTED,
    NAMESPACES_DENIED,
    NAMESPACES_UNDECIDED // for lack of the namespace's labels
};

struct namespaces_subject {
    const char *name; // so many bytes; "": of a cluster-scoped object, which is always permitted
    size_t len;
    bool labels_known;
    const char *labels; // "key=value,key=value"; NULL: none
};

// `rule` NULL or "": all.
enum namespaces_verdict namespaces_judge(const char *rule, const struct namespaces_subject *subject);

// One worker cluster, for one kind.
struct worker_facts {
    const char *name;
    uint32_t name_hash;     // see decide_name_hash
    bool state_known;       // state known: connected, lost or without the kind
    bool connected;         // complete list, open watch
    bool listed;            // the list was complete at least once
    bool serves;            // connected, and serves the version of the management cluster
    bool frozen;            // not identified yet, or refused: the host writes nothing there
    bool refused;           // this cluster or the management cluster is not the expected one (rule 9)
    bool eligible;          // may get new work: serves the kind, answers in time, and is not closed
    bool closed;            // cordoned, drained or leaving: no new work
    bool moves;             // workloads move to an eligible worker,
    int64_t moves_at_ns;    // started ones from then on
    int64_t lost_since_ns;  // monotonic; meaningful unless connected
    size_t active;          // unfinished workloads of all kinds here
    size_t active_kind;     // of this kind
    size_t max_active;      // 0: no limit
    size_t max_kind;        // of this kind
    uint32_t weight;        // 1 or more
    uint32_t order;         // from 1 on; 0: after all others
    const char *namespaces; // rule, see namespaces_judge; or NULL
    const char *renames;    // its namespaces.map, see namespace_map.h; or NULL
    uint64_t guarded;       // masks of shards: a guard stops the mirrors of these once the worker is lost,
    int64_t fenced_ns;      // by then; the host gives up none of these before; 0: unknown
    int64_t unguarded_ns;   // the host gives up mirrors of the other shards from then on; CLOCK_NEVER: never
    uint64_t resumes;       // the host may resume mirrors that the guard suspended
    uint64_t closed_shards; // no new work: the guard would stop new mirrors, or may
    struct recent finished; // workloads of all kinds that ran for less than a minute
};

// The earliest time to give up mirrors in the worker. `begun_ns`: of the shard, see fence_begin.
static inline int64_t decide_fenced_ns(const struct worker_facts *worker, uint32_t shard, int64_t begun_ns) {
    if (!shard_is_in(worker->guarded, shard))
        return worker->unguarded_ns;
    return worker->fenced_ns > begun_ns ? worker->fenced_ns : begun_ns;
}

// Facts about the workload, kept in the entry.
struct workload_facts {
    int64_t not_before_ns;    // earliest write to the workload
    int64_t unknown_since_ns; // when DECIDE_UNKNOWN_CLUSTER was first seen
    int64_t retain_until_ns;  // finished: earliest deletion of the mirror
    int64_t earlier_until_ns; // an earlier mirror may run in a removed worker: no create before then
    struct throttle places;   // of further attempts: none before at_ns
    struct throttle statuses; // of status_held: next write at at_ns
    struct throttle restores; // of misplaced: next restore at at_ns
    uint32_t cluster;         // DECIDE_UNPLACED, a worker, or DECIDE_UNKNOWN_CLUSTER
    uint32_t attempt;         // 0: not placed
    uint32_t gone_attempt;    // attempt with a mirror that is certainly gone; 0: none
    uint32_t given_up;        // decide_name_hash of the worker of a given-up attempt; 0: none
    uint32_t drained_attempt; // attempt with a mirror deleted to drain the worker; 0: none
    uint32_t clean_attempt;   // attempt that cannot have a mirror yet; 0: none
    uint32_t final_attempt;   // of has_final_status and has_last_status
    uint16_t status_refusals; // consecutive rejections of the status by the management cluster
    bool exists : 1;          // in the management cluster, and delegated to this host
    bool being_deleted : 1;   // has a deletionTimestamp
    bool finished : 1;
    bool suspended : 1;
    bool too_large : 1;        // not handled
    bool status_due : 1;       // the status may need a write
    bool status_held : 1;      // status writes are too frequent: delayed
    bool has_final_status : 1; // the final status of final_attempt's mirror awaits the write
    bool has_last_status : 1;  // the same of the last status, which is not final
    bool record_unsure : 1;    // unknown outcome of an annotation write, without a newer state
    bool misplaced : 1;      // the annotations disagree with `cluster` and `attempt`, where the mirror is: restore the
                             // annotations
    bool queued : 1;         // not admitted by the management cluster's Kueue
    bool check_rejected : 1; // an admission check rejected the workload for good
    bool ended : 1;          // finished, with the final status of the mirror or of this host
    bool foreign_end : 1;    // finished, according to another writer, while the mirror ran
    bool yields : 1;         // to a controller of the management cluster, see yield.c; also sets `suspended`
    bool yield_unsure : 1;   // perhaps: no status until the writer is known, and the host resumes no mirror
    bool end_untold : 1;     // the report of the end waits for certainty, see status.h
    bool unread : 1;         // the phase of the last version is not read, see aside.h: `finished` is the former one
    bool final_unread : 1;   // has_final_status, if the state turns out to be final
};

// Facts about the object of this name in one worker, kept in the mirror.
struct mirror_facts {
    struct mirror_facts *next;  // in another worker
    int64_t not_before_ns;      // earliest request about the mirror
    int64_t held_until_ns;      // nor before this: possibly an orphan
    int64_t update_at_ns;       // earliest update of the mirror
    int64_t excluded_until_ns;  // rejected by the cluster until then; 0: not rejected
    int64_t unstarted_since_ns; // start of the wait for the first pod; 0: started, or over
    int64_t unanswered_ns;      // last unanswered create of this attempt, which may take effect later; 0: never
    int64_t absent_ns;          // last read by name that found nothing; 0: never
    uint32_t cluster;
    uint32_t attempt;
    uint8_t last_statuses; // written because the host is about to delete the mirror to place the workload elsewhere
    bool present : 1;      // exists and is this host's mirror, of this workload or an earlier one of the same name
    bool of_workload : 1;  // the uid label names this workload
    bool being_deleted : 1;
    bool busy : 1;       // a request about the mirror is in flight
    bool unsure : 1;     // absence means nothing before a read
    bool may_exist : 1;  // a create has an unknown outcome, and no watch or read showed the object since
    bool update_due : 1; // the mirror may differ from the workload
    bool too_large : 1;  // the last version was too large: the store keeps an older one, or a stub
    bool name_only : 1;  // the store has only the name and marks: read the status first
    bool finished : 1;
    bool finalizer : 1;      // has the host's finalizer
    bool marks_stripped : 1; // must be deleted: a webhook strips the marks, or the worker drops fields
    bool tried : 1;          // withdrawn, since the mirror did not start
    bool changed : 1;        // was tried, and the namespace or a quota there changed since
    bool untouched : 1;      // the status is the progress that the host gave, and says nothing new
    bool queued : 1;         // not admitted by the worker's Kueue
    bool fenced : 1;         // suspended by the worker's guard
    bool owed : 1;           // suspended until the mirror has the progress of earlier attempts, see continuity/
    bool suspended : 1;      // field `suspend` is set, by any writer
    bool left_suspended : 1; // by the worker, which has to resume the mirror
    bool unread : 1;         // the phase of the last version is not read, see aside.h: `finished` is the former one
    bool
        proven : 1; // known to be this host's: by the seal, the answer to the create, or (without keys) the annotations
};

// Facts about a workload with an unstarted or rejected mirror; see unstarted.h.
struct unstarted_facts {
    int64_t timeout_ns;         // placement.pendingTimeout; 0: no timeout
    int64_t give_up_at_ns;      // CLOCK_NEVER: the host does not give up
    int64_t round_at_ns;        // start of the next round over the workers already tried
    int64_t since_ns;           // first try
    int64_t runs_since_ns;      // start of the run of a mirror after failures; 0: none runs
    char *pod_report;           // the last one, owned; or NULL
    uint32_t withdrawn_attempt; // attempt with the withdrawn mirror; 0: none
    uint32_t noted_attempt;     // the last attempt with a worker that counts as tried
    uint16_t rounds;            // complete ones
    bool gave_up;               // the host tries only workers that join later
};

// The objects that the workload refers to, see core/engine/dependencies/; the worst of them, in this order.
enum needs_state {
    NEEDS_MET,
    NEEDS_COMING,  // not known yet, or being copied
    NEEDS_MISSING, // do not exist in the management cluster
    NEEDS_LACKED   // the worker cannot have them
};

// What becomes of the placed mirror by retryElsewhere, see core/engine/elsewhere/.
enum elsewhere_verdict {
    ELSEWHERE_NO,    // a failure is final, and a mirror that does not start stays
    ELSEWHERE_ASKED, // the mirror has failed, and the host does not know why yet
    ELSEWHERE_MOVES, // the mirror has failed because of the worker
    ELSEWHERE_STUCK  // the mirror does not start because of the worker
};

struct decide_facts {
    const struct workload_facts *workload;
    bool busy;                          // a write or a read of the workload is in flight
    const struct mirror_facts *mirrors; // a list
    const struct worker_facts *workers; // [0] is not used: indices are cluster numbers
    size_t n_clusters;                  // workers + 1
    bool management_connected, management_listed;
    bool placing;               // new placements may begin (the host is not stopping)
    bool startup_grace_is_over; // the wait for unsettled workers is over
    int64_t also_run_until_ns;  // no first attempt before: a controller in the management cluster runs workloads of the
                                // kind too
    int64_t probation_until_ns; // no first attempt before: signs of such a controller may come
    int64_t status_at_ns;       // no status before: the status subresource of the kind fails
    uint32_t words_attempt;     // no deletion of the failed mirror of this attempt
    int64_t words_until_ns;     // before, see words/
    int64_t changes_at_ns;      // no status and no further attempt before, see status.h
    int64_t bytes_at_ns;        // no status before: statuses of the worker take too much space
    bool status_passes;         // exempt from changes_at_ns
    int64_t lost_timeout_ns;
    bool wait_when_lost;    // the loss of a worker does not lead to another placement
    uint32_t shard;         // shard of the workload,
    int64_t fence_begun_ns; // since when this host holds the shard, see fence_begin
    int64_t now_ns;
    const char *namespaces;               // rule for all workers, see namespaces_judge; or NULL
    struct namespaces_subject namespace_; // the namespace of the workload
    const char *origin;                   // of this host
    const struct placement_view *view;    // NULL: all workers are candidates, with the default policy
    bool *asks;                           // output: a choice between workers was made, so a view matters; may be NULL
    bool own_record;                      // this process wrote the annotations, see status.h
    bool consent_unknown;                 // of the worker of the placement (tenancy/): whether it may get anything new
    bool no_consent;                      // it may not
    bool leaves;                          // nor keep the mirror
    bool adapter_waits;                   // the last call of the adapter has no result yet, see aside.h
    enum needs_state needs;               // of the next placement, in the management cluster
    enum needs_state needs_there;         // of a workload without a mirror, in the worker of the placement
    int64_t needs_at_ns;                  // NEEDS_COMING at the latest until then; 0: unknown
    enum elsewhere_verdict elsewhere;
    bool elsewhere_keeps;                    // MOVES: the status without the failure has progress for the next attempt
    int64_t elsewhere_until_ns;              // ASKED, and MOVES without the worker or a need: the host waits so long
    const struct unstarted_facts *unstarted; // NULL: no unstarted mirror, no rejection by a worker
};

// The last time at which a create of the mirror can take effect. A mirror that is absent later stays absent.
static inline int64_t decide_absent_at_ns(const struct mirror_facts *mirror, int64_t lost_timeout_ns) {
    return mirror->unanswered_ns ? clock_after(mirror->unanswered_ns, lost_timeout_ns) : 0;
}

// The worker accepts new work of the kind.
static inline bool decide_is_eligible(const struct decide_facts *f, size_t cluster) {
    return f->workers[cluster].eligible && !shard_is_in(f->workers[cluster].closed_shards, f->shard);
}

enum action_type {
    ACTION_NONE,    // nothing to do until something changes
    ACTION_WAIT,    // nothing to do before at_ns
    ACTION_PLACE,   // write the annotations: cluster, attempt
    ACTION_CREATE,  // create the mirror: cluster, attempt
    ACTION_UPDATE,  // carry changes to the mirror in cluster
    ACTION_STATUS,  // copy the status of the mirror to the workload
    ACTION_DELETE,  // delete the mirror in cluster
    ACTION_RELEASE, // remove the host's finalizer from the mirror in cluster
    ACTION_VERIFY,  // read the object in cluster
    ACTION_FORGET,  // no object is left: free the entry
    ACTION_READ,    // read the workload: see command.h
    ACTION_GIVE_UP  // no worker accepts the workload: report that in the status or an Event
};

// Reasons for a wait, other than a running mirror.
enum waiting {
    WAITING_NOT,
    WAITING_ANSWER, // a request in flight: the former reason still holds
    WAITING_MANAGEMENT,
    WAITING_BACKOFF,
    WAITING_STARTUP_GRACE,
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
    WAITING_MAX_ACTIVE,
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
    WAITING_PROBATION,
    WAITING_CHANGES,
    WAITING_BYTES,
    WAITING_ADAPTER,
    WAITING_DEPENDENCY,
    WAITING_PROGRESS,
    WAITING_CAUSE,
    WAITINGS
};

struct action {
    enum action_type type;
    size_t cluster; // NONE, WAIT: the cluster that causes the wait, 0: none
    uint32_t attempt;
    int64_t at_ns;
    bool leaves;     // STATUS: before the host deletes the mirror to place the workload elsewhere
    bool withdraws;  // DELETE: an unstarted mirror, only at the resourceVersion seen
    bool had_choice; // PLACE: several workers were eligible
    bool blocked;    // a cluster has to connect first
    enum waiting waiting;
    const char *why; // static, for logs and Events
};

uint32_t decide_name_hash(const char *name); // of a worker; never 0

struct action decide(const struct decide_facts *facts);

// The name for metrics ("no-worker"), and the sentence for Events. Static.
const char *waiting_name(enum waiting waiting);
const char *waiting_text(enum waiting waiting);
// Whether each worker has a reason not to accept the workload.
bool waiting_is_for_a_worker(enum waiting waiting);

// A quarantined mirror: unproven, and not named by the annotations. The host neither adopts nor deletes such a mirror,
// and creates no other one unless the annotated mirror exists.
bool decide_is_quarantined(const struct decide_facts *facts, const struct mirror_facts *mirror);

// The mirror that the annotations name; NULL: absent.
const struct mirror_facts *decide_placed(const struct decide_facts *facts);
// The same, the source of the status; NULL too if the host gave the worker up.
const struct mirror_facts *decide_followed(const struct decide_facts *facts);

// The status is final although the mirror runs: another writer set the status, and the mirror goes on.
bool decide_is_disputed(const struct workload_facts *workload, const struct mirror_facts *placed);

// Rule 12: the phase of the workload or of the placed mirror is unknown, or another call has no result.
bool decide_is_unread(const struct decide_facts *facts);

// The host still has to write the final status of the current attempt's mirror.
bool decide_has_final_status(const struct workload_facts *workload);
// The same for the last status of a mirror that is gone and had not finished.
bool decide_has_last_status(const struct workload_facts *workload);
