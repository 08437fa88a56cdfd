// SPDX-License-Identifier: Apache-2.0
// Workloads that a worker rejected because of their namespace or its quota, or did not start: they are tried there
// again at once when a namespace or a ResourceQuota there changes. The host watches these only while something waits
// for them.
#ifndef WHARF_ENGINE_NAMESPACE_RETRY_H
#define WHARF_ENGINE_NAMESPACE_RETRY_H

#include "core/engine/engine_internal.h"

#define NAMESPACE_RETRY_S 20 // between two of one workload in one worker, in seconds

// `reason` of a rejection, as in its Event; or NULL.
void namespace_retry_wait(struct engine *engine, struct entry *entry, uint32_t cluster, const char *reason);
// The namespace, or a quota in it, changed; NULL: any may have.
void namespace_retry_changed(struct engine *engine, size_t cluster, const char *namespace_);
void namespace_retry_forget(struct engine *engine, struct entry *entry); // before it is freed

#endif
