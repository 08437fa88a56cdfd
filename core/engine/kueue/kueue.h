// SPDX-License-Identifier: Apache-2.0
// Kueue in the management cluster. Its webhook suspends queued objects (label kueue.x-k8s.io/queue-name) at creation,
// and it resumes them only after creating a Workload that the object owns as controller: so one request is enough,
// before the mirror of an object that is not suspended is created.
//
// What Kueue has admitted is dispatched, and its mirror is created without the labels that would queue it a second time
// in a worker (unless the configuration says kueue: carry). Kinds whose API accepts no other value of managedBy than
// kueue.x-k8s.io/multikueue are shared with MultiKueue: an object is left to it if its Workload has an admission check
// of its controller.
#pragma once

#include "core/engine/kueue/kueue_labels.h"

#include <stdbool.h>

enum kueue {
    KUEUE_UNKNOWN,
    KUEUE_NONE,    // no Workload owns it
    KUEUE_ADMITTED // a Workload owns it, and MultiKueue does not handle it
};

struct engine;
struct entry;
struct json;
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

// A Workload owns it, and MultiKueue does not handle it.
bool kueue_is_admitted(const struct entry *entry);
// Unless admitted: asks again whether a Workload owns it.
void kueue_ask_again(struct entry *entry);
