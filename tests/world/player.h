// SPDX-License-Identifier: Apache-2.0
// A controller for custom workload kinds: it plays the stories of the kind's fixtures (tests/fixtures/README.md) on
// every object that no other manager is responsible for. The statuses of a story are written in order, with a delay
// between them; their times become those at which they are first written, observedGeneration the object's. Before a
// step that is a user's patch it waits until the object's spec matches. If an object is suspended, resumed or cancelled
// at another time, it continues at the step, of this or another story, that matches the spec (story "suspended" first).
// A finished object is handled by the rules of its kind.
#pragma once

#include "tests/support/fixture.h"
#include "tests/world/world.h"

// Annotations of an object:
#define PLAYER_STORY "world.test/story" // which one; by default "succeeded", or else "running", or else the first
#define PLAYER_STEP "world.test/step"   // "2s": between two statuses; by default 0.3 to 3 s

// The kind as the API server knows it, by its plural; NULL: unknown.
const struct world_kind *player_kind(const char *plural);

// Registers the kind of the fixture, which must outlive the cluster, and plays it. False if the cluster already has the
// kind or does not know it.
bool player_install(struct world_cluster *cluster, const struct fixture *fixture);

// The same for a custom kind (crd.h). `fixture` NULL: it has no controller.
struct custom;
bool player_install_custom(struct world_cluster *cluster, const struct custom *custom, const struct fixture *fixture);

// controllers.c
struct stored;
void player_sync(struct stored *object);
void player_forget(struct stored *object);
