// SPDX-License-Identifier: Apache-2.0
// Is never ready.
// finds: always status
// says: the result was WHARF_RETRY in all
#include "tests/conformance/template.h"

STATUS_FUNCTION(status) {
    return WHARF_RETRY;
}

#define STATUS status
#include "tests/conformance/adapter.h"
