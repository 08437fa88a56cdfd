// SPDX-License-Identifier: Apache-2.0
// Writes garbage to all descriptors.
#define FARM "channel"
#include "tests/gallery/farm.h"

#include <string.h>
#include <unistd.h>

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    char garbage[4096];
    memset(garbage, 0xa5, sizeof garbage);
    for (int fd = 0; fd <= 40; fd++)
        if (write(fd, garbage, sizeof garbage) < 0)
            continue;
}
