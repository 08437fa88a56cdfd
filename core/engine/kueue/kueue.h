// SPDX-License-Identifier: Apache-2.0
// Kueue, in the management cluster and in the workers.
//
// Management cluster: Kueue's webhook suspends queued objects (label kueue.x-k8s.io/queue-name) at creation. Kueue
// resumes an object only after creating a Workload with the object as controller, so one request is enough, before the
// create of the mirror of an object that is not suspended.
//
// The host dispatches admitted objects, and creates the mirror without the labels that would queue the mirror a second
// time in a worker (unless the configuration has kueue: carry). Kinds whose API accepts no managedBy but
// kueue.x-k8s.io/multikueue are shared with MultiKueue: the host leaves an object to MultiKueue if the Workload has an
// admission check of MultiKueue's controller.
//
// Workers: the Kueue of a worker resumes mirrors that another client suspends. So the host suspends a mirror by
// spec.active of the Workload.
#pragma once

#include "core/base/buffer.h"
#include "core/engine/kueue/kueue_object.h"

enum kueue {
    KUEUE_UNKNOWN,
    KUEUE_NONE,    // the object has no Workload
    KUEUE_ADMITTED // the object has a Workload, and MultiKueue does not handle the object
};

struct engine;
struct entry;
struct mirror;
struct request_in_flight;
struct response;

// Whether MultiKueue also handles this value of managedBy.
bool kueue_shares(const char *managed_by);

// Whether MultiKueue also handles the value, and the object has the queue label.
bool kueue_may_own(const char *managed_by, const struct json *object);

// Whether the host may create a mirror; false: a request is in flight, or a retry follows.
bool kueue_permits(struct engine *engine, struct entry *entry);

// Handles the answer to that request. False: inconclusive; the caller retries later.
bool kueue_answered(struct engine *engine, struct entry *entry, const struct request_in_flight *request,
                    const struct response *response);

bool kueue_is_admitted(const struct entry *entry); // KUEUE_ADMITTED
// Unless admitted: the host requests the Workload again.
void kueue_ask_again(struct entry *entry);

// The state of a workload (in the management cluster) or a mirror (in a worker): queued, evicted, or never admitted,
// with the reason. Exists as long as the object has a Workload.
#define KUEUE_STATUS_TEXTS 6
struct kueue_status { // the texts first, see struct_copy_with_texts
    const char *name, *uid, *version, *queue;
    const char *why, *check;      // or ""
    uint8_t phase;                // enum kueue_phase
    bool reported : 1;            // the queueing was reported
    bool deactivated : 1;         // see KUEUE_DEACTIVATED
    bool denied : 1;              // the host lacks the permission to write
    bool busy : 1;                // a write is in flight
    uint16_t failures;            // consecutive ones, of writes
    int64_t since_ns, evicted_ns; // wall clock, see struct kueue_state
    int64_t queued_ns;            // monotonic, start of the queueing as far as known; 0: not queued
    int64_t not_before_ns;        // earliest write
};

// Whether the worker's Kueue has a Workload for the mirror, and so suspends and resumes it.
bool kueue_status_resumes(const struct mirror *mirror);
// Whether spec.active replaces `suspend` of the mirror.
bool kueue_status_governs(const struct entry *entry, const struct mirror *mirror);

// The status of the mirror if queued in the worker, else the status of the workload; or NULL.
const struct kueue_status *kueue_status_of(const struct entry *entry);

// Appends the reason for queueing or rejection, without a full stop, and sets the start (wall clock, 0: not known).
// Appends nothing for other workloads.
void kueue_status_put(const struct engine *engine, const struct entry *entry, struct buffer *out, int64_t *since_ns);
