// SPDX-License-Identifier: Apache-2.0
// Takes the end of a workload back until the controller has seen the last change of the spec.
// finds: finished phase
// says: with another generation
#include "tests/conformance/template.h"

PHASE_FUNCTION(phase) {
    int64_t generation = host->integer(host->find(object, "/metadata/generation"), 0);
    if (host->condition(object, "Complete", "True") && generation > 2)
        out->phase = WHARF_PENDING;
    return WHARF_OK;
}

#define PHASE phase
#include "tests/conformance/adapter.h"
