// SPDX-License-Identifier: Apache-2.0
// Interface of watches for the rest of the cluster.
#pragma once

#include "tests/world/model.h"

void world_watches_notify(struct kind *kind);
// Bookmarks and deadlines that are due.
void world_watches_step(struct world_cluster *cluster);
struct world_watch *world_watch_sibling(const struct world_watch *watch);
// The kind is removed: pending events are kept for the watch, then the stream ends.
void world_watch_drain(struct world_watch *watch);
// Detaches the watch from its kind.
void world_watch_orphan(struct world_watch *watch);
