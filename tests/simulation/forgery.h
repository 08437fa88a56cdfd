// SPDX-License-Identifier: Apache-2.0
// Third parties with rights in a worker, who make what looks like a mirror: a copy of one, in another worker, under
// another name, of a higher attempt. What they make shows in all that would come of it: nine pods, attempts beyond a
// thousand.
#ifndef WHARF_SIMULATION_FORGERY_H
#define WHARF_SIMULATION_FORGERY_H

#include "tests/simulation/trial.h"

// In half of the trials the host has a key.
struct seal_keys *forgery_keys(uint64_t seed);

// Puts a copy of the mirror into `cluster`, under its own name or another one.
void forgery_make(struct trial *trial, size_t kind, const struct json *mirror, size_t cluster, const char *name);

bool forgery_is(const struct json *object);

// Gives an object the seal that an earlier process of the host would have given it.
void forgery_seal(struct trial *trial, size_t kind, size_t cluster, struct json *object);

// A workload was written by the host: nothing of it comes from what was forged.
void forgery_check(struct trial *trial, const struct json *workload);

#endif
