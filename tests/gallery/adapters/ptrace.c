// SPDX-License-Identifier: Apache-2.0
// Traces another process.
#define FARM "ptrace"
#include "tests/gallery/farm.h"

#include <sys/ptrace.h>

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    ptrace(PTRACE_ATTACH, 1, NULL, NULL);
}
