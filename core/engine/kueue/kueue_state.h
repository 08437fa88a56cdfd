// SPDX-License-Identifier: Apache-2.0
// The state of an object in Kueue, from its Workload: phase, since when, and reason.
#pragma once

#include "core/json/json.h"

#include <stdbool.h>
#include <stdint.h>

#define KUEUE_DEACTIVATED "wharf.dev/deactivated" // annotation of a Workload: the host has set spec.active: false

enum kueue_phase {
    KUEUE_GONE,     // there is no Workload
    KUEUE_PENDING,  // has no quota
    KUEUE_RESERVED, // has quota, and waits for admission checks
    KUEUE_RUNS,     // is admitted
    KUEUE_INACTIVE, // spec.active: false
    KUEUE_OVER      // is finished
};

struct kueue_state {
    enum kueue_phase phase;
    int64_t since_ns;             // wall clock, start of the phase; 0: unknown
    int64_t evicted_ns;           // wall clock, last eviction; 0: never
    const char *name, *uid;       // of the Workload
    const char *version;          // API version of the read
    const char *queue;            // LocalQueue
    const char *reason, *message; // of the phase, or ""
    const char *evicted_reason, *evicted_message;
    const char *check, *check_message; // an admission check that rejected the Workload; "": none
    bool deactivated;                  // has KUEUE_DEACTIVATED
};
#define KUEUE_STATE_STRINGS 10

// Strings live as long as the Workload; `version` is not copied.
void kueue_state_read(const struct json *workload, const char *version, struct kueue_state *out);

// Pointers to the strings.
void kueue_state_strings(struct kueue_state *state, const char **out[KUEUE_STATE_STRINGS]);

// The uid of the Workload's controller, or ""; lives as long as the Workload.
const char *kueue_state_owner(const struct json *workload);
