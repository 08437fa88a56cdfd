// SPDX-License-Identifier: Apache-2.0
// Counts executed basic blocks of the files in STEPS_SRC of tests/unit.mk, which is reproducible across runs and
// machines.
#pragma once

#include <stddef.h>
#include <stdint.h>

uint64_t steps_so_far(void);

// Runs `run(ctx)` and gives its steps.
uint64_t steps_of(void (*run)(void *ctx), void *ctx);

// Fails the test unless run(many), over `n_many` members, takes at most `ratio` times the steps of run(few), over
// `n_few`.
void steps_compare(const char *what, void (*run)(void *ctx), void *few, size_t n_few, void *many, size_t n_many,
                   uint64_t ratio);
