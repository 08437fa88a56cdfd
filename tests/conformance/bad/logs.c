// SPDX-License-Identifier: Apache-2.0
// Tells the log everything.
// finds: log update
// says: log lines in one call
#include "tests/conformance/template.h"

UPDATE_FUNCTION(update) {
    for (int i = 0; i < 100; i++)
        host->log(call, WHARF_LOG_INFO, "another look");
    return WHARF_OK;
}

#define UPDATE update
#include "tests/conformance/adapter.h"
