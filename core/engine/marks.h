// SPDX-License-Identifier: Apache-2.0
// A mirror that does not keep its marks.
#ifndef WHARF_ENGINE_MARKS_H
#define WHARF_ENGINE_MARKS_H

#include "core/engine/engine_internal.h"

// The first mark that the mirror, as it was stored, has not kept; NULL: it has them all
const char *marks_lost(struct engine *engine, const struct entry *entry, struct mirror *mirror, uint32_t attempt);
// It is of this workload all the same, and is to be deleted.
void marks_adopt(struct entry *entry, struct mirror *mirror, uint32_t attempt);

#endif
