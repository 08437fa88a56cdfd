// SPDX-License-Identifier: Apache-2.0
// Stops the process.
#define FARM "stop"
#include "tests/gallery/farm.h"

#include <signal.h>

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    raise(SIGSTOP);
}
