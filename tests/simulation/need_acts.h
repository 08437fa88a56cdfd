// SPDX-License-Identifier: Apache-2.0
// What people, strangers and controllers do to the objects of needs.h. Internal to it.
#pragma once

#include "tests/simulation/needs.h"

struct need_acts;
struct need_acts *need_acts_new(struct trial *trial); // sets all clusters up
int64_t need_acts_due(const struct need_acts *acts);
void need_acts_run(struct trial *trial, struct need_acts *acts);
void need_acts_end(struct trial *trial, struct need_acts *acts);
void need_acts_provide(struct trial *trial, size_t index); // in all clusters that need it
void need_acts_set_up(struct trial *trial, size_t cluster);
