// SPDX-License-Identifier: Apache-2.0
// Opens a file.
#define FARM "open"
#include "tests/gallery/farm.h"

#include <fcntl.h>

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    open("/etc/passwd", O_RDONLY);
}
