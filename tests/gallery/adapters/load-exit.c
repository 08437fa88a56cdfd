// SPDX-License-Identifier: Apache-2.0
// Ends the process while it is loaded, with a status that says that all went well.
#define FARM "load-exit"
#include "tests/gallery/farm.h"

#include <stdlib.h>

__attribute__((constructor)) static void begin(void) {
    exit(0);
}

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
}
