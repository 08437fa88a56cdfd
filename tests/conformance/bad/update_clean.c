// SPDX-License-Identifier: Apache-2.0
// Carries managedBy later.
// finds: mirror-stable update, update-clean update
#include "tests/conformance/template.h"

UPDATE_FUNCTION(update) {
    host->take(call, desired, workload, "/spec/managedBy");
    return WHARF_OK;
}

#define UPDATE update
#include "tests/conformance/adapter.h"
