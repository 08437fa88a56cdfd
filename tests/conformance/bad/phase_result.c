// SPDX-License-Identifier: Apache-2.0
// Has no phase for an object without a status.
// finds: phase-result phase
#include "tests/conformance/template.h"

PHASE_FUNCTION(phase) {
    return !host->find(object, "/status") ? WHARF_RETRY : WHARF_OK;
}

#define PHASE phase
#include "tests/conformance/adapter.h"
