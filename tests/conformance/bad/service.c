// SPDX-License-Identifier: Apache-2.0
// Sets a field to what it has not found.
// finds: service mirror
// says: /spec/copied
#include "tests/conformance/template.h"

MIRROR_FUNCTION(mirror) {
    host->set(call, mirror, "/spec/copied", host->find(workload, "/spec/nowhere"));
    return WHARF_OK;
}

#define MIRROR mirror
#include "tests/conformance/adapter.h"
