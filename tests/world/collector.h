// SPDX-License-Identifier: Apache-2.0
// The garbage collector and the namespace controller: dependents of owners that are gone, the orphan and
// foregroundDeletion finalizers, and the content of namespaces that are being deleted.
#ifndef WHARF_WORLD_COLLECTOR_H
#define WHARF_WORLD_COLLECTOR_H

#include "tests/world/model.h"

// Called by the store: the ownerReferences of an object come into and go out of the index.
void world_collector_added(struct stored *object);
void world_collector_removed(struct stored *object);
void world_collector_owner_gone(const struct stored *owner);

// Something about the object is the collector's work now.
void world_collector_look_at(struct stored *object);
void world_collector_step(struct world_cluster *cluster);
void world_collector_free(struct world_cluster *cluster);

#endif
