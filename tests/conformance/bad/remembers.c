// SPDX-License-Identifier: Apache-2.0
// Keeps something of the first object that it sees.
// finds: restart phase
#include "tests/conformance/template.h"

static char first[16];

PHASE_FUNCTION(phase) {
    if (first[0] == '\0')
        first[0] = host->string(host->find(object, "/metadata/name"))[0];
    out->message = first;
    return WHARF_OK;
}

#define PHASE phase
#include "tests/conformance/adapter.h"
