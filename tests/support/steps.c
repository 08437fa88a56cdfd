// SPDX-License-Identifier: Apache-2.0
#include "tests/support/steps.h"

static uint64_t steps;

// Called from each basic block that was compiled with -fsanitize-coverage=trace-pc.
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the compiler's name
__attribute__((visibility("default"))) void __sanitizer_cov_trace_pc(void);

void __sanitizer_cov_trace_pc(void) {
    steps++;
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)

uint64_t steps_so_far(void) {
    return steps;
}

uint64_t steps_of(void (*run)(void *ctx), void *ctx) {
    uint64_t before = steps;
    run(ctx);
    return steps - before;
}
