// SPDX-License-Identifier: Apache-2.0
// Sets a mark of the host, and gives the mirror another name.
// finds: marks mirror
#include "tests/conformance/template.h"

MIRROR_FUNCTION(mirror) {
    host->set_string(call, mirror, "/metadata/labels/wharf.dev~1uid", "mine");
    host->set_string(call, mirror, "/metadata/name", "another");
    return WHARF_OK;
}

#define MIRROR mirror
#include "tests/conformance/adapter.h"
