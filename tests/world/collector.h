// SPDX-License-Identifier: Apache-2.0
// The garbage collector and the namespace controller: dependents of deleted owners, the orphan and foregroundDeletion
// finalizers, and the content of namespaces that are being deleted.
#pragma once

#include "tests/world/model.h"

// Called by the store to add the ownerReferences of an object to the index and to remove them.
void world_collector_added(struct stored *object);
void world_collector_removed(struct stored *object);
void world_collector_owner_gone(const struct stored *owner);

// Queues the object for garbage collection.
void world_collector_queue(struct stored *object);
void world_collector_step(struct world_cluster *cluster);
void world_collector_free(struct world_cluster *cluster);
