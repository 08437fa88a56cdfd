// SPDX-License-Identifier: Apache-2.0
// Kueue of the management cluster. It suspends what is queued (label kueue.x-k8s.io/queue-name) when it is created (a
// webhook), and resumes it only after it has made a Workload of which the object is the controller owner: so it is
// enough to ask once, before the mirror of an object that is not suspended is made.
//
// What Kueue has admitted is dispatched, and its mirror is made without the labels that would queue it a second time
// in a worker (unless the configuration says kueue: carry). Kinds whose API accepts no other value of managedBy than
// kueue.x-k8s.io/multikueue are shared with MultiKueue: an object is left to it if its Workload has an admission check
// of its controller.
#ifndef WHARF_ENGINE_KUEUE_H
#define WHARF_ENGINE_KUEUE_H

#include "core/engine/kueue_labels.h"

#include <stdbool.h>

enum kueue {
    KUEUE_UNKNOWN,
    KUEUE_NONE,    // nothing of it owns the workload
    KUEUE_ADMITTED // one of its Workloads does, and MultiKueue has no say
};

struct engine;
struct entry;
struct json;
struct pending;
struct response;

// True if this value of managedBy is one that Kueue answers to as well.
bool kueue_shares(const char *managed_by);

// True if it is shared, and the object has the label.
bool kueue_may_own(const char *managed_by, const struct json *object);

// True if all is known that has to be known before a mirror is made, and it may be; false: a question was sent, or it
// is to be tried again later.
bool kueue_permits(struct engine *engine, struct entry *entry);

// The answer to that question. False: it says nothing; the caller asks again later.
bool kueue_answered(struct engine *engine, struct entry *entry, const struct pending *pending,
                    const struct response *response);

#endif
