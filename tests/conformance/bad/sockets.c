// SPDX-License-Identifier: Apache-2.0
// Makes a system call that no function of libc has a name for, and leaves no trace.
// finds: forbidden mirror
// says: mirror makes the system call socket, at which the host's sandbox ends the process
#include "tests/conformance/template.h"

#include <sys/socket.h>

MIRROR_FUNCTION(mirror) {
    long made = syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
    if (made >= 0)
        syscall(SYS_close, made);
    return WHARF_OK;
}

#define MIRROR mirror
#include "tests/conformance/adapter.h"
