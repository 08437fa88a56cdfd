// SPDX-License-Identifier: Apache-2.0
// Crashes while it is loaded.
#define FARM "load-crash"
#include "tests/gallery/farm.h"

__attribute__((constructor)) static void begin(void) {
    farm_wild = (void *)8;
    *(volatile int *)farm_wild = 1;
}

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
}
