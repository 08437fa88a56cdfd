// SPDX-License-Identifier: Apache-2.0
// Takes its time.
// finds: time update
#include "tests/conformance/template.h"

UPDATE_FUNCTION(update) {
    work_for(30); // with AddressSanitizer 20 are allowed
    return WHARF_OK;
}

#define UPDATE update
#include "tests/conformance/adapter.h"
