// SPDX-License-Identifier: Apache-2.0
// Never returns.
#define FARM "loop"
#include "tests/gallery/farm.h"

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    for (;;)
        farm_wild = NULL;
}
