// SPDX-License-Identifier: Apache-2.0
// Forks a child that stays.
#define FARM "fork"
#include "tests/gallery/farm.h"

#include <unistd.h>

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    if (fork() == 0)
        for (;;)
            pause();
}
