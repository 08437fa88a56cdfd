// SPDX-License-Identifier: Apache-2.0
// Never returns from start.
#define FARM "start-hang"
#define START                                                                                                          \
    for (;;)                                                                                                           \
    farm_wild = NULL
#include "tests/gallery/farm.h"

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
}
