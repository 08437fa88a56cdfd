// SPDX-License-Identifier: Apache-2.0
// Waits for a number to become another.
// finds: hang status
#include "tests/conformance/template.h"

static volatile int forever = 1;

STATUS_FUNCTION(status) {
    if (host->type(host->find(workload, "/spec/suspend")) == WHARF_ARRAY)
        while (forever)
            continue;
    return WHARF_OK;
}

#define STATUS status
#include "tests/conformance/adapter.h"
