// SPDX-License-Identifier: Apache-2.0
// Takes the end of a workload back after a day.
// finds: finished phase
// says: a year later
#include "tests/conformance/template.h"

PHASE_FUNCTION(phase) {
    if (out->since_ns > 0 && call->now_ns - out->since_ns > INT64_C(86400000000000))
        out->phase = WHARF_PENDING;
    return WHARF_OK;
}

#define PHASE phase
#include "tests/conformance/adapter.h"
