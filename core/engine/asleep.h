// SPDX-License-Identifier: Apache-2.0
// A host that did not run for a while (its machine was suspended, its process stopped) has not tried to reach anybody
// meanwhile: rule 9, that time does not decide that a worker is given up.
#ifndef WHARF_ENGINE_ASLEEP_H
#define WHARF_ENGINE_ASLEEP_H

#include "core/engine/engine_internal.h"

#define ASLEEP_LATE_NS (10 * CLOCK_SECOND) // later than this for a step that was due
#define ASLEEP_GRACE_NS CLOCK_MINUTE       // for lost workers to be reached again, at most workerLostTimeout

// At the beginning of each step, before engine->now is that of the step.
void asleep_check(struct engine *engine, struct moment now);

#endif
