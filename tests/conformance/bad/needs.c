// SPDX-License-Identifier: Apache-2.0
// Says that it needs less than it uses.
// finds: nothing
// says: the adapter needs ABI 1.1, and abi_minor states 1.0
// says: abi_minor states 1.0, and the adapter uses fields or services of 1.1, which an older host lacks
#define WHARF_NEEDS_MINOR 0
#include "tests/conformance/template.h"

static const wharf_status_change gave_up[] = {
    {WHARF_SET_CONDITION, .name = "Failed", .value = "True", .reason = "NotAccepted", .message = "{message}"},
    {.name = NULL},
};

#define GAVE_UP gave_up
#include "tests/conformance/adapter.h"
