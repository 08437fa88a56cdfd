// SPDX-License-Identifier: Apache-2.0
// Writes to the memory of the process by its file.
#define FARM "proc-mem"
#include "tests/gallery/farm.h"

#include <fcntl.h>
#include <unistd.h>

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    int fd = open("/proc/self/mem", O_RDWR);
    char zeros[4096] = {0};
    if (pwrite(fd, zeros, sizeof zeros, (off_t)(uintptr_t)host->find) < 0)
        farm_wild = NULL;
}
