// SPDX-License-Identifier: Apache-2.0
// memory.maxWorkloads in some trials. Checks that a workload beyond it is not taken in, and told so, and (by what all
// trials must come to) that it is taken in when there is room.
#pragma once

#include "core/engine/event.h"
#include "tests/simulation/trial.h"

struct intake *intake_new(struct trial *trial);
int64_t intake_due(const struct trial *trial);
void intake_act(struct trial *trial);
void intake_end(struct trial *trial); // there is room for all that is there
size_t intake_max(const struct trial *trial);

// Around each step of the engine with an event.
void intake_before(struct trial *trial, const struct engine_event *event);
void intake_after(struct trial *trial, const struct update *update, size_t n_events);
void intake_check(struct trial *trial); // often
