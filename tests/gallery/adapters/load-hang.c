// SPDX-License-Identifier: Apache-2.0
// Never ends being loaded.
#define FARM "load-hang"
#include "tests/gallery/farm.h"

#include <unistd.h>

__attribute__((constructor)) static void begin(void) {
    for (;;)
        farm_wild = NULL;
}

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
}
