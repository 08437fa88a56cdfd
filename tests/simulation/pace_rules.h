// SPDX-License-Identifier: Apache-2.0
// The rules of core/engine/request/pacing.h, checked after each step of the engine with what it sends and what waits:
// the window of each cluster is kept, no place stays empty while something waits for it, classes and authors take
// turns, and nothing starves. The rules count what is in flight, and turns, themselves.
#pragma once

#include "tests/simulation/trial.h"

struct pace_rules *pace_rules_new(void);
void pace_restarted(struct trial *trial);
void pace_left(struct trial *trial, size_t cluster); // requests to it are no longer waited for
void pace_answered(struct trial *trial, uint64_t command);
// The commands of a step begin at `first`.
void pace_sent(struct trial *trial, const struct update *update, size_t first);
