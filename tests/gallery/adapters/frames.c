// SPDX-License-Identifier: Apache-2.0
// Writes lengths of frames to all descriptors, and nothing behind them.
#define FARM "frames"
#include "tests/gallery/farm.h"

#include <unistd.h>

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    for (int fd = 3; fd <= 40; fd++)
        for (uint32_t length = 1; length > 0; length <<= 1)
            if (write(fd, &length, sizeof length) < 0)
                break;
}
