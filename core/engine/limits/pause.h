// SPDX-License-Identifier: Apache-2.0
// Kinds that are paused in one cluster: in the management cluster, because its objects are suddenly no longer delegated
// or their status cannot be written; in a worker, because it has more orphans than are kept.
#pragma once

#include "core/engine/engine_internal.h"

// Whether one more orphan of the cluster is kept.
bool pause_has_room(struct engine *engine, size_t cluster, size_t kind);
// A kept orphan is gone: the ignored ones are listed once there is room.
void pause_orphan_gone(struct engine *engine, size_t cluster);
void pause_room_grew(struct engine *engine); // more are kept from now on; in a step
// A workload is no longer delegated (`manager` NULL: the field is unset); reported before it is forgotten.
void pause_disowned(struct engine *engine, struct entry *entry, const char *manager);
void pause_owned(struct engine *engine, size_t kind); // a delegated one was seen
void pause_status_sent(struct engine *engine, size_t kind);
void pause_status_answered(struct engine *engine, size_t kind, enum reason reason);
