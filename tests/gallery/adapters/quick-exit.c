// SPDX-License-Identifier: Apache-2.0
// Ends the process without the functions of atexit.
#define FARM "quick-exit"
#include "tests/gallery/farm.h"

#include <unistd.h>

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    _exit(0);
}
