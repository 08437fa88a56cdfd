// SPDX-License-Identifier: Apache-2.0
// Has counts that are words.
// finds: pod-sets pod_sets
#include "tests/conformance/template.h"

POD_SETS_FUNCTION(pod_sets) {
    const wharf_value *first = host->first(sets);
    if (first)
        host->set_string(sets, "/0/count", "two");
    return WHARF_OK;
}

#define POD_SETS pod_sets
#include "tests/conformance/adapter.h"
