// SPDX-License-Identifier: Apache-2.0
// Fields that Kueue writes into the pod templates of an admitted object, apart from the flavor's labels, node
// selector and tolerations: names of its Workload, pod sets and queues. A worker's Kueue, which writes its own,
// rejects those of another.
#pragma once

#include "core/json/json.h"

#include <stdbool.h>

// Removes these fields from `mirror`, except metadata and status, and keeps or restores those of `present` (the
// mirror in the worker; may be NULL). False when out of memory.
bool kueue_strip(struct json *mirror, const struct json *present);

// The source of a mirror: a workload with a queue is copied without these fields into *own, which the caller frees.
// NULL when out of memory.
const struct json *kueue_source(const struct json *workload, struct json **own);
