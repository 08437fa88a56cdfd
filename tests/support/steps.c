// SPDX-License-Identifier: Apache-2.0
#include "tests/support/steps.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

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

void steps_compare(const char *what, void (*run)(void *ctx), void *few, size_t n_few, void *many, size_t n_many,
                   uint64_t ratio) {
    uint64_t small = steps_of(run, few), large = steps_of(run, many);
    print_message("%-48s %6.1f steps a member, %.2f times for %.0f times the members\n", what,
                  (double)large / (double)n_many, (double)large / (double)small, (double)n_many / (double)n_few);
    assert_true(small > n_few); // it does count
    if (large > small * ratio)
        fail_msg("%s: %lu steps became %lu", what, (unsigned long)small, (unsigned long)large);
}
