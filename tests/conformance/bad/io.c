// SPDX-License-Identifier: Apache-2.0
// Writes to standard error.
// finds: io mirror
#include "tests/conformance/template.h"

#include <stdio.h>

MIRROR_FUNCTION(mirror) {
    fputs("a mirror\n", stderr);
    return WHARF_OK;
}

#define MIRROR mirror
#include "tests/conformance/adapter.h"
