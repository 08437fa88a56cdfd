// SPDX-License-Identifier: Apache-2.0
// Makes the mirror complete before it has run.
// finds: progress progress
// says: the mirror is WHARF_SUCCEEDED with the result, before it has run
#include "tests/conformance/template.h"

PROGRESS_FUNCTION(progress) {
    if (!host->condition(workload, "Complete", "True") && !host->condition(workload, "Failed", "True") &&
        host->type(host->find(workload, "/status/observedGeneration")) == WHARF_NUMBER &&
        !host->condition(mirror, "Complete", "True"))
        host->set_condition(call, object, "Complete", "True", "Done", "it is done");
    return WHARF_OK;
}

#define PROGRESS progress
#include "tests/conformance/adapter.h"
