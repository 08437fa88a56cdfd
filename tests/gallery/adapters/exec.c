// SPDX-License-Identifier: Apache-2.0
// Replaces the process by a shell.
#define FARM "exec"
#include "tests/gallery/farm.h"

#include <unistd.h>

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    execl("/bin/sh", "sh", "-c", "sleep 3600", (char *)NULL);
}
