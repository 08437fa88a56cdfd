// SPDX-License-Identifier: Apache-2.0
// Leaves out that the mirror failed.
// finds: status-phase status, finished status
#include "tests/conformance/template.h"

STATUS_FUNCTION(status) {
    if (mirror && host->condition(mirror, "Failed", "True"))
        host->remove(call, object, "/status/conditions");
    return WHARF_OK;
}

#define STATUS status
#include "tests/conformance/adapter.h"
