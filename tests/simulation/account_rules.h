// SPDX-License-Identifier: Apache-2.0
// The accounts of a replica, checked every few turns of its engine: a counter never falls while the process lives, and
// nothing is used, or runs, less than not at all.
#pragma once

#include "tests/simulation/trial.h"

void account_rules_turn(struct trial *trial);
