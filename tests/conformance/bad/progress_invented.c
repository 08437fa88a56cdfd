// SPDX-License-Identifier: Apache-2.0
// Has progress for a workload of which no status says anything.
// finds: progress progress
// says: for a workload without a status the result is {"status":{"done":1}}
#include "tests/conformance/template.h"

PROGRESS_FUNCTION(progress) {
    if (!host->condition(workload, "Complete", "True") && !host->condition(workload, "Failed", "True") &&
        !host->find(mirror, "/status/done"))
        host->set_integer(call, object, "/status/done", 1);
    return WHARF_OK;
}

#define PROGRESS progress
#include "tests/conformance/adapter.h"
