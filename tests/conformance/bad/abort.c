// SPDX-License-Identifier: Apache-2.0
// Asserts what an object need not have.
// finds: crash mirror
#include "tests/conformance/template.h"

#include <stdlib.h>

MIRROR_FUNCTION(mirror) {
    if (host->type(host->find(workload, "/spec/template")) == WHARF_STRING)
        abort();
    return WHARF_OK;
}

#define MIRROR mirror
#include "tests/conformance/adapter.h"
