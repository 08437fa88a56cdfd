// SPDX-License-Identifier: Apache-2.0
// Loads the adapters that a configuration enables.
#pragma once

#include "core/adapter/adapters.h"
#include "core/base/problems.h"
#include "core/config/config.h"

// As adapters_load.
struct error *load_adapters(const struct config *config, struct problems *problems, struct adapters **out);

// As adapters_extend. `controller_name` is the one in use: another one takes effect after a restart.
struct error *load_more_adapters(struct adapters *former, const struct config *config, const char *controller_name,
                                 struct problems *problems, struct buffer *later, struct adapters **out);
