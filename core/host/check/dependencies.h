// SPDX-License-Identifier: Apache-2.0
// The configuration's section `dependencies` beside the resources that the adapters' kinds can refer to.
#pragma once

#include "core/adapter/adapters.h"
#include "core/base/problems.h"
#include "core/config/config.h"

// Reports unknown resources, and those of `copy` that may not be copied. Only if all adapters were loaded.
void dependencies_check(const struct config *config, const struct adapters *adapters, struct problems *problems);
