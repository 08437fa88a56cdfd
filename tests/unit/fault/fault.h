// SPDX-License-Identifier: Apache-2.0
// Makes allocations fail. The programs of this folder are linked with --wrap for the allocating functions
// (tests/fault.mk), so that every call from the core passes through here; libraries' own calls do not. What was handed
// out is remembered until it is freed, so that a leak is noticed at the very failure that causes it.
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum fault_mode {
    FAULT_ONE,     // the nth allocation fails
    FAULT_ALL_FROM // the nth and all later ones
};

// From now on the nth allocation (from 1) is made to fail.
void fault_arm(enum fault_mode mode, size_t nth);
// Ends it; true if an allocation was made to fail.
bool fault_disarm(void);
bool fault_hit(void);
// For what the test itself allocates in between; not nested.
void fault_pause(void);
void fault_resume(void);
// Blocks handed out and not freed.
size_t fault_live(void);

// One thing to be tried with each allocation failing in turn, alone and with all later ones.
struct fault_case {
    const char *name;
    // Does it. On success *out may be anything; on an error it is ignored.
    struct error *(*run)(void **out);
    // Whether the result is what it should be; called with no failure armed. May be NULL.
    bool (*right)(const void *out);
    void (*drop)(void *out); // may be NULL
};

// Fails the test (cmocka) unless each failure leads to ERROR_NO_MEMORY or to the right result, without a leak.
void fault_try(const struct fault_case *c);
