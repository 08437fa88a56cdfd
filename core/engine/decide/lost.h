// SPDX-License-Identifier: Apache-2.0
// onWorkerLost: whether a workload waits for its lost worker without a time limit.
#ifndef WHARF_ENGINE_LOST_H
#define WHARF_ENGINE_LOST_H

#include "core/engine/engine_internal.h"

bool lost_is_waited_for(const struct engine *engine, const struct entry *entry);

#endif
