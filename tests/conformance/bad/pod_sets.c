// SPDX-License-Identifier: Apache-2.0
// Has counts that are words.
// finds: pod-sets pod_sets
#include "tests/conformance/template.h"

POD_SETS_FUNCTION(pod_sets) {
    host->set_string(call, sets, "/*/count", "two");
    return WHARF_OK;
}

#define POD_SETS pod_sets
#include "tests/conformance/adapter.h"
