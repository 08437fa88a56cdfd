// SPDX-License-Identifier: Apache-2.0
// Computes the mirror of a workload, the patch that keeps it up to date, and the status that is copied back, with the
// adapter's part: JSON in, JSON out.
#pragma once

#include "core/adapter/adapters.h"
#include "core/adapter/services.h"
#include "core/engine/mirror/seal.h"

#define MARK_ORIGIN "wharf.dev/origin"   // label of a mirror: the host that created it
#define MARK_UID "wharf.dev/uid"         // label of a mirror: uid of its workload
#define MARK_KIND "wharf.dev/kind"       // label of a mirror: plural.group
#define MARK_ATTEMPT "wharf.dev/attempt" // annotation of both
#define MARK_CLUSTER "wharf.dev/cluster" // annotation and label of a workload
#define MARK_RETRY "wharf.dev/retry"     // annotation of a workload, see retry.h
#define MARK_CARRIED "wharf.dev/carried" // annotation of a mirror: see record.h
#define MARK_VERSION "wharf.dev/version" // annotation of a mirror: resourceVersion of its workload when it was created
#define MARK_IMMUTABLE "wharf.dev/rest"  // annotation of a mirror: hash of the workload's immutable fields at creation

#define MARK_RELEASE "wharf.dev/release"  // annotation of a mirror, "true": written by an operator to release it
#define MARK_FINALIZER "wharf.dev/status" // finalizer of a mirror: its final status is not written yet
#define MARK_FENCED "wharf.dev/fenced"    // annotation of a mirror: when its worker's guard suspended it
#define MARK_SEAL "wharf.dev/seal" // annotation of a mirror: proves that a host with the key wrote the other marks
#define MIRROR_ATTEMPT_MAX INT32_MAX

// The API server's limit (apimachinery TotalAnnotationSizeLimitB).
#define MIRROR_ANNOTATIONS_MAX ((size_t)256 * 1024) // keys and values

// A mirror's record as the host keeps it, and its next version.
struct mirror_record {
    const char *known;                // the record as the host knows it; NULL: only the annotation is known
    bool unsure;                      // the outcome of a later patch is unknown: the annotation decides
    bool bare;                        // mirror_make: without Kueue's labels
    const struct rejections *refused; // mirror_patch: what the worker has rejected, see pieces.h; NULL: nothing
    char *next;                       // out: the record after the patch, free(); NULL if there is none
    char *held;               // out: names of what is held back, free(); NULL unless there is nothing else to send
    uint16_t piece;           // out: enum piece, which the patch is
    bool alone;               // out: the patch is about the record only
    bool stops;               // out: the patch suspends the mirror
    bool suspended_in_worker; // out: it was suspended in the worker
};

void mirror_record_cleanup(struct mirror_record *record); // frees the results; NULL is allowed

// Whether a mirror has everything of the workload that can be carried.
enum carry_state {
    CARRY_UNKNOWN, // not compared since either side changed
    CARRY_COMPLETE,
    CARRY_PARTIAL
};

// The input of the functions below.
struct mirror_context {
    const struct kind *kind;
    const char *origin;
    struct adapter_call *call; // begun; answer says why a result is not WHARF_OK
    const struct json *workload;
    const struct json *mirror; // NULL where there is none
    uint32_t attempt;
    bool finalizer;                // mirrors are created with MARK_FINALIZER
    bool suspended_by_kueue;       // `suspend` of the mirror is left to its Kueue, see kueue_status_governs
    bool had_status;               // the mirror had a status: an empty one was cleared
    bool unfinished;               // the workload has not finished, as far as this host is concerned; false: not known
    struct mirror_record *record;  // NULL: not known, not requested
    enum carry_state *carry;       // of the mirror: read, and set once it is known; NULL: compared each time
    const struct seal_keys *seals; // NULL, or none: mirrors are not sealed
    const char *cluster;           // where the mirror is or will be; used with keys only
};

// The functions return the adapter's result, or WHARF_RETRY when out of memory.
//
// The object to create.
wharf_result mirror_make(const struct mirror_context *context, struct json **out);

// The merge patch that carries changes to the mirror, with metadata.uid; NULL in *patch if there is nothing to send.
// With WHARF_OK the call's answer may have a message about what could not be carried.
wharf_result mirror_patch(const struct mirror_context *context, struct json **patch);
// A hash of a patch without its precondition, which changes with each retry. Never 0.
uint64_t mirror_patch_hash(const struct json *patch);

// Whether there is nothing to carry but the record, and the immutable fields are unchanged. False also when unknown.
// Compares only where context->carry is not known.
bool mirror_is_complete(const struct mirror_context *context);

// The merge patch for the workload's status, {"metadata": {"uid", "resourceVersion"}, "status": {...}}; NULL if there
// is nothing to write. *wanted is the json_hash of the resulting status.
wharf_result mirror_status(const struct mirror_context *context, struct json **patch, uint64_t *wanted);

// The same for a given status.
wharf_result mirror_status_patch(const struct mirror_context *context, const struct json *status, struct json **patch);

// A mirror of this host: its origin, this kind, a workload's uid, an attempt, and no controller owner (controllers copy
// labels to the objects they create).
bool mirror_is_ours(const struct kind *kind, const char *origin, const struct json *object);

// Verifies the seal of an object with the marks of a mirror, seen in `cluster`. Requires a key.
enum seal_verdict mirror_seal(const struct kind *kind, const struct seal_keys *seals, const char *cluster,
                              const struct json *object);

// The attempt in its annotation; 0 unless it is a number from 1 to MIRROR_ATTEMPT_MAX.
uint32_t mirror_attempt(const struct json *object);

// True for labels and annotations that are not carried: the host's own and the cluster's.
bool mirror_key_is_private(const char *key);

// A hash of what is carried or compared: generation, labels and annotations; private ones only for a mirror.
uint64_t mirror_carry_hash(const struct json *object, bool is_mirror);

// Adds the marks that make an object a mirror of this workload.
bool mirror_set_marks(const struct mirror_context *context, struct json *metadata);
// WHARF_REFUSED, with the reason, if the annotations of `object` exceed the API server's limit.
wharf_result mirror_check_annotations(const struct mirror_context *context, const struct json *object);
