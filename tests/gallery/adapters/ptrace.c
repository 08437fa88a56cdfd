// SPDX-License-Identifier: Apache-2.0
// Traces the process that started this one.
#define FARM "ptrace"
#include "tests/gallery/farm.h"

#include <sys/ptrace.h>
#include <unistd.h>

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
}
