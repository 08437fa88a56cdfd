// SPDX-License-Identifier: Apache-2.0
// Computes the mirror of a workload, the patch that keeps the mirror up to date, and the status for the workload,
// with the adapter's part: JSON in, JSON out. Also the seal of a mirror.
#pragma once

#include "core/adapter/adapters.h"
#include "core/adapter/services.h"
#include "core/engine/continuity/values.h" // further marks
#include "core/kube/client/types.h"

#define MARK_ORIGIN "wharf.dev/origin"   // label of a mirror: the host
#define MARK_UID "wharf.dev/uid"         // label of a mirror: uid of the workload
#define MARK_KIND "wharf.dev/kind"       // label of a mirror: plural.group
#define MARK_ATTEMPT "wharf.dev/attempt" // annotation of both
#define MARK_CLUSTER "wharf.dev/cluster" // annotation and label of a workload
#define MARK_RETRY "wharf.dev/retry"     // annotation of a workload, see retry_if_due
#define MARK_CARRIED "wharf.dev/carried" // annotation of a mirror: see struct record
#define MARK_VERSION "wharf.dev/version" // annotation of a mirror: resourceVersion of the workload at the create
#define MARK_NAMESPACE                                                                                                 \
    "wharf.dev/namespace"               // annotation of a mirror: of the workload, where the mirror's has another name
#define MARK_IMMUTABLE "wharf.dev/rest" // annotation of a mirror: hash of the workload's immutable fields at the create

#define MARK_RELEASE "wharf.dev/release"   // annotation of a mirror, "true": an operator releases the mirror
#define MARK_FINALIZER "wharf.dev/status"  // finalizer of a mirror: the final status is not written yet
#define MARK_FENCED "wharf.dev/fenced"     // annotation of a mirror: when the worker's guard suspended the mirror
#define MARK_TENANT "wharf.dev/tenant"     // annotation of a worker's namespace: the uid of that of the tenant
#define MARK_SEAL "wharf.dev/seal"         // annotation of a mirror: a host with the key wrote the other marks
#define MARK_PROGRESS "wharf.dev/progress" // annotation of a mirror, see continuity.h; of a workload: of the children
#define MARK_RETRIED "wharf.dev/retried"   // annotation of a workload: failures of workers, see retryElsewhere
#define MIRROR_ATTEMPT_MAX INT32_MAX

enum progress_mark { // MARK_PROGRESS of a mirror, see continuity.h
    PROGRESS_NONE,   // no annotation: there was nothing to give
    PROGRESS_OWED,   // the mirror is suspended, and gets the progress
    PROGRESS_GIVEN,  // the mirror had the progress when it was resumed
    PROGRESS_REFUSED // the worker refused or reset the progress: the attempt started from nothing
};

// The API server's limit (apimachinery TotalAnnotationSizeLimitB).
#define MIRROR_ANNOTATIONS_MAX ((size_t)256 * 1024) // keys and values

// The seal: an HMAC-SHA256 over the marks and the cluster. Only a host with the key can create an object that counts as
// a mirror, and copies in other clusters do not count. One thread at a time may use the keys.
#define SEAL_KEY_MIN 32 // minimum bytes of a key
#define SEAL_KEY_MAX 256
#define SEAL_TEXT_MAX 96 // "v1:<key id, 8 hex digits>:<64 hex digits>" with the NUL

// The content of a seal. Strings are not NULL.
struct seal_subject {
    const char *origin;
    const char *kind; // plural.group
    const char *namespace_, *name;
    const char *uid;     // of the workload
    const char *cluster; // the worker's name in the configuration
    uint32_t attempt;
};

enum seal_verdict {
    SEAL_VALID,   // by the first key
    SEAL_OLD_KEY, // by a further key: valid, and renewed with the next patch
    SEAL_MISSING, // the object has no seal
    SEAL_INVALID  // no key verifies the seal
};

struct seal_keys;
// `keys`: raw bytes. The first key signs, and all keys verify. With `n` 0 mirrors have no seal.
struct error *seal_keys_new(const void *const *keys, const size_t *lens, size_t n, struct seal_keys **out);
void seal_keys_free(struct seal_keys *keys);      // wipes the keys; NULL is allowed
bool seal_keys_any(const struct seal_keys *keys); // false for NULL

// False: no key, or out of memory.
bool seal_make(const struct seal_keys *keys, const struct seal_subject *subject, char out[SEAL_TEXT_MAX]);
// `text` may be NULL. In constant time. Requires a key.
enum seal_verdict seal_check(const struct seal_keys *keys, const struct seal_subject *subject, const char *text);

// A mirror's record as the host keeps it, and the next version.
struct mirror_record {
    const char *known;                // the record that the host knows; NULL: the host knows only the annotation
    bool unsure;                      // the host does not know the outcome of a later patch: the annotation decides
    bool bare;                        // mirror_make: without Kueue's labels
    const struct rejections *refused; // mirror_patch: the worker's rejections; NULL: none
    char *next;                       // out: the record after the patch, free(); NULL: none
    char *held;               // out: names of the pieces held back, free(); NULL unless there is nothing else to send
    uint16_t piece;           // out: enum piece of the patch
    bool alone;               // out: the patch is about the record only
    bool stops;               // out: the patch suspends the mirror
    bool suspended_in_worker; // out: the worker suspended the mirror
};

void mirror_record_cleanup(struct mirror_record *record); // frees the results; NULL is allowed
#define AUTO_MIRROR_RECORD __attribute__((cleanup(mirror_record_cleanup))) struct mirror_record

// Whether a mirror has all carried fields of the workload.
enum carry_state {
    CARRY_UNKNOWN, // not compared since either side changed
    CARRY_COMPLETE,
    CARRY_PARTIAL
};

// The input of the functions below.
struct mirror_context {
    const struct kind *kind;
    const char *origin;
    struct adapter_call *call; // begun; the answer says why a result is not WHARF_OK
    const struct json *workload;
    const struct json *mirror; // NULL where there is none
    uint32_t attempt;
    enum progress_mark progress;   // mirror_make: OWED also suspends; mirror_patch: the new mark; NONE: no change
    bool finalizer;                // create mirrors with MARK_FINALIZER
    bool suspended_by_kueue;       // the worker's Kueue controls `suspend` of the mirror, see kueue_status_governs
    bool had_status;               // the mirror had a status: an empty one means cleared
    bool unfinished;               // the workload has not finished, as far as this host is concerned; false: not known
    struct mirror_record *record;  // NULL: not known, not requested
    uint8_t *carry;                // enum carry_state of the mirror: read, and set once known; NULL: compare each time
    const struct seal_keys *seals; // NULL, or without a key: mirrors have no seal
    const char *cluster;           // of the mirror, present or future; used with keys only
    bool renamed;                  // the namespace has another name there
};

// The functions return the adapter's result, or WHARF_RETRY when out of memory.
//
// The object to create.
wharf_result mirror_make(const struct mirror_context *context, struct json **out);

// The merge patch that carries changes to the mirror, with metadata.uid; NULL in *patch if there is nothing to send.
// With WHARF_OK the call's answer may have a message about changes that the host cannot carry.
wharf_result mirror_patch(const struct mirror_context *context, struct json **patch);
// A hash of a patch without the precondition, which changes with each retry. Never 0.
uint64_t mirror_patch_hash(const struct json *patch);

// Whether there is nothing to carry but the record, and no change of the immutable fields. False also when unknown.
// Compares only for CARRY_UNKNOWN.
bool mirror_is_complete(const struct mirror_context *context);

// The merge patch for the workload's status, {"metadata": {"uid", "resourceVersion"}, "status": {...}}; NULL if there
// is nothing to write. *wanted is the json_hash of the resulting status.
wharf_result mirror_status(const struct mirror_context *context, struct json **patch, uint64_t *wanted);

// The same for a given status.
wharf_result mirror_status_patch(const struct mirror_context *context, const struct json *status, struct json **patch);

// A mirror of this host: the origin, this kind, a workload's uid, an attempt, and no controller owner (controllers copy
// labels to the objects they create).
bool mirror_is_ours(const struct kind *kind, const char *origin, const struct json *object);

// Verifies the seal of an object with the marks of a mirror, seen in `cluster`. Requires a key.
enum seal_verdict mirror_seal(const struct kind *kind, const struct seal_keys *seals, const char *cluster,
                              const struct json *object);

// The attempt by the annotation; 0 unless it is a number from 1 to MIRROR_ATTEMPT_MAX.
uint32_t mirror_attempt(const struct json *object);
enum progress_mark mirror_progress(const struct json *object);
const char *mirror_progress_name(enum progress_mark mark); // "owed"; NULL: none

// True for labels and annotations that are not carried: the host's own and the cluster's.
bool mirror_key_is_private(const char *key);

// A hash of the carried and compared fields: generation, labels and annotations; private keys only for a mirror.
uint64_t mirror_carry_hash(const struct json *object, bool is_mirror);

// Writes context->progress, before the adapter sees the object.
bool mirror_set_progress(const struct mirror_context *context, struct json *object);
// Adds the marks that make an object a mirror of this workload.
bool mirror_set_marks(const struct mirror_context *context, struct json *object);
// WHARF_REFUSED, with the reason, if the annotations of `object` exceed the API server's limit.
wharf_result mirror_check_annotations(const struct mirror_context *context, const struct json *object);
// Requires in a patch that the object still has this uid, and if `as_seen` this resourceVersion.
bool mirror_set_precondition(struct json *patch, const struct json *object, bool as_seen);

// The host's finalizer on mirrors (mirrorFinalizer: true), MARK_FINALIZER: a deleted mirror stays until the host has
// written the final status. docs/lifecycle.md has the guarantees with and without the finalizer.
bool finalizer_is_on(const struct json *mirror);
// The patch that removes the finalizer; NULL: out of memory.
struct json *finalizer_patch_off(const struct json *mirror);

// Carries changes after the creation from a workload to the mirror: labels, annotations, and the spec fields that the
// kind names. Functions return false when out of memory.

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
void rejections_end(struct rejections **refused); // frees

// Counts one more. False: after so many pieces for the same workload, another writer must revert the changes.
bool rejections_may_send(struct rejections *refused, const wharf_kind *kind, uint64_t source);

// Whether the piece has annotations, and so the record.
bool piece_has_record(enum piece piece);

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

// Carries labels and annotations (`of_keys`), or the kind's carried fields.
bool carry_fields(struct carrying *carrying, bool of_keys);
// Records the carried fields if `to` is a copy of `from`.
bool carry_record(struct carrying *carrying);
// Restores the worker's fields after the adapter's update.
bool carry_give_back(struct carrying *carrying);
// Records what carry_fields carries, as far as the adapter left the values in `to`.
bool carry_record_changes(struct carrying *carrying, bool of_keys);

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

#define DROPPED_NAMED 5      // fields named in a message
#define DROPPED_TEXT_MAX 900 // bytes of the message

// Appends "/spec/failurePolicy, /spec/a, and 2 more": the fields of `sent` that `stored` lacks. Servers may drop empty
// values (null, false, 0, "", {}, []). The host compares items of lists by name, or by position in lists of equal
// length. `kind` not NULL: removed fields of the kind do not count. `only_scheduling`: others do not count either.
// `out` may be NULL. Returns the number of fields.
size_t dropped_find(const struct kind *kind, bool only_scheduling, const struct json *sent, const struct json *stored,
                    struct buffer *out);

// Fields that change the scheduling. `in`: the name of the object with the field, or of its list; NULL: the spec.
bool scheduling_is_named(const char *name, const char *in);
// A server may leave out this value, of such a field or of one below. An empty object has a meaning (`gang: {}`).
bool scheduling_is_unset(const char *name, const struct json *value);
// Whether the value, of a member of this name, contains such a field.
bool scheduling_is_below(const struct json *value, const char *name);
// A hash of the names of such fields and of all fields below, without values; 0: the workload has none.
uint64_t scheduling_fingerprint(const struct kind *kind, const struct json *workload);
