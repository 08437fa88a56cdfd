// SPDX-License-Identifier: Apache-2.0
// Kueue's fields in objects: the state of an object in Kueue, from the Workload, and the fields that Kueue writes into
// an admitted object.
#pragma once

#include "core/json/json.h"

#define KUEUE_QUEUE_NAME "kueue.x-k8s.io/queue-name"         // label
#define KUEUE_PRIORITY_CLASS "kueue.x-k8s.io/priority-class" // label
#define KUEUE_STOPPING "kueue.x-k8s.io/stopping"             // annotation
#define KUEUE_DEACTIVATED "wharf.dev/deactivated" // annotation of a Workload: the host has set spec.active: false

enum kueue_phase {
    KUEUE_GONE,     // there is no Workload
    KUEUE_PENDING,  // has no quota
    KUEUE_RESERVED, // has quota, and waits for admission checks
    KUEUE_RUNS,     // admitted
    KUEUE_INACTIVE, // spec.active: false
    KUEUE_OVER      // finished
};

#define KUEUE_STATE_TEXTS 10
struct kueue_state {              // the texts first, see struct_copy_with_texts
    const char *name, *uid;       // of the Workload
    const char *version;          // API version of the read
    const char *queue;            // LocalQueue
    const char *reason, *message; // of the phase, or ""
    const char *evicted_reason, *evicted_message;
    const char *check, *check_message; // an admission check that rejected the Workload; "": none
    enum kueue_phase phase;
    int64_t since_ns;   // wall clock, start of the phase; 0: unknown
    int64_t evicted_ns; // wall clock, last eviction; 0: never
    bool deactivated;   // has KUEUE_DEACTIVATED
};

// Texts live as long as the Workload (NULL: empty texts); `version` is not copied.
void kueue_state_read(const struct json *workload, const char *version, struct kueue_state *out);

// The uid of the Workload's controller, or ""; lives as long as the Workload.
const char *kueue_state_owner(const struct json *workload);

// Kueue writes names of the Workload, pod sets and queues into the pod templates, besides the flavor's labels, node
// selector and tolerations. A worker's Kueue writes names of its own, and rejects foreign ones. Removes these fields
// from `mirror`, except metadata and status, and keeps or restores the fields of `present` (the mirror in the worker;
// may be NULL). False when out of memory.
bool kueue_strip(struct json *mirror, const struct json *present);

// The source of a mirror: for a workload with a queue, a copy without these fields in *own, which the caller frees.
// NULL when out of memory.
const struct json *kueue_source(const struct json *workload, struct json **own);
