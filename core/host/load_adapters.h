// SPDX-License-Identifier: Apache-2.0
// Loads the adapters that a configuration enables.
#ifndef WHARF_HOST_LOAD_ADAPTERS_H
#define WHARF_HOST_LOAD_ADAPTERS_H

#include "core/adapter/adapters.h"
#include "core/base/problems.h"
#include "core/config/config.h"

// As adapters_load.
struct error *load_adapters(const struct config *config, struct problems *problems, struct adapters **out);

#endif
