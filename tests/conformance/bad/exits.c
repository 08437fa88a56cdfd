// SPDX-License-Identifier: Apache-2.0
// Ends the process when it does not like a status.
// finds: exit status
#include "tests/conformance/template.h"

#include <stdlib.h>

STATUS_FUNCTION(status) {
    if (host->type(host->find(object, "/status/conditions")) == WHARF_STRING)
        _Exit(3);
    return WHARF_OK;
}

#define STATUS status
#include "tests/conformance/adapter.h"
