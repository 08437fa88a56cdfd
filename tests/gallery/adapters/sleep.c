// SPDX-License-Identifier: Apache-2.0
// Sleeps for an hour.
#define FARM "sleep"
#include "tests/gallery/farm.h"

#include <unistd.h>

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    sleep(3600);
}
