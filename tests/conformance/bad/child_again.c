// SPDX-License-Identifier: Apache-2.0
// Gives each child one more than it has.
// finds: progress-stable child_progress
// says: once the object has what was set,
#include "tests/conformance/template.h"

PROGRESS_FUNCTION(child_progress) {
    host->set_integer(call, object, "/status/succeeded", 1 + host->integer(host->find(mirror, "/status/succeeded"), 0));
    return WHARF_OK;
}

#define CHILD_PROGRESS child_progress
#include "tests/conformance/adapter.h"
