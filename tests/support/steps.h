// SPDX-License-Identifier: Apache-2.0
// How much code ran: the basic blocks of the files in tests/steps.mk, which is the same at each run and on each
// machine.
#ifndef WHARF_TESTS_STEPS_H
#define WHARF_TESTS_STEPS_H

#include <stddef.h>
#include <stdint.h>

uint64_t steps_so_far(void);

// Runs `run(ctx)` and gives its steps.
uint64_t steps_of(void (*run)(void *ctx), void *ctx);

#endif
