// SPDX-License-Identifier: Apache-2.0
// The engine's copy of its settings.
#pragma once

#include "core/base/error.h"
#include "core/config/engine_settings.h"

struct engine;

// Between steps: copies new settings; the next steps decide all workloads anew. On failure nothing changes.
struct error *engine_configure(struct engine *engine, const struct engine_settings *settings);

// For a new engine: replaces engine->settings and engine->placement. On failure nothing changes.
struct error *settings_take(struct engine *engine, const struct engine_settings *settings);
void settings_free(struct engine *engine);
