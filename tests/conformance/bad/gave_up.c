// SPDX-License-Identifier: Apache-2.0
// A workload that no cluster accepts is told so in a field that no rule of its phases knows.
// finds: gave-up phase
// says: phase is WHARF_ACTIVE with gave_up_status
#include "tests/conformance/template.h"

PHASE_FUNCTION(phase) {
    return WHARF_OK;
}

static const wharf_status_change gave_up[] = {
    {WHARF_SET_TEXT, .name = "/status/state", .value = "Failed"},
    {WHARF_SET_TEXT, .name = "/status/why", .value = "{message}"},
    {.name = NULL},
};

#define PHASE phase
#define GAVE_UP gave_up
#include "tests/conformance/adapter.h"
