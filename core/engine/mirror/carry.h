// SPDX-License-Identifier: Apache-2.0
// Carries changes after the creation from a workload to the mirror: labels, annotations, and the spec fields that the
// kind names. Functions return false when out of memory.
#pragma once

#include "core/base/text.h"
#include "core/json/json.h"
#include "core/kube/client/types.h"

#include <wharf/adapter.h>

// The record of a mirror: the carried fields, and the writer that controls `suspend`. The annotation wharf.dev/carried
// and the host's memory keep the record as hashes of pointers (48 bits each, 8 characters), since an object may have
// tens of thousands of labels:
//
//   v2:<flags>:<carried now>:<values of spec fields, as last carried>:<carried earlier and removed since>
//
// Flags: r or s, the host last resumed or suspended the mirror; w, the worker suspended the mirror; h, that happened
// before; k, the host created the mirror without Kueue's labels. Version 0.1 wrote a list of pointers, which the
// host still reads. docs/lifecycle.md describes the consequences.
#define RECORD_GONE_MAX 256 // removed pointers in a record

enum record_word { RECORD_UNKNOWN, RECORD_RUNS, RECORD_SUSPENDED, RECORD_WORKER };

struct record_set {
    uint64_t *items;
    size_t count, capacity;
};

struct record {
    enum record_word word; // the last writer of `suspend`
    bool shared;           // RECORD_WORKER once: the worker owns fields until the workload's own value changes
    bool bare;             // made without Kueue's labels
    bool old;              // read from a list of pointers
    struct record_set carried, values, gone;
};

void record_cleanup(struct record *record);
#define AUTO_RECORD __attribute__((cleanup(record_cleanup))) struct record

uint64_t record_pointer(const char *pointer);
uint64_t record_value(const char *pointer, const struct json *value);

bool record_add(struct record_set *set, uint64_t hash);

// Merges the record that the host knows (NULL: none) and the annotation (NULL: none): carried pointers and a past
// suspension from both, the rest from the first that exists. A host's patch that arrives late brings its own
// record. `unsure`: the host does not know the outcome of its last patch, and the annotation decides.
bool record_read(struct record *record, const char *known, const char *annotation, bool unsure);

// Whether the host carries or carried the pointer. After record_read.
bool record_knows(const struct record *record, uint64_t pointer);
bool record_has_value(const struct record *record, uint64_t value);

// Whether all of `some` are among `set`, a sorted set.
bool record_has_all(const struct record_set *set, const struct record_set *some);
// Whether `record`, after record_read, contains everything of `other` but the values.
bool record_covers(const struct record *record, const struct record *other);

// Writes `record`, the successor of `before`: pointers that only `before` carried count as removed.
bool record_print(struct record *record, const struct record *before, struct buffer *out);

// A worker accepts or rejects a patch as a whole. After a rejection the host sends the change in pieces, one at a time,
// and holds back the rejected pieces only: until they differ, or until the backoff is over and the host tries the whole
// again.
#define REJECTIONS_MAX 32 // rejected pieces in memory; further ones replace the oldest

enum piece {
    PIECE_WHOLE,
    PIECE_SUSPEND, // the kind's `suspend` field alone
    PIECE_RECORD,  // the host's own labels and annotations
    PIECE_KEYS,    // all labels and annotations
    PIECE_SPEC,    // all else but `suspend`
    PIECE_FIELD    // the kind's first carried field; the others follow
};

// The worker's rejections of the changes of one mirror.
struct rejections {
    int64_t until_ns; // the host then sends the whole again
    enum reason reason;
    char *message;   // of the last rejection; NULL: out of memory
    bool whole;      // the worker rejects any change: the host sends no pieces
    bool reported;   // since the last rejection
    uint64_t source; // carry_hash of the workload for `sent`
    uint32_t sent;   // pieces
    uint32_t n;      // of all
    uint64_t hashes[REJECTIONS_MAX];
};

// The first rejection makes *refused.
bool rejections_add(struct rejections **refused, uint64_t hash, const struct response *response, int64_t until_ns);
void rejections_hold(struct rejections *refused, uint64_t hash);
bool rejections_has(const struct rejections *refused, uint64_t hash); // NULL is allowed
void rejections_end(struct rejections **refused);                     // frees

// Counts one more. False: after so many pieces for the same workload, another writer must revert the changes.
bool rejections_may_send(struct rejections *refused, const wharf_kind *kind, uint64_t source);

// The number of pieces, and the piece in place `i`. A change that suspends the mirror comes first. A change that
// resumes the mirror comes after the fields, some of which may change only in a suspended mirror.
size_t pieces_count(const wharf_kind *kind);
enum piece pieces_at(const wharf_kind *kind, size_t i, bool resumes);

// `mirror` with this piece of `desired`. NULL when out of memory.
struct json *piece_cut(const wharf_kind *kind, const struct json *mirror, const struct json *desired, enum piece piece);
// Whether the piece has annotations, and so the record.
bool piece_has_record(enum piece piece);
// Appends the name to a list for people.
void piece_name(const wharf_kind *kind, enum piece piece, struct buffer *out);

#define CARRY_INDEXES 4

struct carry_indexes { // of the arrays used last
    const struct json *of[CARRY_INDEXES];
    struct json_index index[CARRY_INDEXES];
    size_t next;
};

// Writes the carried fields into `to`, and into the record `after`.
struct carrying {
    const wharf_kind *kind;
    const struct json *from;     // the workload
    const struct json *mirror;   // the present one; NULL before the create
    struct json *to;             // the desired mirror
    const struct record *before; // the known record of the mirror
    struct record *after;
    bool held; // suspended in the worker: `suspend` is not changed
    // Internal.
    bool keys;        // labels and annotations, not spec fields
    bool applies;     // the rule of the present pattern
    struct json *map; // of the labels or annotations in `to`
    const char *key;  // the member that matches array items
    struct carry_indexes indexes;
};

bool carry_keys(struct carrying *carrying); // labels and annotations
// Records the carried labels and annotations that are in `to`.
bool carry_record_keys(struct carrying *carrying);
bool carry_spec(struct carrying *carrying);
// Records the fields of carry_spec, if `to` is a copy of `from`.
bool carry_record(struct carrying *carrying);
// Restores the worker's fields after the adapter's update.
bool carry_give_back(struct carrying *carrying);
// Records the labels, annotations and fields of carry_spec that the adapter's update left in `to`.
bool carry_record_changes(struct carrying *carrying);

// Whether mirrors of the kind never have the field: managedBy, or a removed field.
bool carry_is_removed(const wharf_kind *kind, const char *pointer);
// Member `key` of `object`, created unless an object. NULL for NULL, and when out of memory.
struct json *carry_member(struct json *object, const char *key);
struct json *carry_metadata(struct json *object, const char *map); // "labels" or "annotations"
// The first label, or the first annotation; NULL: none.
struct json *carry_first(const struct json *object, const char *map);
// Copies all members but metadata and status.
bool carry_rest(const struct json *from, struct json *to);

// A hash of the immutable fields, which are neither carried nor removed: a change there cannot reach an existing
// mirror. An annotation of the mirror. 0 when out of memory.
uint64_t carry_immutable_hash(const wharf_kind *kind, const struct json *workload);
// The immutable fields that differ between workload and mirror: a few pointers, separated by ", ".
bool carry_immutable_differs(const wharf_kind *kind, const struct json *workload, const struct json *mirror,
                             struct buffer *out);
