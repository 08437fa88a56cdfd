// SPDX-License-Identifier: Apache-2.0
// Recurses without an end.
#define FARM "recursion"
#include "tests/gallery/farm.h"

static int descend(int depth) {
    static int (*volatile deeper)(int) = descend;
    volatile char frame[4096];
    frame[0] = (char)depth;
    return deeper(depth + 1) + frame[0];
}

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    farm_wild = (void *)(uintptr_t)descend(1);
}
