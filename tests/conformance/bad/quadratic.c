// SPDX-License-Identifier: Apache-2.0
// Compares each container with each other.
// finds: growth pod_sets
// says: items at /spec/template/spec/containers
#include "tests/conformance/template.h"

POD_SETS_FUNCTION(pod_sets) {
    const wharf_value *list = host->find(workload, "/spec/template/spec/containers");
    size_t later = 0;
    for (const wharf_value *a = host->first(list); a; a = host->next(a))
        for (const wharf_value *b = host->next(a); b; b = host->next(b))
            later += a != b;
    return later == SIZE_MAX ? WHARF_RETRY : WHARF_OK;
}

#define POD_SETS pod_sets
#include "tests/conformance/adapter.h"
