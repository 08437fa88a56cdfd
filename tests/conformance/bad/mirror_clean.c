// SPDX-License-Identifier: Apache-2.0
// Gives the mirror everything that the workload has.
// finds: mirror-clean mirror
#include "tests/conformance/template.h"

MIRROR_FUNCTION(mirror) {
    host->set(call, mirror, "/metadata/finalizers", host->parse(call, "[\"example.com/f\"]", 17));
    host->take(call, mirror, workload, "/metadata/uid");
    host->take(call, mirror, workload, "/spec/managedBy");
    host->set_integer(call, mirror, "/spec/ttl", 60);
    host->take(call, mirror, workload, "/status");
    return WHARF_OK;
}

#define MIRROR mirror
#include "tests/conformance/adapter.h"
