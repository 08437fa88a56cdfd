// SPDX-License-Identifier: Apache-2.0
// Makes memory that can be executed.
#define FARM "machine-code"
#include "tests/gallery/farm.h"

#include <sys/mman.h>

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    farm_wild = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
