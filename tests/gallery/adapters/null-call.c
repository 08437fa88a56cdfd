// SPDX-License-Identifier: Apache-2.0
// Calls a function pointer that is NULL.
#define FARM "null-call"
#include "tests/gallery/farm.h"

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    ((void (*)(void))(uintptr_t)farm_wild)();
}
