// SPDX-License-Identifier: Apache-2.0
// Terminates its process group.
#define FARM "kill-all"
#include "tests/gallery/farm.h"

#include <signal.h>
#include <unistd.h>

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    kill(0, SIGTERM);
}
