// SPDX-License-Identifier: Apache-2.0
// placement of the configuration, as the engine has it.
#ifndef WHARF_HOST_HOST_PLACEMENT_H
#define WHARF_HOST_HOST_PLACEMENT_H

#include "core/config/config.h"
#include "core/engine/placement/placement_rules.h"

// An owned copy; NULL when out of memory.
struct placement_settings *host_placement_of(const struct config *config);

#endif
