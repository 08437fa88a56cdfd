// SPDX-License-Identifier: Apache-2.0
// Making a mirror of a workload, the patch that keeps it like the workload, and the status that comes back: JSON in,
// JSON out, with what the adapter adds. Adapter thread only.
#ifndef WHARF_HOST_MIRROR_H
#define WHARF_HOST_MIRROR_H

#include "core/host/adapters.h"
#include "core/host/services.h"

#define MARK_ORIGIN "wharf.dev/origin"   // label of a mirror: who made it
#define MARK_UID "wharf.dev/uid"         // label of a mirror: uid of its workload
#define MARK_KIND "wharf.dev/kind"       // label of a mirror: plural.group
#define MARK_ATTEMPT "wharf.dev/attempt" // annotation of both
#define MARK_CLUSTER "wharf.dev/cluster" // annotation of a workload
#define MARK_CARRIED                                                                                                   \
    "wharf.dev/carried" // annotation of a mirror: pointers of what was carried to it, so that what
                        // is taken away from the workload later can be told from what the worker added
#define MARK_REST                                                                                                      \
    "wharf.dev/rest" // annotation of a mirror: hash of all that is not carried of the workload that it was made of

#define MARK_RELEASE "wharf.dev/release" // annotation of a mirror, "true": written by a person, it is not held

// Everything that the functions below look at.
struct mirror_job {
    const struct kind *kind;
    const char *origin;
    struct adapter_call *call; // begun; answer says why a result is not WHARF_OK
    const struct json *workload;
    const struct json *mirror; // NULL where there is none
    uint32_t attempt;
    bool had_status; // the mirror: an empty status of it is one that was emptied
};

// An adapter's answer, or WHARF_RETRY when memory ran out.
//
// The object to be created.
wharf_result mirror_make(const struct mirror_job *job, struct json **out);

// The merge patch that carries changes to the mirror, with metadata.uid; NULL in *patch if there is nothing to carry.
// With WHARF_OK the call's answer may have a message: what could not be carried.
wharf_result mirror_patch(const struct mirror_job *job, struct json **patch);

// The merge patch for the workload's status, {"metadata": {"uid", "resourceVersion"}, "status": {...}}; NULL if there
// is nothing to write. *wanted is the json_hash of the status that it leads to.
wharf_result mirror_status(const struct mirror_job *job, struct json **patch, uint64_t *wanted);

// A mirror of ours: our origin, this kind, a workload's uid in its marks, an attempt, and no controller owner
// (controllers copy labels to what they make).
bool mirror_is_ours(const struct kind *kind, const char *origin, const struct json *object);

// The attempt in its annotation; 0 if there is none that is a number.
uint32_t mirror_attempt(const struct json *object);

// True for labels and annotations that are not carried: ours, and what belongs to the cluster.
bool mirror_key_is_private(const char *key);

// A hash of what would be carried or compared: generation, and labels and annotations that are not private.
uint64_t mirror_carry_hash(const struct json *object);

#endif
