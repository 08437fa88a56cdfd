// SPDX-License-Identifier: Apache-2.0
// The state of workloads (in the management cluster) and mirrors (in the workers) in Kueue: queued, evicted, or never
// admitted, with the reason. A mirror that its worker's Kueue manages is suspended by spec.active of its Workload,
// since Kueue resumes mirrors that are suspended otherwise.
#pragma once

#include "core/engine/engine_internal.h"

// Exists as long as the object has a Workload.
struct kueue_status {
    uint8_t phase;                // enum kueue_phase
    bool reported : 1;            // the queueing was reported
    bool deactivated : 1;         // see KUEUE_DEACTIVATED
    bool denied : 1;              // the host lacks the permission to write
    bool busy : 1;                // a write is in flight
    uint16_t failures;            // consecutive ones, of writes
    int64_t since_ns, evicted_ns; // wall clock, see struct kueue_state
    int64_t queued_ns;            // monotonic, start of the queueing as far as known; 0: not queued
    int64_t not_before_ns;        // earliest write
    const char *name, *uid, *version, *queue, *why, *check; // in `memory`; why, check: "" if there is none
    char memory[];
};

void kueue_status_drop(struct kueue_status **kueue_status);

// Whether spec.active replaces `suspend` of the mirror.
bool kueue_status_governs(const struct entry *entry, const struct mirror *mirror);

// Start of the wait for the worker's Kueue (monotonic, as far as this process knows), 0: none.
int64_t kueue_status_queued_ns(const struct mirror *mirror);

// The status of the mirror if queued in its worker, else that of the workload; or NULL.
const struct kueue_status *kueue_status_of(const struct entry *entry);

// Appends the reason for queueing or rejection, without a full stop, and sets its start (wall clock, 0: not known).
// Appends nothing for other workloads.
void kueue_status_put(const struct engine *engine, const struct entry *entry, struct buffer *out, int64_t *since_ns);
