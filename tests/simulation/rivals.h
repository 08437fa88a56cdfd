// SPDX-License-Identifier: Apache-2.0
// A controller of the management cluster that ignores managedBy: it runs delegated workloads too, and writes its own
// final status while their mirrors run. Such a mirror is deleted once it has finished, or with its workload, and not
// before.
#pragma once

#include "tests/simulation/trial.h"

bool rivals_are_there(uint64_t seed);
int64_t rivals_due(const struct trial *trial);
void rivals_act(struct trial *trial);
// The host deleted a mirror, `object` as it was.
void rivals_check(struct trial *trial, size_t kind, const struct json *workload, const struct json *object);
