// SPDX-License-Identifier: Apache-2.0
// Sleeps in each call, by no function of libc that has a name for that.
// finds: time phase
// says: waited
#include "tests/conformance/template.h"

PHASE_FUNCTION(phase) {
    struct timespec duration = {.tv_nsec = 50000000};
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &duration, NULL);
    return WHARF_OK;
}

STATUS_FUNCTION(status) {
    return WHARF_OK;
}

#define PHASE phase
#define STATUS status
#include "tests/conformance/adapter.h"
