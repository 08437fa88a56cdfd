// SPDX-License-Identifier: Apache-2.0
// Changes the spec with the progress.
// finds: progress-only progress, progress-only child_progress
// says: /spec is in the result
// says: /status in the result is not an object
#include "tests/conformance/template.h"

PROGRESS_FUNCTION(progress) {
    host->set_integer(call, object, "/spec/replicas", 1);
    return WHARF_OK;
}

PROGRESS_FUNCTION(child_progress) {
    host->set_string(call, object, "/status", "done");
    return WHARF_OK;
}

#define PROGRESS progress
#define CHILD_PROGRESS child_progress
#include "tests/conformance/adapter.h"
