// SPDX-License-Identifier: Apache-2.0
// Ignores the signals that would end the process, and then opens a file.
#define FARM "handler"
#include "tests/gallery/farm.h"

#include <fcntl.h>
#include <signal.h>

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)call;
    (void)object;
    (void)out;
    signal(SIGSYS, SIG_IGN);
    signal(SIGSEGV, SIG_IGN);
    signal(SIGXCPU, SIG_IGN);
    for (;;)
        open("/etc/passwd", O_RDONLY);
}
