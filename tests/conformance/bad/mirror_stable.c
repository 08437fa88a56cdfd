// SPDX-License-Identifier: Apache-2.0
// Adds with the first change what it did not make the mirror with.
// finds: mirror-stable update
#include "tests/conformance/template.h"

UPDATE_FUNCTION(update) {
    host->set_integer(call, desired, "/spec/added", 1);
    return WHARF_OK;
}

#define UPDATE update
#include "tests/conformance/adapter.h"
