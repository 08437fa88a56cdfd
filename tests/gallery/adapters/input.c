// SPDX-License-Identifier: Apache-2.0
// Overwrites the object that it was given.
#define FARM "input"
#include "tests/gallery/farm.h"

#include <string.h>

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)out;
    farm_wild = (void *)(uintptr_t)object;
    memset(farm_wild, 0x41, 64);
}
