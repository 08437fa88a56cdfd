// SPDX-License-Identifier: Apache-2.0
// Keeps a little of every call.
// finds: memory phase
#include "tests/conformance/template.h"

#include <stdlib.h>

static void *kept;

PHASE_FUNCTION(phase) {
    void **next = malloc(64);
    if (next)
        *next = kept;
    kept = next;
    return WHARF_OK;
}

#define PHASE phase
#include "tests/conformance/adapter.h"
