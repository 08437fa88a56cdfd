// SPDX-License-Identifier: Apache-2.0
// Reads a clock.
// finds: repeat status, restart status, status-stable status, clock status
#include "tests/conformance/template.h"

#include <time.h>

STATUS_FUNCTION(status) {
    struct timespec now;
    return clock_gettime(CLOCK_MONOTONIC, &now) == 0 && host->set_integer(status, "/seen", now.tv_nsec) ? WHARF_OK
                                                                                                        : WHARF_RETRY;
}

#define STATUS status
#include "tests/conformance/adapter.h"
