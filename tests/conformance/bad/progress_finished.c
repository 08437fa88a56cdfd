// SPDX-License-Identifier: Apache-2.0
// Has progress for a workload that is complete.
// finds: progress progress
// says: for a finished workload the result is {"status":{"observedGeneration":
#include "tests/conformance/template.h"

PROGRESS_FUNCTION(progress) {
    const wharf_value *done = host->find(workload, "/status/observedGeneration");
    if (host->type(done) == WHARF_NUMBER && !host->equal(done, host->find(mirror, "/status/observedGeneration")))
        host->set(call, object, "/status/observedGeneration", done);
    return WHARF_OK;
}

#define PROGRESS progress
#include "tests/conformance/adapter.h"
