// SPDX-License-Identifier: Apache-2.0
// Kinds whose API accepts no other value of managedBy than kueue.x-k8s.io/multikueue share it with Kueue's MultiKueue.
// An object that is queued there (label kueue.x-k8s.io/queue-name) and that a Kueue Workload has as its controller
// owner is dispatched by it, and not by this host. Kueue suspends what is queued when it is created (a webhook), and
// resumes it only after it has made the Workload: so it is enough to ask once, before an object that is not suspended
// is first placed.
#ifndef WHARF_HOST_KUEUE_H
#define WHARF_HOST_KUEUE_H

#include <stdbool.h>

#define KUEUE_QUEUE_NAME "kueue.x-k8s.io/queue-name"         // label
#define KUEUE_PRIORITY_CLASS "kueue.x-k8s.io/priority-class" // label
#define KUEUE_STOPPING "kueue.x-k8s.io/stopping"             // annotation

struct engine;
struct entry;
struct json;
struct response;

// True if this value of managedBy is one that Kueue answers to as well.
bool kueue_shares(const char *managed_by);

// True if it is shared, and the object has the label.
bool kueue_may_own(const char *managed_by, const struct json *object);

// True if it is known that Kueue does not own the workload, or it cannot be so; false: a question was sent, or it is to
// be tried again later.
bool kueue_permits(struct engine *engine, struct entry *entry);

// The answer to that question. False: it says nothing; the caller asks again later.
bool kueue_answered(struct engine *engine, struct entry *entry, const struct response *response);

#endif
