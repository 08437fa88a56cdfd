// SPDX-License-Identifier: Apache-2.0
// Users: they make Jobs of all shapes, change them, delete them, and put their hands where they should not.
#ifndef WHARF_SIMULATION_USERS_H
#define WHARF_SIMULATION_USERS_H

#include "tests/simulation/trial.h"

#define USERS_EXPECTED "example.com/expected" // annotation: "Complete", "Failed", "any" of the two, or
#define USERS_RUNS "runs"                     // it need not finish

struct users *users_new(struct trial *trial);
int64_t users_due(const struct trial *trial);
// Does what is due by now.
void users_act(struct trial *trial);
// When one of the things happens that they will do: trouble is worst then.
int64_t users_some_time(struct trial *trial);

#endif
