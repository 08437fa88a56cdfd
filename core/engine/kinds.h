// SPDX-License-Identifier: Apache-2.0
// Kinds that join while the engine runs, and the tables indexed by kind. A kind keeps its number, and none leaves.
#pragma once

#include "core/adapter/adapters.h"
#include "core/base/clock.h"
#include "core/base/error.h"

struct engine;

// Between steps. `kinds` begins with the present kinds; the caller owns the array. New kinds have no connection until
// events report one. On failure (no memory) nothing changes.
struct error *engine_add_kinds(struct engine *engine, struct kind *const *kinds, size_t n_kinds, struct moment now);
size_t engine_n_kinds(const struct engine *engine);
