// SPDX-License-Identifier: Apache-2.0
// Counts executed basic blocks of the files in tests/steps.mk, which is reproducible across runs and machines.
#ifndef WHARF_TESTS_STEPS_H
#define WHARF_TESTS_STEPS_H

#include <stddef.h>
#include <stdint.h>

uint64_t steps_so_far(void);

// Runs `run(ctx)` and gives its steps.
uint64_t steps_of(void (*run)(void *ctx), void *ctx);

#endif
