// SPDX-License-Identifier: Apache-2.0
// Writes the time of the call.
// finds: status-stable status
#include "tests/conformance/template.h"

STATUS_FUNCTION(status) {
    host->set_string(call, object, "/status/lastSeen", call->now);
    return WHARF_OK;
}

#define STATUS status
#include "tests/conformance/adapter.h"
