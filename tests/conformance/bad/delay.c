// SPDX-License-Identifier: Apache-2.0
// Wants to be called again in a week.
// finds: delay status, always status
#include "tests/conformance/template.h"

STATUS_FUNCTION(status) {
    call->answer->retry_after_ms = 7u * 24 * 3600 * 1000;
    return WHARF_RETRY;
}

#define STATUS status
#include "tests/conformance/adapter.h"
