// SPDX-License-Identifier: Apache-2.0
// Finds no pods in any object.
// finds: pod-sets-kept pod_sets
// says: all pods were removed in all
#include "tests/conformance/template.h"

POD_SETS_FUNCTION(pod_sets) {
    while (host->count(sets) > 0)
        if (host->remove(call, sets, "/0") == 0)
            break;
    return WHARF_OK;
}

#define POD_SETS pod_sets
#include "tests/conformance/adapter.h"
