// SPDX-License-Identifier: Apache-2.0
// Sets a mark of the host, and gives the mirror another name.
// finds: marks mirror
#include "tests/conformance/template.h"

MIRROR_FUNCTION(mirror) {
    return host->set_string(mirror, "/metadata/labels/wharf.dev~1uid", "mine") &&
                   host->set_string(mirror, "/metadata/name", "another")
               ? WHARF_OK
               : WHARF_RETRY;
}

#define MIRROR mirror
#include "tests/conformance/adapter.h"
