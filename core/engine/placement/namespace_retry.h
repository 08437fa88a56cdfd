// SPDX-License-Identifier: Apache-2.0
// Workloads that a worker rejected because of the namespace or the quota, or did not start: the host tries that worker
// again at once when a Namespace or a ResourceQuota there changes. The host watches both only while a workload waits.
#pragma once

#include "core/engine/engine_internal.h"

#define NAMESPACE_RETRY_S 20 // between two tries of one workload in one worker, in seconds

// `reason`: of the rejection, as in the Event; or NULL.
void namespace_retry_wait(struct engine *engine, struct entry *entry, uint32_t cluster, const char *reason);
// The namespace, or a quota in it, changed; NULL: any may have.
void namespace_retry_changed(struct engine *engine, size_t cluster, const char *namespace_);
void namespace_retry_forget(struct engine *engine, struct entry *entry); // before it is freed
