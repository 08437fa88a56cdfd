// SPDX-License-Identifier: Apache-2.0
// Gives its progress to a mirror that has it.
// finds: progress-stable progress
// says: once the object has what was set, the result is {"status":{"observedGeneration":1}}
#include "tests/conformance/template.h"

PROGRESS_FUNCTION(progress) {
    if (!host->condition(workload, "Complete", "True") && !host->condition(workload, "Failed", "True") &&
        host->integer(host->find(workload, "/status/observedGeneration"), 0) > 0)
        host->set_integer(call, object, "/status/observedGeneration", 1);
    return WHARF_OK;
}

#define PROGRESS progress
#include "tests/conformance/adapter.h"
