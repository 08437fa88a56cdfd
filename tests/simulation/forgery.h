// SPDX-License-Identifier: Apache-2.0
// Third parties with permissions in a worker, who forge mirrors: copies, in another worker, under another name, of a
// higher attempt. Forgeries are recognisable in whatever is derived from them: nine pods, attempts beyond a thousand.
#pragma once

#include "tests/simulation/trial.h"

// In half of the trials the host has a key.
struct seal_keys *forgery_keys(uint64_t seed);

// Creates a copy of the mirror in `cluster`, under its own name or another one.
void forgery_make(struct trial *trial, size_t kind, const struct json *mirror, size_t cluster, const char *name);

bool forgery_is(const struct json *object);

// Gives an object the seal that an earlier process of the host would have given it.
void forgery_seal(struct trial *trial, size_t kind, size_t cluster, struct json *object);

// The host wrote a workload: checks that nothing of it comes from a forgery.
void forgery_check(struct trial *trial, const struct json *workload);
