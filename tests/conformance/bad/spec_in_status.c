// SPDX-License-Identifier: Apache-2.0
// Writes a field of the spec with the status.
// finds: status-only status
// says: /spec is in the result
#include "tests/conformance/template.h"

STATUS_FUNCTION(status) {
    host->set_integer(call, object, "/spec/replicas", 0);
    return WHARF_OK;
}

#define STATUS status
#include "tests/conformance/adapter.h"
