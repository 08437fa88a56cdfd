// SPDX-License-Identifier: Apache-2.0
// The engine's store: one entry per kind and namespace/name with a delegated workload or a mirror; objects are kept as
// compact text, of which a workload and its mirrors share most, and parsed trees of the ones used last.
#ifndef WHARF_ENGINE_STORE_H
#define WHARF_ENGINE_STORE_H

#include "core/base/heap.h"
#include "core/base/map.h"
#include "core/base/shared_text.h"
#include "core/engine/decide/decide.h"
#include "core/engine/mirror/pieces.h"
#include "core/engine/store/attempts.h"
#include "core/engine/store/fair_queue.h"
#include "core/engine/store/throttle.h"
#include "core/kube/object/object.h"

#include <wharf/adapter.h>

#define STORE_UID_MAX 40 // a uid has 36 characters; longer ones are rejected

#define STORE_VERSION_NONE "0" // a resourceVersion that is older than all
#define STORE_VERSION_MAX 24   // a resourceVersion is a decimal of up to 20 digits; longer ones are read from the tree

struct doc {
    struct shared_text text;         // none: nothing
    uint32_t slot;                   // of the store's parsed trees, 0: none
    char version[STORE_VERSION_MAX]; // resourceVersion; "" if it is longer
};

#define STATUS_TIERS 3
struct status_budget {             // see status_budget.h
    int64_t full_ns[STATUS_TIERS]; // of the buckets of writes
    uint32_t first_attempt;        // whose first status was written,
    uint32_t final_attempt;        // and the final one; 0: none
    bool reported;                 // that its statuses are delayed
};

struct kueue_status; // kueue_status.h; free()
struct rival;        // rival_state.h; free()

// The object of the entry's name in one worker, or what is known about its absence.
struct mirror {
    struct mirror_facts facts; // first, so that the list of facts is the list of mirrors
    struct fair_node node;     // for requests about it
    struct doc doc;            // the mirror as last seen; empty: not seen, or gone
    int64_t orphan_since_ns;
    int64_t created_ns;         // wall clock, as it says itself; 0: not known
    int64_t started_ns;         // the same, once it has started
    int64_t seen_ns;            // when the event that made the status due came
    uint64_t carry_hash;        // of what the host carries (labels, annotations, spec generation), to notice changes
    uint64_t noop_patch_hash;   // hash of a patch that was accepted and changed nothing
    struct rejections *refused; // of its changes, by the worker (pieces.h); NULL: nothing
    struct kueue_status *kueue_status; // of its worker's Kueue; NULL: it has no Workload there
    char *reduced;                     // how the copied status was reduced, and why (status_limit.h); NULL: it is whole
    char *record;               // what the host knows of what was carried (record.h); NULL: nothing but the annotation
    struct throttle updates;    // patches of it though the workload has not changed
    uint32_t patched_source;    // hash of the workload that the last accepted patch was made from
    uint32_t unchecked_source;  // the same of a create whose answer was lost, or came after the workload had changed:
                                // the fields that are kept are to be compared
    uint32_t counted_bytes;     // bytes in orphan_count
    uint32_t excess;            // the same, see large_mirrors.h
    uint32_t epoch;             // of the list in which or since which it was seen
    uint32_t created_reported;  // the last attempt reported as created
    uint32_t namespace_retry_s; // when it was last tried again since a namespace changed, in monotonic seconds
    uint16_t failures, refusals, denials;
    uint8_t orphan;                   // enum orphan_state, see orphans.c
    uint8_t carry;                    // enum carry_state, since either side changed
    bool released : 1;                // annotated for deletion by an operator
    bool unproven_reported : 1;       // see decide_is_held; reported
    bool was_of_workload : 1;         // of one that this process has seen
    bool unmarked : 1;                // identified by its uid: it lacks marks, and watches may not show it
    bool outdated : 1;                // it was deleted while a request about it was in flight
    bool fenced_reported : 1;         // that a guard suspended it
    bool had_status : 1;              // it had a status, so an empty one was cleared
    bool record_unsure : 1;           // the outcome of a later patch is unknown
    bool dropping_reported : 1;       // the worker drops what is carried: reported
    bool stub : 1;                    // doc is one (object.h)
    bool suspension_reported : 1;     // its suspension in the worker was reported
    bool uncompared : 1;              // an accepted patch: with what the server made of it (noop_patch_hash)
    bool tried : 1;                   // its create was tried, and the worker keeps all fields (dropped.h)
    bool has_run : 1;                 // something of it has run since it was created or last suspended there
    char uid[STORE_UID_MAX];          // of the object itself
    char workload_uid[STORE_UID_MAX]; // from its mark
};

// One life of a delegated workload: from its first sight until it is deleted, no longer delegated, or made anew.
struct workload {
    struct workload_facts facts;
    struct doc doc;
    struct attempt_history attempts;
    struct status_budget budget;
    struct last_change change;
    uint64_t carry_hash, noop_patch_hash;
    uint64_t waiting_reported;   // reasons reported, a bit each
    uint64_t denied_status_hash; // hash of the last rejected status patch; 0: none
    int64_t denied_until_ns;     // not sent again before that
    struct throttle denials;     // of rejected status patches
    int64_t generation;
    int64_t waiting_since_ns;
    int64_t retry_due_ns, retried_ns;  // see retry.h
    int64_t loss_told_ns;              // since when its worker is lost, as was told (placement_events.c); 0: it was not
    int64_t runs_since_ns;             // in runs_in, see completions.h
    int64_t ready_ns;                  // since when it could be placed for the first time; 0: it is, or is suspended
    struct capacity_claim *claim;      // see capacity.h; NULL: none
    struct unknown_worker *unknown;    // that its annotation names, see unknown.h; NULL: none
    struct unstarted_facts *unstarted; // see unstarted.h; NULL: none, owned
    struct kueue_status *kueue_status; // of the management cluster's Kueue; NULL: it has no Workload there
    struct rival *rival;               // see rival.h; NULL: no other writer of its status was suspected; owned
    struct shared_text final_status;   // of a mirror that had finished when it was deleted, until its status is written
    uint32_t last_note;                // hash of the last Event
    uint32_t retry_seen;               // hash of the value of the annotation for it, 0: none
    uint32_t active_in;                // the worker whose active workloads include it, 0: none
    uint32_t written_source;           // hash of the inputs of the last accepted status patch
    uint32_t status_seen;              // hash of the status that was judged last, see rival.c
    uint32_t conflict_hash;            // hash of a status whose write conflicted
    uint32_t placed_attempt;           // the attempt this process wrote into the annotations, 0: none
    uint32_t requested_cluster, requested_attempt; // of the last write of the annotations, whatever its outcome
    uint32_t accepted_cluster, accepted_attempt;   // see own_record.h; 0: none
    uint32_t runs_in;                              // the worker; 0: it is not compared
    uint16_t failures;
    uint16_t refusals;   // consecutive ones, by its adapter or for its size
    uint8_t phase;       // wharf_phase_kind
    uint8_t waiting;     // enum waiting: for what
    uint8_t kueue_asked; // requests whether Kueue owns it, see kueue.h
    uint8_t kueue;       // enum kueue
    uint8_t unplaced;    // enum waiting: as what it is counted among the unplaced ones
    bool counted_unplaced : 1;
    bool unsure : 1;                    // an earlier write got no answer
    bool reported : 1;                  // something was reported since it began to wait
    bool unknown_unfinished : 1;        // counted there
    bool unschedulable_told : 1;        // since it began to wait
    bool labelled : 1;                  // its label has named its cluster
    bool listed_older : 1;              // the last list had an older version of it, see stale_version_must_read
    bool uncompared : 1;                // an accepted status: with what the server made of it (noop_patch_hash)
    bool stub : 1;                      // doc is one (object.h)
    bool has_placement_annotations : 1; // it has annotations that say where it may go
    bool had_choice : 1;                // several workers could have got it
    bool start_seen : 1;                // in runs_in
    bool names_queue : 1;               // it has Kueue's label for its queue
    bool status_is_own : 1;             // that is this host's, by the answer to its write
    bool unsealed_reported : 1;         // an unsealed object with the host's marks was reported
    char uid[STORE_UID_MAX];
};

// The place of a namespace/name: the workload that has it now, the mirrors of this one and of earlier ones, and the
// requests about them.
struct entry {
    struct timer timer; // of the next reconciliation; first, so that a timer is its entry
    struct entry *next_queued;
    struct workload *workload;       // never NULL: without a delegated one, an empty one that all such entries share
    struct mirror_facts *mirrors;    // see entry_mirrors
    struct fair_node node;           // for writes to the workload
    struct fair_node placement_turn; // in placement_queue
    uint64_t deleted_uid;            // hash of the uid of the last workload whose deletion was seen, 0: none
    int64_t read_at_ns;              // the workload is not read before that
    const char *why;                 // of the last decision; static
    uint32_t kind, epoch;
    uint32_t read_term; // see shard_is_fresh
    uint16_t name_at;
    uint16_t read_failures; // consecutive ones
    uint8_t lookups;        // requests in flight that block nothing
    bool busy : 1;          // a write to the workload, or a read of it, is in flight
    bool queued : 1, blocked : 1;
    bool deletion_is_certain : 1; // deleted_uid is certain
    bool awaits_namespace : 1;    // in namespace_waiters
    char key[];                   // "namespace/name"; name_at is where the name begins
};

// A parsed object, of those used last.
struct parsed {
    struct doc *doc; // NULL: the slot is free
    struct json *tree;
    uint32_t newer, older; // slots, 0: none
};

struct store {
    struct map *maps; // one a kind
    size_t n_kinds;
    struct parsed *parsed;         // [1] to [max_trees]
    uint32_t newest, oldest, free; // slots; free ones are linked by `older`
    size_t trees, max_trees;
    size_t entries;
    struct workload none; // of entries without a workload: nothing is written to it
};

struct error *store_init(struct store *store, size_t n_kinds, size_t max_trees, uint64_t seed);
// Room for more kinds; they are there once n_kinds is set. False: out of memory.
bool store_grow(struct store *store, size_t n_kinds, uint64_t seed);
void store_free(struct store *store);

struct entry *store_get(const struct store *store, size_t kind, const char *namespace_, const char *name);
// Finds or creates; NULL when out of memory.
struct entry *store_make(struct store *store, size_t kind, const char *namespace_, const char *name);
void store_remove(struct store *store, struct entry *entry); // frees it

// A workload of the entry begins, whose uid was seen for the first time; false: out of memory. It ends: what it has is
// freed, and nothing of it is left for the next one of its name.
bool store_begin_workload(struct entry *entry);
void store_end_workload(struct store *store, struct entry *entry);

// The first one, and the one after `mirror`; or NULL.
struct mirror *entry_mirrors(const struct entry *entry);
struct mirror *mirror_next(const struct mirror *mirror);
struct mirror *entry_mirror(const struct entry *entry, size_t cluster); // or NULL
struct mirror *entry_make_mirror(struct entry *entry, size_t cluster);  // NULL when out of memory
void entry_remove_mirror(struct store *store, struct entry *entry, struct mirror *mirror);
const char *entry_name(const struct entry *entry);
// The namespace, "" if there is none, into `out` (254 bytes).
void entry_namespace(const struct entry *entry, char out[254]);

// Stores the workload or mirror: `object` is taken; NULL clears it.
void entry_set_object(struct store *store, struct entry *entry, struct object *object);
void mirror_set_object(struct store *store, struct entry *entry, struct mirror *mirror, struct object *object);
// Clears it and returns the text, to be cleared by the caller.
struct shared_text entry_take_text(struct store *store, struct entry *entry);
struct shared_text mirror_take_text(struct store *store, struct mirror *mirror);
// The value of such a text, owned by the caller. NULL: none, or out of memory.
struct json *store_parse(const struct shared_text *text);
// The tree, parsed again if needed; valid until a few others were used. NULL: empty, or out of memory.
struct json *doc_tree(struct store *store, struct doc *doc);
// Its resourceVersion; valid as long as the tree. "" if empty.
const char *doc_version(struct store *store, struct doc *doc);

#endif
