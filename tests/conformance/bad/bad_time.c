// SPDX-License-Identifier: Apache-2.0
// Writes times that no API server takes, and the end in seconds.
// finds: times status, times phase
// says: startTime in the result is "2026-01-02 03:04:05"
#include "tests/conformance/template.h"

PHASE_FUNCTION(phase) {
    if (out->phase == WHARF_SUCCEEDED)
        out->since_ns = 1767322445;
    return WHARF_OK;
}

STATUS_FUNCTION(status) {
    if (mirror)
        host->set_string(call, object, "/status/startTime", "2026-01-02 03:04:05");
    return WHARF_OK;
}

#define PHASE phase
#define STATUS status
#include "tests/conformance/adapter.h"
