// SPDX-License-Identifier: Apache-2.0
// Takes the status of a child for an object with a text.
// finds: crash child_progress
#include "tests/conformance/template.h"

PROGRESS_FUNCTION(child_progress) {
    const char *text = host->string(host->find(workload, "/status/completedIndexes"));
    if (text[0] != '\0')
        host->set_string(call, object, "/status/completedIndexes", text);
    return WHARF_OK;
}

#define CHILD_PROGRESS child_progress
#include "tests/conformance/adapter.h"
