// SPDX-License-Identifier: Apache-2.0
// What Kueue writes into the pod templates of an object when it admits it, apart from the flavor's labels, node
// selector and tolerations: names of its Workload, pod sets and queues. A worker's Kueue, which writes its own, rejects
// those of another.
#ifndef WHARF_ENGINE_KUEUE_STRIP_H
#define WHARF_ENGINE_KUEUE_STRIP_H

#include "core/json/json.h"

#include <stdbool.h>

// Takes them out of `mirror`, apart from its metadata and status; what `present` (the mirror as it is; may be NULL) has
// in the same place stays, or is put there. False when out of memory.
bool kueue_strip(struct json *mirror, const struct json *present);

// The workload as a mirror is made from it, and kept up to date: one that names a queue is copied without them, into
// *own, which the caller frees. NULL when out of memory.
const struct json *kueue_source(const struct json *workload, struct json **own);

#endif
