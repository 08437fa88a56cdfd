// SPDX-License-Identifier: Apache-2.0
// Makes a mirror without pods.
// finds: mirror-whole mirror
// says: /spec/template is not in the mirror
#include "tests/conformance/template.h"

MIRROR_FUNCTION(mirror) {
    host->remove(call, mirror, "/spec/template");
    return WHARF_OK;
}

#define MIRROR mirror
#include "tests/conformance/adapter.h"
