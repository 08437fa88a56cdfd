// SPDX-License-Identifier: Apache-2.0
// Workers that join, change their policy, and leave.
#pragma once

#include "core/engine/engine_internal.h"

void worker_take(struct engine *engine, const struct engine_event *event);

// Nothing runs there or is placed there that could be waited for. False before the management cluster's first lists are
// complete.
bool worker_may_leave(const struct engine *engine, size_t cluster);
