// SPDX-License-Identifier: Apache-2.0
// Closes descriptors.
#define FARM "close"
#include "tests/gallery/farm.h"

#include <unistd.h>

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    for (int fd = 3; fd <= 40; fd++)
        close(fd);
}
