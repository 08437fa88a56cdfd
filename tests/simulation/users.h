// SPDX-License-Identifier: Apache-2.0
// Users: they create Jobs of all shapes, change and delete them, and tamper with the host's objects.
#pragma once

#include "tests/simulation/trial.h"

#define USERS_EXPECTED "example.com/expected" // annotation: "Complete", "Failed", "any" of the two, or
#define USERS_RUNS "runs"                     // it need not finish

struct users *users_new(struct trial *trial);
int64_t users_due(const struct trial *trial);
// Performs the acts that are due.
void users_act(struct trial *trial);
// The time of one of their future acts, at which trouble has the most effect.
int64_t users_some_time(struct trial *trial);
