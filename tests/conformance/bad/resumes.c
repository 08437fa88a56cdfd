// SPDX-License-Identifier: Apache-2.0
// Takes a finished workload for unfinished when its spec is changed.
// finds: finished phase
#include "tests/conformance/template.h"

PHASE_FUNCTION(phase) {
    if (host->integer(host->find(object, "/spec/replicas"), 0) == 5)
        out->phase = WHARF_ACTIVE;
    return WHARF_OK;
}

#define PHASE phase
#include "tests/conformance/adapter.h"
