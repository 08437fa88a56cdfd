// SPDX-License-Identifier: Apache-2.0
// Reads a file, and closes it again.
// finds: io phase
// says: opens a file: fopen("/etc/hostname")
#include "tests/conformance/template.h"

#include <stdio.h>

PHASE_FUNCTION(phase) {
    FILE *file = fopen("/etc/hostname", "r");
    if (file)
        fclose(file);
    return WHARF_OK;
}

#define PHASE phase
#include "tests/conformance/adapter.h"
