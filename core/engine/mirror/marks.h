// SPDX-License-Identifier: Apache-2.0
// Mirrors that lose their marks.
#pragma once

#include "core/engine/engine_internal.h"

// The first mark that the stored mirror lacks; NULL: none
const char *marks_lost(struct engine *engine, const struct entry *entry, struct mirror *mirror, uint32_t attempt);
// Treats it as the workload's mirror, to be deleted.
void marks_adopt(struct entry *entry, struct mirror *mirror, uint32_t attempt);
