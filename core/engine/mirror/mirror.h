// SPDX-License-Identifier: Apache-2.0
// Computes the mirror of a workload, the patch that keeps the mirror up to date, and the status for the workload,
// with the adapter's part: JSON in, JSON out. Also the seal of a mirror.
#pragma once

#include "core/adapter/adapters.h"
#include "core/adapter/services.h"

#define MARK_ORIGIN "wharf.dev/origin"   // label of a mirror: the host
#define MARK_UID "wharf.dev/uid"         // label of a mirror: uid of the workload
#define MARK_KIND "wharf.dev/kind"       // label of a mirror: plural.group
#define MARK_ATTEMPT "wharf.dev/attempt" // annotation of both
#define MARK_CLUSTER "wharf.dev/cluster" // annotation and label of a workload
#define MARK_RETRY "wharf.dev/retry"     // annotation of a workload, see retry_if_due
#define MARK_CARRIED "wharf.dev/carried" // annotation of a mirror: see struct record
#define MARK_VERSION "wharf.dev/version" // annotation of a mirror: resourceVersion of the workload at the create
#define MARK_IMMUTABLE "wharf.dev/rest" // annotation of a mirror: hash of the workload's immutable fields at the create

#define MARK_RELEASE "wharf.dev/release"  // annotation of a mirror, "true": an operator releases the mirror
#define MARK_FINALIZER "wharf.dev/status" // finalizer of a mirror: the final status is not written yet
#define MARK_FENCED "wharf.dev/fenced"    // annotation of a mirror: when the worker's guard suspended the mirror
#define MARK_SEAL "wharf.dev/seal"        // annotation of a mirror: a host with the key wrote the other marks
#define MIRROR_ATTEMPT_MAX INT32_MAX

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
    bool finalizer;                // create mirrors with MARK_FINALIZER
    bool suspended_by_kueue;       // the worker's Kueue controls `suspend` of the mirror, see kueue_status_governs
    bool had_status;               // the mirror had a status: an empty one means cleared
    bool unfinished;               // the workload has not finished, as far as this host is concerned; false: not known
    struct mirror_record *record;  // NULL: not known, not requested
    uint8_t *carry;                // enum carry_state of the mirror: read, and set once known; NULL: compare each time
    const struct seal_keys *seals; // NULL, or without a key: mirrors have no seal
    const char *cluster;           // of the mirror, present or future; used with keys only
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

// True for labels and annotations that are not carried: the host's own and the cluster's.
bool mirror_key_is_private(const char *key);

// A hash of the carried and compared fields: generation, labels and annotations; private keys only for a mirror.
uint64_t mirror_carry_hash(const struct json *object, bool is_mirror);

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
