// SPDX-License-Identifier: Apache-2.0
// Kinds that are paused in one cluster: in the management cluster, because its objects are suddenly no longer ours or
// their status cannot be written; in a worker, because it shows more mirrors without a workload than are kept.
#ifndef WHARF_ENGINE_PAUSE_H
#define WHARF_ENGINE_PAUSE_H

#include "core/engine/engine_internal.h"

// Whether one more mirror without a workload is kept of the cluster.
bool pause_has_room(struct engine *engine, size_t cluster, size_t kind);
void pause_listed(struct engine *engine, size_t cluster, size_t kind);
// One that was kept has gone: what was not looked at is listed once there is room for it.
void pause_orphan_gone(struct engine *engine, size_t cluster);
// A workload of ours is not ours any more (`manager` NULL: nobody's): told before it is forgotten.
void pause_disowned(struct engine *engine, struct entry *entry, const char *manager);
void pause_owned(struct engine *engine, size_t kind); // one was seen that is ours
void pause_status_sent(struct engine *engine, size_t kind);
void pause_status_answered(struct engine *engine, size_t kind, enum reason reason);

#endif
