// SPDX-License-Identifier: Apache-2.0
// Whose record the annotations of a workload are. Authors can write them, too, so those that this process has neither
// written nor checked prove nothing: a mirror that they name is followed, but none is created where a new workload
// would not be placed (decide_placed.c), and they make no worker full.
#pragma once

#include "core/engine/engine_internal.h"

// This process wrote it, or has sent a create for it.
bool own_record(const struct entry *entry);
// From now on: the worker and the attempt that the annotations name. It counts as active there.
void own_record_accept(struct engine *engine, struct entry *entry);
// Before a decision: a workload whose record is not this process's own counts as active in its worker only if a mirror
// is or was seen there, or while that is not known.
void own_record_count(struct engine *engine, struct entry *entry);
