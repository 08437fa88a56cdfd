// SPDX-License-Identifier: Apache-2.0
// Leaks 16 MiB in each call.
#define FARM "leak"
#include "tests/gallery/farm.h"

#include <stdlib.h>
#include <string.h>

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    char *part = malloc((size_t)16 << 20);
    if (!part)
        abort();
    memset(part, 1, (size_t)16 << 20);
    farm_wild = part;
}
