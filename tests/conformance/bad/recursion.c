// SPDX-License-Identifier: Apache-2.0
// Follows nested values without looking how deep it is.
// finds: crash pod_sets
#include "tests/conformance/template.h"

static size_t depth(const wharf_value *value) {
    volatile char much[32768];
    much[0] = 0;
    size_t deepest = (size_t)much[0];
    for (const wharf_value *child = host->first(value); child; child = host->next(child)) {
        size_t found = 1 + depth(child);
        deepest = found > deepest ? found : deepest;
    }
    return deepest;
}

POD_SETS_FUNCTION(pod_sets) {
    return depth(workload) == 0 ? WHARF_REFUSED : WHARF_OK;
}

#define POD_SETS pod_sets
#include "tests/conformance/adapter.h"
