// SPDX-License-Identifier: Apache-2.0
// Changes the workload instead of its status.
// finds: input status
#include "tests/conformance/template.h"

STATUS_FUNCTION(status) {
    host->set_string(call, (wharf_value *)workload, "/status/seen", "yes");
    return WHARF_OK;
}

#define STATUS status
#include "tests/conformance/adapter.h"
