// SPDX-License-Identifier: Apache-2.0
// Writes to an address that is not mapped.
#define FARM "segv"
#include "tests/gallery/farm.h"

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    farm_wild = (void *)8;
    *(volatile int *)farm_wild = 1;
}
