// SPDX-License-Identifier: Apache-2.0
// Refuses and does not say why.
// finds: message mirror
#include "tests/conformance/template.h"

MIRROR_FUNCTION(mirror) {
    return host->type(host->find(workload, "/spec/template")) == WHARF_STRING ? WHARF_REFUSED : WHARF_OK;
}

#define MIRROR mirror
#include "tests/conformance/adapter.h"
