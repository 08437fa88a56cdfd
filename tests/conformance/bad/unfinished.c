// SPDX-License-Identifier: Apache-2.0
// Takes the end of a workload back when its mirror is gone.
// finds: finished status
#include "tests/conformance/template.h"

STATUS_FUNCTION(status) {
    if (!mirror)
        host->remove(call, object, "/status/conditions");
    return WHARF_OK;
}

#define STATUS status
#include "tests/conformance/adapter.h"
