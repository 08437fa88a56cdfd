// SPDX-License-Identifier: Apache-2.0
// What Kueue's Workloads say of workloads (in the management cluster) and mirrors (in the workers): why something is
// queued, that it was evicted, or that it never runs. Of a mirror that its worker's Kueue manages, spec.active of its
// Workload is what suspends it: Kueue resumes what is suspended otherwise.
#ifndef WHARF_ENGINE_KUEUE_STATUS_H
#define WHARF_ENGINE_KUEUE_STATUS_H

#include "core/engine/engine_internal.h"

// Of one object; it is there as long as the object has a Workload.
struct kueue_status {
    uint8_t phase;                // enum kueue_phase
    bool told : 1;                // that it is queued
    bool deactivated : 1;         // see KUEUE_DEACTIVATED
    bool denied : 1;              // the host may not write it
    bool busy : 1;                // a write of it is in flight
    uint16_t failures;            // consecutive ones, of writes
    int64_t since_ns, evicted_ns; // wall clock, see struct kueue_state
    int64_t queued_ns;            // monotonic: since when it is known to be queued; 0: it is not
    int64_t not_before_ns;        // no write of it before that
    const char *name, *uid, *version, *queue, *why, *check; // in `memory`; why, check: "" if there is none
    char memory[];
};

void kueue_status_drop(struct kueue_status **kueue_status);

// Whether `suspend` of the mirror is left to its Kueue, since spec.active does instead.
bool kueue_status_governs(const struct entry *entry, const struct mirror *mirror);

// Since when the mirror waits for its worker's Kueue (monotonic, as far as this process knows), 0: it does not.
int64_t kueue_status_queued_ns(const struct mirror *mirror);

// That of its mirror if it is queued in its worker, else that of the workload; or NULL.
const struct kueue_status *kueue_status_of(const struct entry *entry);

// Why it is queued or never runs, as a sentence without an end; and since when (wall clock, 0: not known). Nothing is
// appended if it is neither.
void kueue_status_put(const struct engine *engine, const struct entry *entry, struct buffer *out, int64_t *since_ns);

#endif
