// SPDX-License-Identifier: Apache-2.0
// Adapters that rate workers, in a sixth of the trials with faults: their scores are right or wrong, missing, late or
// slow, by the workload and the time. Checks which workers the host offers.
#pragma once

#include "core/adapter/services.h"
#include "tests/simulation/trial.h"

// For the engine of a process; none without plan.raters.
const struct scorer *const *raters_list(struct trial *trial, size_t *count);
// The clock that measures their calls.
int64_t raters_ticks(void);
