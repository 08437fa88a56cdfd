// SPDX-License-Identifier: Apache-2.0
// Changes the umask and the directory.
#define FARM "umask"
#include "tests/gallery/farm.h"

#include <sys/stat.h>
#include <unistd.h>

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    umask(0);
    if (chdir("/") != 0)
        farm_wild = NULL;
}
