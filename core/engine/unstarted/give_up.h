// SPDX-License-Identifier: Apache-2.0
// Reports a workload that no worker has accepted for giveUpAfter.
#pragma once

#include "core/engine/engine_internal.h"

// ACTION_GIVE_UP, see decide(): true, since another decision follows.
bool give_up(struct engine *engine, struct entry *entry);
