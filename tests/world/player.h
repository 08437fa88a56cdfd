// SPDX-License-Identifier: Apache-2.0
// A controller for workload kinds that come from outside: it plays the stories of the kind's fixtures
// (tests/fixtures/README.md) on every object that nobody else is to manage. The statuses of a story are written one
// after the other, with some time in between; their times become those at which they are first written,
// observedGeneration the object's. Where a user's patch is next it waits until the object's spec says so. What is
// suspended, resumed or cancelled at another moment goes on at the place, in this or another story, where that is what
// the spec says ("suspended" before all others). An object that is over goes by the rules of its kind for that.
#ifndef WHARF_WORLD_PLAYER_H
#define WHARF_WORLD_PLAYER_H

#include "tests/support/fixture.h"
#include "tests/world/world.h"

// Annotations of an object:
#define PLAYER_STORY "world.test/story" // which one; by default "succeeded", or else "running", or else the first
#define PLAYER_STEP "world.test/step"   // "2s": between two statuses; by default 0.3 to 3 s

// The kind as the API server knows it, by its plural; NULL: none of those that it knows.
const struct world_kind *player_kind(const char *plural);

// Registers the kind of the fixture, which has to live as long as the cluster, and plays it. False if the cluster has
// the kind, or does not know of it.
bool player_install(struct world_cluster *cluster, const struct fixture *fixture);

// The same for a kind from outside (crd.h). `fixture` NULL: it has no controller.
struct custom;
bool player_install_custom(struct world_cluster *cluster, const struct custom *custom, const struct fixture *fixture);

// controllers.c
struct stored;
void player_sync(struct stored *object);
void player_forget(struct stored *object);

#endif
