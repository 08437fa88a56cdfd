// SPDX-License-Identifier: Apache-2.0
// Aborts.
#define FARM "abort"
#include "tests/gallery/farm.h"

#include <stdlib.h>

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    abort();
}
