// SPDX-License-Identifier: Apache-2.0
// What the engine keeps: one entry for each namespace/name of a kind that is, or has, something of ours, with the
// objects as compact text. Parsed trees are kept for the objects that were looked at last.
#ifndef WHARF_ENGINE_STORE_H
#define WHARF_ENGINE_STORE_H

#include "core/base/heap.h"
#include "core/base/map.h"
#include "core/engine/decide.h"
#include "core/engine/throttle.h"
#include "core/kube/object.h"

#include <wharf/adapter.h>

#define STORE_UID_MAX 40 // a uid is 36 characters; longer ones are refused

#define STORE_VERSION_NONE "0" // a resourceVersion that is older than all
#define STORE_VERSION_MAX 24   // a resourceVersion is a decimal of up to 20 digits; of longer ones the tree is asked

struct doc {
    char *text; // NULL: nothing
    uint32_t len;
    uint32_t slot;                   // of the store's parsed trees, 0: none
    char version[STORE_VERSION_MAX]; // resourceVersion; "" if it is longer
};

// The object of the entry's name in one worker, or what is known of its absence.
struct mirror {
    struct mirror_facts facts; // first, so that the list of facts is the list of mirrors
    struct doc doc;            // the mirror as last seen; nothing: not seen, or gone
    int64_t unanswered_ns; // when a create of this attempt was last not answered: it may take effect later; 0: never
    int64_t orphan_since_ns;
    int64_t seen_ns;            // when the event that made the status due came
    uint64_t carry_hash;        // of what the host carries (labels, annotations, spec generation), to notice changes
    uint64_t noop_patch_hash;   // hash of a patch that was accepted and changed nothing
    uint64_t denied_patch_hash; // hash of the patch that was refused last; 0: none
    int64_t denied_until_ns;    // no such patch before that
    char *record;               // what the host knows of what was carried (record.h); NULL: nothing but the annotation
    struct throttle updates;    // patches of it though the workload has not changed
    uint32_t patched_source;    // of what of the workload the last accepted patch was made
    uint32_t counted_bytes;     // bytes in orphan_count
    uint32_t epoch;             // of the list in which, or after which, a watch or list told of it
    uint32_t created_reported;  // the last one of which people were told that it was created
    uint16_t failures, refusals, denials;
    uint8_t orphan;                   // enum orphan_state, see orphans.c
    uint8_t carry;                    // enum carry_state, since either side changed
    bool released : 1;                // somebody wrote that it may be deleted
    bool unproven_reported : 1;       // see decide_is_held; told
    bool looked_up : 1;               // by name, and it was not there
    bool was_of_workload : 1;         // of one that this process has seen
    bool unmarked : 1;                // it is known by its uid: it has not all its marks, and watches may not show it
    bool outdated : 1;                // it went away while a request about it was in flight
    bool had_status : 1;              // this object had one, so that an empty one is an emptied one
    bool record_unsure : 1;           // a patch was sent since, and nobody knows what became of it
    bool stop_only : 1;               // a patch that suspends was refused: that alone first
    bool suspension_reported : 1;     // people were told that somebody in the worker suspended it
    char uid[STORE_UID_MAX];          // of the object itself
    char workload_uid[STORE_UID_MAX]; // from its mark
};

struct entry {
    struct timer timer; // when to look again; first, so that a timer is its entry
    struct entry *next_queued;
    struct mirror_facts *mirrors; // see entry_mirrors
    struct workload_facts facts;
    struct doc doc; // the workload; nothing: there is none of ours
    uint64_t carry_hash, noop_patch_hash;
    uint64_t deleted_uid;        // hash of the uid of the last workload that was seen being deleted, 0: none
    uint64_t denied_status_hash; // hash of the status patch that was refused last; 0: none
    int64_t denied_until_ns;     // no such patch before that
    struct throttle denials;     // of such patches, whatever is in them
    int64_t generation;
    int64_t waiting_since_ns;
    const char *why;    // of the last decision; static
    char *final_status; // text of a mirror that had finished when it went away, until its status was written; or NULL
    uint32_t last_note; // the last thing that people were told, hashed
    uint32_t kind, epoch;
    uint32_t active_in;        // the worker whose active workloads this one counts among, 0: none
    uint32_t written_source;   // of what the last accepted status patch was made
    uint32_t conflict_hash;    // hash of a status that could not be written because somebody else had written
    uint32_t waiting_reported; // for what of it they were told, a bit for each
    uint32_t placed_attempt;   // whose annotations this process wrote, 0: none
    uint32_t requested_cluster, requested_attempt; // of the last write of the annotations, whatever came of it
    uint16_t failures, name_at;
    uint16_t refusals;   // in a row, by its adapter or for its size
    uint8_t phase;       // wharf_phase_kind
    uint8_t lookups;     // requests in flight that nothing waits for
    uint8_t waiting;     // enum waiting: for what
    uint8_t kueue_asked; // how often it was asked whether Kueue owns it, see kueue.h
    uint8_t kueue;       // enum kueue
    bool queued : 1, blocked : 1;
    bool unsure : 1;            // an earlier write was not answered
    bool reported : 1;          // people were told something since it waits
    bool deleted_surely : 1;    // and there is no reason to doubt it
    bool unsealed_reported : 1; // that an object with our marks and no seal was seen
    char uid[STORE_UID_MAX];
    char key[]; // "namespace/name"; name_at is where the name begins
};

// A parsed object, of those that were looked at last.
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
};

struct error *store_init(struct store *store, size_t n_kinds, size_t max_trees, uint64_t seed);
void store_free(struct store *store);

struct entry *store_get(const struct store *store, size_t kind, const char *namespace_, const char *name);
// Finds or makes; NULL when out of memory.
struct entry *store_make(struct store *store, size_t kind, const char *namespace_, const char *name);
void store_remove(struct store *store, struct entry *entry); // frees it

// The first one, and the one after `mirror`; or NULL.
struct mirror *entry_mirrors(const struct entry *entry);
struct mirror *mirror_next(const struct mirror *mirror);
struct mirror *entry_mirror(const struct entry *entry, size_t cluster); // or NULL
struct mirror *entry_make_mirror(struct entry *entry, size_t cluster);  // NULL when out of memory
void entry_remove_mirror(struct store *store, struct entry *entry, struct mirror *mirror);
const char *entry_name(const struct entry *entry);
// The namespace, "" if there is none, into `out` (254 bytes).
void entry_namespace(const struct entry *entry, char out[254]);

// What is kept of the workload or of a mirror: `object` is taken; NULL: nothing.
void entry_set_object(struct store *store, struct entry *entry, struct object *object);
void mirror_set_object(struct store *store, struct mirror *mirror, struct object *object);
// As nothing is set; the text that was there is the caller's to free.
char *entry_take_text(struct store *store, struct entry *entry);
char *mirror_take_text(struct store *store, struct mirror *mirror);
// The tree, parsed again if it must be; valid until the store is used for more than a few others. NULL: nothing, or no
// memory.
struct json *doc_tree(struct store *store, struct doc *doc);
// Its resourceVersion; valid as the tree is. "" for nothing.
const char *doc_version(struct store *store, struct doc *doc);
// Forgets all trees but the `keep` looked at last.
void store_forget_trees(struct store *store, size_t keep);

#endif
