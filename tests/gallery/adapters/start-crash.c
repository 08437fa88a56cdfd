// SPDX-License-Identifier: Apache-2.0
// Crashes in start.
#define FARM "start-crash"
#define START                                                                                                          \
    farm_wild = (void *)8;                                                                                             \
    *(volatile int *)farm_wild = 1
#include "tests/gallery/farm.h"

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
}
