// SPDX-License-Identifier: Apache-2.0
// Expects an item in the list.
// finds: crash dependencies
#include "tests/conformance/template.h"

DEPENDENCIES_FUNCTION(dependencies) {
    const char *name = host->string(host->find(host->first(list), "/name"));
    if (name[0] != '\0')
        host->remove(call, list, "/0");
    return WHARF_OK;
}

#define DEPENDENCIES dependencies
#include "tests/conformance/adapter.h"
