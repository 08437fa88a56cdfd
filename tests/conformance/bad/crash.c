// SPDX-License-Identifier: Apache-2.0
// Trusts that a condition has a reason.
// finds: crash phase
#include "tests/conformance/template.h"

PHASE_FUNCTION(phase) {
    const wharf_value *condition = host->find_where(object, "/status/conditions", "type", "Failed");
    if (condition && host->string(host->find(condition, "/reason"))[0] == 'x')
        out->phase = WHARF_FAILED;
    return WHARF_OK;
}

#define PHASE phase
#include "tests/conformance/adapter.h"
