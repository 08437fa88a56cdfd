// SPDX-License-Identifier: Apache-2.0
// The engine's store: one entry per kind and namespace/name that has a delegated workload or a mirror. Objects are
// stored as compact text, which a workload and its mirrors mostly share, plus a cache of parsed trees.
#pragma once

#include "core/base/clock.h"
#include "core/base/map.h"
#include "core/base/shared_text.h"
#include "core/engine/decide/decide.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/store/fair_queue.h"
#include "core/engine/store/throttle.h"
#include "core/kube/object/object.h"

#include <wharf/adapter.h>

#define STORE_UID_MAX 40 // a uid has 36 characters; the host rejects longer ones

#define STORE_VERSION_NONE "0" // a resourceVersion that is older than all
#define STORE_VERSION_MAX 24   // a resourceVersion is a decimal of up to 20 digits; longer ones are read from the tree

struct doc {
    struct shared_text text;         // none: nothing
    uint32_t slot;                   // of the store's parsed trees, 0: none
    char version[STORE_VERSION_MAX]; // resourceVersion; "" for a longer one
};

// Data for the API, on which no decision depends: the attempts of a workload, and the time of the last change.
#define ATTEMPTS_MAX 12         // the newest ones
#define ATTEMPT_MESSAGE_MAX 256 // bytes

enum outcome {
    OUTCOME_NONE, // not over
    OUTCOME_SUCCEEDED,
    OUTCOME_FAILED,
    OUTCOME_REJECTED,  // the worker did not accept the mirror
    OUTCOME_DELETED,   // another client deleted the mirror in the worker
    OUTCOME_LOST,      // the host gave the worker up
    OUTCOME_DRAINED,   // an operator drained the worker
    OUTCOME_REPLACED,  // another mirror was found
    OUTCOME_WITHDRAWN, // the mirror did not start in time
    OUTCOMES
};
const char *outcome_name(enum outcome outcome); // "Rejected"; NULL for OUTCOME_NONE

struct attempt {
    struct attempt *older;
    // Wall clock; 0: not known, or has not happened.
    int64_t placed_ns, created_ns, started_ns, ended_ns;
    char *message;      // about the end, owned; or NULL
    const char *reason; // for a rejection, static ("QuotaExceeded"); or NULL
    char *scores;       // of adapters for this placement, as text (placing.h), owned; or NULL
    uint32_t number;
    uint8_t outcome;
    bool witnessed; // by this process
    char cluster[];
};

struct attempt_history {
    struct attempt *newest;
    uint8_t leaving; // enum outcome: the cause of the next attempt
};

void attempt_history_clear(struct attempt_history *history);
void attempt_history_trim(struct attempt_history *history); // to ATTEMPTS_MAX

// The place in the list of all workloads, see inspect.h.
struct last_change {
    struct entry *newer, *older; // only with a sequence
    uint64_t sequence;           // 0: not listed
    int64_t at_ns;               // wall clock
    int64_t until_ns;            // end of the wait without an event (monotonic); CLOCK_NEVER: none
    uint32_t waits_for;          // the cluster that causes the wait; 0: none
    uint32_t shown;              // hash of the visible fields
};

// The object of the entry's name in one worker, or the facts about the absence.
struct mirror {
    struct mirror_facts facts; // first, so that the list of facts is the list of mirrors
    struct fair_node node;     // for requests about the mirror
    struct doc doc;            // the mirror as last seen; empty: not seen, or gone
    int64_t orphan_since_ns;
    int64_t created_ns;                // wall clock, by the metadata; 0: unknown
    int64_t started_ns;                // wall clock, by the status; 0: not started
    int64_t ended_ns;                  // the same, of the last phase read; 0: not finished, or unknown
    int64_t seen_ns;                   // arrival of the event that made the status due
    uint64_t carry_hash;               // of carried fields (labels, annotations, spec generation), to detect changes
    uint64_t noop_patch_hash;          // hash of an accepted patch that changed nothing
    struct rejections *refused;        // changes that the worker rejected (mirror.h); NULL: none
    struct kueue_status *kueue_status; // in the worker, free(); NULL: Kueue has no Workload for the mirror
    char *reduced;                     // how and why the host reduced the copied status (object.h); NULL: not reduced
    char *record;                      // record of carried fields (mirror.h); NULL: nothing but the annotation
    struct throttle updates;           // patches without a change of the workload
    uint32_t patched_source;           // hash of the source of the last accepted patch
    uint32_t unchecked_source;         // the same for a create with a lost or late answer: dropped
                                       // fields are not compared yet
    uint32_t counted_bytes;            // bytes in orphan_count
    uint32_t excess;                   // bytes in orphan_count.excess
    uint32_t epoch;                    // of the last list with the mirror, or of the list before the last watch event
    uint32_t created_reported;         // the last attempt reported as created
    uint32_t namespace_retry_s;        // last retry after a change of the namespace, in monotonic seconds
    uint16_t failures, refusals, denials;
    struct mirror_progress {       // of a mirror that is or was owed progress, see continuity/
        char *problem;             // why the attempt starts from nothing, until told, owned; or NULL
        uint32_t status;           // hash of the status, until another writer than the host has changed it; 0: no such
        struct children *children; // owned; NULL: none
        uint8_t settled;           // enum progress_mark that this process has decided on; NONE: none
        uint8_t accepted;          // patches of the status that the worker accepted
        uint8_t failures;          // in a row, of such patches
        uint8_t waits;             // for the worker's Kueue, a second each
        bool refused;              // the mirror does not get the progress
        bool checked;              // the mirror has run since, and has kept it or not
    } progress;
    uint8_t phase;                    // wharf_phase_kind, the last one read
    uint8_t orphan;                   // enum orphan_state, see orphans.c
    uint8_t carry;                    // enum carry_state, since either side changed
    bool released : 1;                // an operator annotated the mirror for deletion
    bool quarantine_reported : 1;     // see decide_is_quarantined
    bool was_of_workload : 1;         // this process has seen the workload
    bool unmarked : 1;                // identified by uid: the marks are missing, and watches may not show the mirror
    bool outdated : 1;                // deleted while a request about the mirror was in flight
    bool fenced_reported : 1;         // suspension by a guard was reported
    bool had_status : 1;              // a status existed, so an empty one means cleared
    bool record_unsure : 1;           // a later patch has an unknown outcome
    bool dropping_reported : 1;       // dropped fields were reported
    bool stub : 1;                    // doc is one (object.h)
    bool suspension_reported : 1;     // suspension by the worker was reported
    bool uncompared : 1;              // the result of an accepted patch is not compared yet (noop_patch_hash)
    bool tried : 1;                   // a dry-run create showed that the worker keeps all fields (mirror_parts.h)
    bool namespace_missing : 1;       // in the worker: the next create is that of the namespace
    bool has_run : 1;                 // pods have run since the create or the last suspension
    char uid[STORE_UID_MAX];          // of the object itself
    char workload_uid[STORE_UID_MAX]; // from the mark
    char needs_uid[STORE_UID_MAX];    // of the object whose needs are known, see dependencies/; "": none
};

// One life of a delegated workload: from the first sight until the workload is gone, no longer delegated, or made
// anew.
#define STATUS_TIERS 3
struct workload {
    struct workload_facts facts;
    struct doc doc;
    uint64_t carry_hash;
    int64_t generation;
    int64_t waiting_since_ns;
    int64_t loss_reported_ns;          // start of the reported loss of the worker (placement_events.c); 0: not reported
    int64_t ready_ns;                  // start of the wait for the first placement; 0: over, or suspended
    struct unstarted_facts *unstarted; // see unstarted.h; NULL: none, owned
    uint32_t active_in;                // the worker that counts this workload as active, 0: none
    uint32_t placed_attempt;           // the attempt that this process wrote into the annotations, 0: none
    uint32_t requested_cluster, requested_attempt; // of the last write of the annotations, with any outcome
    uint32_t accepted_cluster, accepted_attempt;   // see status.h; 0: none
    uint16_t failures;
    uint16_t refusals;               // consecutive ones, by the adapter or for the size
    uint8_t phase;                   // wharf_phase_kind
    uint8_t waiting;                 // enum waiting
    bool unsure : 1;                 // an earlier write got no answer
    bool labelled : 1;               // the label has named the cluster
    bool listed_older : 1;           // the last list had an older version, see stale_version_must_read
    bool outdated : 1;               // a write conflicted: there is a newer version
    bool stub : 1;                   // doc is one (object.h)
    bool unsealed_reported : 1;      // an unsealed object with the host's marks was reported
    bool phase_read : 1;             // of some version; `phase` is the last one
    struct aside *aside;             // NULL: all calls had results, see aside/; owned
    struct account_run *accounts;    // NULL: has not run; owned
    struct capacity_claim *capacity; // NULL: none
    struct {
        struct attempt_history attempts;
        struct last_change change;
    } history;
    struct {
        struct kueue_status *status; // of the management cluster's Kueue, free(); NULL: there is no Workload
        uint8_t asked;               // requests for the Workload, see kueue_permits
        uint8_t state;               // enum kueue
        bool names_queue;            // has Kueue's label for the queue
    } kueue;
    struct workload_membership {
        struct missing_worker *missing; // see missing_worker.h; NULL: none
        bool missing_unfinished;        // counts as unfinished there
    } membership;
    struct {
        struct elsewhere *state; // about the present attempt, free(); NULL: none
        uint8_t retried;         // attempts that failed because of a worker, by the annotation
    } elsewhere;
    struct workload_placement {
        char *scores;                   // of adapters for the last placement, as text, owned; or NULL
        int64_t runs_since_ns;          // in runs_in, see completions.c
        uint32_t runs_in;               // the worker; 0: not compared
        bool had_choice;                // several workers were eligible
        bool start_seen;                // in runs_in
        bool has_placement_annotations; // which limit the placement
    } placement;
    struct workload_report {
        uint64_t waiting_reported; // reasons reported, a bit each
        uint32_t last_note;        // hash of the last Event
        uint8_t unplaced;          // enum waiting, as counted in stats.unplaced
        bool counted_unplaced;
        bool reported;               // there was an Event since the start of the wait
        bool unschedulable_reported; // since the start of the wait
    } report;
    struct workload_continuity {
        uint32_t ignored;        // hash of the annotations' values that the host ignores; 0: none
        bool ignored_unreported; // they have no Event yet
    } continuity;
    struct workload_status {
        struct status_budget {             // see status.h
            int64_t full_ns[STATUS_TIERS]; // when each bucket of writes is full again
            uint32_t first_attempt;        // attempt with a written first status,
            uint32_t final_attempt;        // and with a written final status; 0: none
            bool reported;                 // the delay was reported
        } budget;
        uint64_t noop_patch_hash;
        uint64_t denied_status_hash;      // hash of the last rejected status patch; 0: none
        int64_t denied_until_ns;          // no repetition of that patch before
        struct throttle denials;          // of rejected status patches
        int64_t retry_due_ns, retried_ns; // see status.h
        struct rival *rival;              // see status.h; NULL: no sign of another writer of the status; owned
        struct shared_text final_status;  // of a mirror that is gone, until the host has written the status
        uint32_t retry_seen;              // hash of the value of the retry annotation, 0: none
        uint32_t written_source;          // hash of the inputs of the last accepted status patch
        uint32_t status_seen;             // hash of the last judged status, see rival.c
        uint32_t conflict_hash;           // hash of a status with a conflict at the write
        bool uncompared;                  // the server's result of an accepted status is not compared yet
        bool status_is_own;               // this host wrote the status, by the answer to the write
    } status;
    struct workload_words {      // see words/
        int64_t until_ns;        // no deletion of the failed mirror before; 0: no read
        uint32_t asked, running; // the last attempt with a read; seen before the end. 0: none
    } words;
    char uid[STORE_UID_MAX];
};

// The place of a namespace/name: the present workload, the mirrors of this one and of earlier ones, and the requests
// about these.
struct entry {
    struct timer timer; // of the next reconciliation; first, so that a timer is its entry
    struct entry *next_queued;
    struct workload *workload;       // never NULL: without a delegated workload, the shared empty one
    struct mirror_facts *mirrors;    // see entry_mirrors
    struct fair_node node;           // for writes to the workload
    struct fair_node placement_turn; // in placement_queue
    struct needs *needs;             // see dependencies/; NULL: none
    uint64_t deleted_uid;            // hash of the uid of the last workload with an event of the deletion, 0: none
    int64_t read_at_ns;              // earliest read of the workload
    const char *why;                 // of the last decision; static
    uint32_t kind, epoch;
    uint32_t read_term; // see shard_is_fresh
    uint16_t name_at;
    uint16_t read_failures; // consecutive ones
    uint8_t lookups;        // requests in flight that block no other request
    bool busy : 1;          // a write or a read of the workload is in flight
    bool queued : 1, blocked : 1;
    bool deletion_is_certain : 1; // deleted_uid is certain
    bool awaits_namespace : 1;    // see namespace_retry_wait
    char key[];                   // "namespace/name"; the name begins at name_at
};

// A parsed object in the cache.
struct parsed {
    struct doc *doc; // NULL: the slot is free
    struct json *tree;
    uint32_t newer, older; // slots
};

struct store {
    struct map *maps; // one a kind
    size_t n_kinds;
    struct parsed *parsed; // [1] to [max_trees]; [0] is the end of their ring
    size_t trees, max_trees;
    size_t entries;
    struct workload none; // shared by entries without a workload; read only
};

struct error *store_init(struct store *store, size_t n_kinds, size_t max_trees, uint64_t seed);
// Reserves tables for more kinds, which exist once n_kinds is set. False: out of memory.
bool store_grow(struct store *store, size_t n_kinds, uint64_t seed);
void store_free(struct store *store);

struct entry *store_get(const struct store *store, size_t kind, const char *namespace_, const char *name);
// Finds or creates; NULL when out of memory.
struct entry *store_make(struct store *store, size_t kind, const char *namespace_, const char *name);
void store_remove(struct store *store, struct entry *entry); // frees the entry

// The next entry of all kinds, from a zeroed cursor on; NULL: none. A loop may remove entries, but not add any.
struct store_cursor {
    size_t kind, slot;
};
struct entry *store_next(const struct store *store, struct store_cursor *cursor);

// A new uid: begins a workload; false: out of memory. The end of a workload frees the whole state.
bool store_begin_workload(struct entry *entry);
void store_end_workload(struct store *store, struct entry *entry);

// The first mirror, and the next one after `mirror`; or NULL.
struct mirror *entry_mirrors(const struct entry *entry);
struct mirror *mirror_next(const struct mirror *mirror);
struct mirror *entry_mirror(const struct entry *entry, size_t cluster); // or NULL
struct mirror *entry_make_mirror(struct entry *entry, size_t cluster);  // NULL when out of memory
void entry_remove_mirror(struct store *store, struct entry *entry, struct mirror *mirror);
const char *entry_name(const struct entry *entry);
static inline struct entry *entry_of_key(const char *key) {
    return (struct entry *)(void *)(key - offsetof(struct entry, key));
}
// The namespace, "" if there is none, into `out` (254 bytes).
void entry_namespace(const struct entry *entry, char out[254]);

// Stores the workload or mirror; takes `object`; NULL clears the doc.
void entry_set_object(struct store *store, struct entry *entry, struct object *object);
void mirror_set_object(struct store *store, struct entry *entry, struct mirror *mirror, struct object *object);
// Clears the doc and returns the text, which the caller clears.
struct shared_text entry_take_text(struct store *store, struct entry *entry);
struct shared_text mirror_take_text(struct store *store, struct mirror *mirror);
// The parsed text, owned by the caller. NULL: empty, or out of memory.
struct json *store_parse(const struct shared_text *text);
// The tree, parsed on demand; valid until the use of a few others. NULL: empty, or out of memory.
struct json *doc_tree(struct store *store, struct doc *doc);
// The resourceVersion; valid as long as the tree. "" if empty.
const char *doc_version(struct store *store, struct doc *doc);
