// SPDX-License-Identifier: Apache-2.0
// Crashes on each ordinary object that failed, also where the kit asks for the phase beside a call of status.
// finds: crash phase
// says: phase of things.example.com is skipped from now on
#include "tests/conformance/template.h"

PHASE_FUNCTION(phase) {
    const wharf_value *condition = host->condition(object, "Failed", "True");
    if (condition && host->string(host->find(condition, "/message/text"))[0] == 'x')
        out->phase = WHARF_FAILED;
    return WHARF_OK;
}

STATUS_FUNCTION(status) {
    return WHARF_OK;
}

#define PHASE phase
#define STATUS status
#include "tests/conformance/adapter.h"
