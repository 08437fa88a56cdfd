// SPDX-License-Identifier: Apache-2.0
// Changes a mirror again and again.
// finds: mirror-stable update, update-stable update
#include "tests/conformance/template.h"

UPDATE_FUNCTION(update) {
    host->set_integer(call, desired, "/spec/turn", host->integer(host->find(mirror, "/spec/turn"), 0) + 1);
    return WHARF_OK;
}

#define UPDATE update
#include "tests/conformance/adapter.h"
