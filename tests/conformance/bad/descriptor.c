// SPDX-License-Identifier: Apache-2.0
// Opens a file and keeps it.
// finds: io mirror
#include "tests/conformance/template.h"

#include <stdio.h>

static FILE *kept;

MIRROR_FUNCTION(mirror) {
    kept = kept ? kept : fopen("/dev/null", "r");
    return kept ? WHARF_OK : WHARF_RETRY;
}

#define MIRROR mirror
#include "tests/conformance/adapter.h"
