// SPDX-License-Identifier: Apache-2.0
// Names an object of a resource that it does not declare.
// finds: dependencies dependencies
// says: dependencies: item 1 has the resource "plans.example.com", expected one that pods can refer to
#include "tests/conformance/template.h"

DEPENDENCIES_FUNCTION(dependencies) {
    wharf_value *item = host->new_object(call);
    host->set_string(call, item, "/resource", "plans.example.com");
    host->set_string(call, item, "/name", "a-plan");
    host->remove(call, list, "/*");
    host->set(call, list, "/-", item);
    return WHARF_OK;
}

#define DEPENDENCIES dependencies
#include "tests/conformance/adapter.h"
