// SPDX-License-Identifier: Apache-2.0
// What a workload is told that no cluster accepts is taken away again, since it has no mirror.
// finds: gave-up status
// says: phase is WHARF_FAILED with gave_up_status, and WHARF_ACTIVE with the result of `status`
#include "tests/conformance/template.h"

STATUS_FUNCTION(status) {
    if (!mirror && !host->condition(workload, "Failed", NULL) && !host->condition(workload, "Complete", NULL))
        host->remove(call, object, "/status/conditions");
    return WHARF_OK;
}

static const wharf_status_change gave_up[] = {
    {WHARF_SET_CONDITION, WHARF_ALWAYS, "Failed", "True", "NoClusterAccepts", "{message}"},
    {WHARF_SET_TEXT, .name = "/status/why", .value = "{message}"},
    {.name = NULL},
};

#define STATUS status
#define GAVE_UP gave_up
#include "tests/conformance/adapter.h"
