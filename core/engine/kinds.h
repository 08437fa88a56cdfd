// SPDX-License-Identifier: Apache-2.0
// Kinds that join while the engine runs, and the tables that they index. A kind keeps its number, and none leaves.
#ifndef WHARF_ENGINE_KINDS_H
#define WHARF_ENGINE_KINDS_H

#include "core/adapter/adapters.h"
#include "core/base/clock.h"
#include "core/base/error.h"

struct engine;

// Between steps. `kinds` begins with those that the engine has, and is not owned, like that of engine_options. What is
// new is not connected anywhere until events say so. On failure (no memory) nothing has changed.
struct error *engine_add_kinds(struct engine *engine, struct kind *const *kinds, size_t n_kinds, struct moment now);
size_t engine_n_kinds(const struct engine *engine);

#endif
