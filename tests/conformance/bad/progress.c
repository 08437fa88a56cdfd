// SPDX-License-Identifier: Apache-2.0
// Gives as progress the generation that was observed: keeps every rule.
// finds: nothing
#include "tests/conformance/template.h"

PROGRESS_FUNCTION(progress) {
    if (host->condition(workload, "Complete", "True") || host->condition(workload, "Failed", "True"))
        return WHARF_OK;
    const wharf_value *done = host->find(workload, "/status/observedGeneration");
    if (host->type(done) == WHARF_NUMBER && !host->equal(done, host->find(mirror, "/status/observedGeneration")))
        host->set(call, object, "/status/observedGeneration", done);
    return WHARF_OK;
}

PROGRESS_FUNCTION(child_progress) {
    const wharf_value *done = host->find(workload, "/status/succeeded");
    if (host->type(done) == WHARF_NUMBER && !host->equal(done, host->find(mirror, "/status/succeeded")))
        host->set(call, object, "/status/succeeded", done);
    return WHARF_OK;
}

#define PROGRESS progress
#define CHILD_PROGRESS child_progress
#include "tests/conformance/adapter.h"
