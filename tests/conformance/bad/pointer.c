// SPDX-License-Identifier: Apache-2.0
// Forgets the slash.
// finds: pointer status
#include "tests/conformance/template.h"

STATUS_FUNCTION(status) {
    return host->find(workload, "spec/replicas") ? WHARF_RETRY : WHARF_OK;
}

#define STATUS status
#include "tests/conformance/adapter.h"
