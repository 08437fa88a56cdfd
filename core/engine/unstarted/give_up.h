// SPDX-License-Identifier: Apache-2.0
// A workload that no worker has accepted for giveUpAfter is told so.
#ifndef WHARF_ENGINE_GIVE_UP_H
#define WHARF_ENGINE_GIVE_UP_H

#include "core/engine/engine_internal.h"

// ACTION_GIVE_UP, see decide(): true, since what is next has to be decided anew.
bool give_up(struct engine *engine, struct entry *entry);

#endif
