// SPDX-License-Identifier: Apache-2.0
// The seconds that workloads ran and the resources that their pods requested meanwhile, by namespace, kind and worker:
// see docs/accounts.md. Start and end come from the objects. Former attempts are in an annotation of the workload,
// which the patch of the next placement writes.
#pragma once

#include "core/engine/engine_internal.h"

// Annotation of a workload: {"seconds":{"w1":130},"until":"<RFC 3339>"}, of all attempts before the present one; it was
// placed then.
#define MARK_USED "wharf.dev/used"

// Appends the annotation of a placement with this attempt, ",\"wharf.dev/used\":...", if one is due.
void accounts_put_mark(struct engine *engine, struct entry *entry, uint32_t attempt, struct buffer *marks);
