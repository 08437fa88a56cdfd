// SPDX-License-Identifier: Apache-2.0
// Reads a clock.
// finds: repeat status, restart status, status-stable status, clock status
#include "tests/conformance/template.h"

#include <time.h>

STATUS_FUNCTION(status) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    host->set_integer(call, object, "/status/seen", now.tv_nsec);
    return WHARF_OK;
}

#define STATUS status
#include "tests/conformance/adapter.h"
