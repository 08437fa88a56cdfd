// SPDX-License-Identifier: Apache-2.0
// onWorkerLost: whether a workload waits for its lost worker without a time limit.
#pragma once

#include "core/engine/engine_internal.h"

bool lost_is_waited_for(const struct engine *engine, const struct entry *entry);
