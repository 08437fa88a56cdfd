// SPDX-License-Identifier: Apache-2.0
// Gives the mirror everything that the workload has.
// finds: mirror-clean mirror
#include "tests/conformance/template.h"

MIRROR_FUNCTION(mirror) {
    host->set(mirror, "/metadata/finalizers", host->parse(call, "[\"example.com/f\"]", 17));
    host->set(mirror, "/metadata/uid", host->find(workload, "/metadata/uid"));
    host->set(mirror, "/spec/managedBy", host->find(workload, "/spec/managedBy"));
    host->set_integer(mirror, "/spec/ttl", 60);
    host->set(mirror, "/status", host->find(workload, "/status"));
    return WHARF_OK;
}

#define MIRROR mirror
#include "tests/conformance/adapter.h"
