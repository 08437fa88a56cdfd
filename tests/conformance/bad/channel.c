// SPDX-License-Identifier: Apache-2.0
// Writes to each descriptor that it finds.
// finds: io mirror
// says: mirror wrote to a descriptor of the host: "hello"
#include "tests/conformance/template.h"

MIRROR_FUNCTION(mirror) {
    for (int descriptor = 3; descriptor < 41; descriptor++)
        if (write(descriptor, "hello\n", 6) != 6)
            continue;
    return WHARF_OK;
}

#define MIRROR mirror
#include "tests/conformance/adapter.h"
