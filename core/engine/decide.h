// SPDX-License-Identifier: Apache-2.0
// The choice for one workload: a pure function of what is known. It looks at what is, never at what changed, so it
// may be called at any time, twice, or after a crash. docs/lifecycle.md tells the rules in words.
#ifndef WHARF_ENGINE_DECIDE_H
#define WHARF_ENGINE_DECIDE_H

#include "core/engine/throttle.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DECIDE_UNPLACED 0U                // the management cluster never holds mirrors
#define DECIDE_UNKNOWN_CLUSTER UINT32_MAX // the annotation names a cluster that the configuration does not have
#define DECIDE_STATUS_REFUSALS 2          // a status that is refused so often holds nothing up

// One worker cluster, as far as one kind is concerned.
struct worker_facts {
    const char *name;
    bool settled;          // has been heard of: connected, lost or without the kind
    bool connected;        // the list is complete and the watch is open
    bool listed;           // the list was complete at least once
    bool serves;           // connected and in the version that the management cluster has
    bool frozen;           // which cluster it is was not read yet, or it is refused: nothing is done there
    bool eligible;         // may be given new work: serves, and answers in time
    int64_t lost_since_ns; // monotonic; meaningful unless connected
    size_t active;         // unfinished workloads of all kinds that are placed here
};

// Of the workload, as the entry keeps it.
struct workload_facts {
    int64_t not_before_ns;    // no write to the workload before that
    int64_t unknown_since_ns; // when DECIDE_UNKNOWN_CLUSTER was first seen
    int64_t retain_until_ns;  // finished: when its mirror may go
    struct throttle places;   // further attempts: none before its at_ns, there were too many
    struct throttle statuses; // of status_held: when it may be written
    struct throttle restores; // of misplaced: not before its at_ns
    uint32_t cluster;         // DECIDE_UNPLACED, a worker, or DECIDE_UNKNOWN_CLUSTER
    uint32_t attempt;         // 0: not placed
    uint32_t gone_attempt;    // the mirror of this attempt existed and is known to be gone; 0: none
    uint32_t clean_attempt;   // no mirror of this attempt can have been created yet; 0: none
    uint32_t final_attempt;   // of has_final_status
    uint16_t status_refusals; // of its status by the management cluster, in a row
    bool exists : 1;          // in the management cluster, and ours
    bool being_deleted : 1;   // has a deletionTimestamp
    bool finished : 1;
    bool suspended : 1;
    bool busy : 1;             // a write to the workload is in flight
    bool too_large : 1;        // to be handled
    bool status_due : 1;       // the status may have to be written
    bool status_held : 1;      // a status waits: it was written too often
    bool has_final_status : 1; // what the mirror of final_attempt, which had finished, said last is not written
    bool misplaced : 1;        // the annotations do not say `cluster` and `attempt`, where its mirror is: put them back
};

// Of the object of this name in one worker, as the mirror keeps it.
struct mirror_facts {
    struct mirror_facts *next; // in another worker
    int64_t not_before_ns;     // no request about it before that
    int64_t held_until_ns;     // nor before that: it is an orphan, perhaps
    int64_t update_at_ns;      // no change is carried to it before that
    int64_t excluded_until_ns; // the cluster would not take it; 0: it was not refused
    uint32_t cluster;
    uint32_t attempt;
    bool present : 1;     // it exists and is our mirror, of this workload or of an earlier one of the same name
    bool of_workload : 1; // its mark has the workload's uid
    bool being_deleted : 1;
    bool busy : 1;       // a request about it is in flight
    bool unsure : 1;     // must be asked for before anything is concluded from its absence
    bool update_due : 1; // it may differ from the workload
    bool too_large : 1;  // a stub was seen last: what is kept is older, or the stub
    bool name_only : 1;  // only its name and marks are kept: its status has to be asked for
    bool finished : 1;
    bool finalizer : 1;      // of ours
    bool marks_stripped : 1; // it cannot keep its marks, and has to go
    bool proven : 1;         // that it is ours: by its seal, its create's answer, or the annotations (no key)
};

struct decide_facts {
    const struct workload_facts *workload;
    const struct mirror_facts *mirrors; // a list
    const struct worker_facts *workers; // [0] is not used: indices are cluster numbers
    size_t n_clusters;                  // workers + 1
    bool management_connected, management_listed;
    bool placing;             // new placements are allowed (the host is not stopping)
    bool settle_time_is_over; // unsettled workers are waited for no longer
    int64_t status_at_ns;     // no status before that: the kind's cannot be written
    int64_t lost_timeout_ns;
    int64_t now_ns;
};

enum action_type {
    ACTION_NONE,    // nothing to do until something changes
    ACTION_WAIT,    // nothing to do before at_ns
    ACTION_PLACE,   // write the annotations: cluster, attempt
    ACTION_CREATE,  // create the mirror: cluster, attempt
    ACTION_UPDATE,  // carry changes to the mirror in cluster
    ACTION_STATUS,  // bring the workload's status up to date
    ACTION_DELETE,  // delete the mirror in cluster
    ACTION_RELEASE, // take our finalizer off the mirror in cluster
    ACTION_VERIFY,  // ask for the object in cluster
    ACTION_FORGET   // nothing is left of it anywhere
};

// What a workload waits for, other than answers and its mirror's end.
enum waiting {
    WAITING_NOT,
    WAITING_ANSWER, // to a request in flight: whatever was waited for before still is
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
    WAITINGS
};

struct action {
    enum action_type type;
    size_t cluster; // NONE, WAIT: whose object or connection is waited for, 0: no one's
    uint32_t attempt;
    int64_t at_ns;
    bool blocked; // would do more if a cluster were connected or another one were there
    enum waiting waiting;
    const char *why; // static, for logs and Events
};

struct action decide(const struct decide_facts *facts);

// For metrics ("no-worker"), and for people ("no worker can take it"). Static.
const char *waiting_name(enum waiting waiting);
const char *waiting_text(enum waiting waiting);

// A mirror that the annotations do not name and that nothing proves: it is neither adopted nor deleted, and while there
// is no mirror that they do name, nothing else is made.
bool decide_is_held(const struct decide_facts *facts, const struct mirror_facts *mirror);

// The mirror that the annotations speak of, if it is there; or NULL.
const struct mirror_facts *decide_placed(const struct decide_facts *facts);
// The same, unless its worker was given up: the one that the status is copied from.
const struct mirror_facts *decide_followed(const struct decide_facts *facts);

// What the mirror of the present attempt, which had finished, said last is not written yet.
bool decide_has_final_status(const struct workload_facts *workload);

#endif
