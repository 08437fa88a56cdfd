// SPDX-License-Identifier: Apache-2.0
// Changes the workload instead of its status.
// finds: input status
#include "tests/conformance/template.h"

STATUS_FUNCTION(status) {
    return host->set_string((wharf_value *)workload, "/status/seen", "yes") ? WHARF_OK : WHARF_RETRY;
}

#define STATUS status
#include "tests/conformance/adapter.h"
