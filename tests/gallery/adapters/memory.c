// SPDX-License-Identifier: Apache-2.0
// Takes 10 GiB.
#define FARM "memory"
#include "tests/gallery/farm.h"

#include <stdlib.h>
#include <string.h>

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    for (int i = 0; i < 160; i++) {
        char *part = malloc((size_t)64 << 20);
        if (!part)
            abort();
        memset(part, 1, (size_t)64 << 20);
        farm_wild = part;
    }
}
