// SPDX-License-Identifier: Apache-2.0
// Sleeps while it is loaded.
#define FARM "load-sleep"
#include "tests/gallery/farm.h"

#include <unistd.h>

__attribute__((constructor)) static void begin(void) {
    sleep(3600);
}

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
}
