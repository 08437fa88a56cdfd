// SPDX-License-Identifier: Apache-2.0
// Keeps what it found where every thread sees it.
// finds: several phase
// says: called in 4 threads at once
#include "tests/conformance/template.h"

static int finished;

PHASE_FUNCTION(phase) {
    finished = host->condition(object, "Complete", "True") ? 1 : 0;
    if (host->condition(object, "Failed", "True"))
        return WHARF_OK;
    if (finished)
        out->phase = WHARF_SUCCEEDED;
    return WHARF_OK;
}

#define PHASE phase
#include "tests/conformance/adapter.h"
