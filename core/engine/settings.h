// SPDX-License-Identifier: Apache-2.0
// The engine's copy of its settings.
#ifndef WHARF_ENGINE_SETTINGS_H
#define WHARF_ENGINE_SETTINGS_H

#include "core/base/error.h"
#include "core/config/engine_settings.h"

struct engine;

// Between steps: other settings, copied. The next steps decide all workloads anew. On failure nothing changed.
struct error *engine_configure(struct engine *engine, const struct engine_settings *settings);

// Of a new engine: replaces engine->settings and engine->placement. On failure nothing changed.
struct error *settings_take(struct engine *engine, const struct engine_settings *settings);
void settings_free(struct engine *engine);

#endif
