// SPDX-License-Identifier: Apache-2.0
// Keeps every rule: nothing may be found.
// finds: nothing
#include "tests/conformance/template.h"

PHASE_FUNCTION(phase) {
    return WHARF_OK;
}

ACCEPT_FUNCTION(accept) {
    return WHARF_OK;
}

MIRROR_FUNCTION(mirror) {
    return WHARF_OK;
}

UPDATE_FUNCTION(update) {
    return WHARF_OK;
}

STATUS_FUNCTION(status) {
    if (!mirror && call->mirror_state == WHARF_MIRROR_LOST)
        host->set_condition(call, object, "Lost", "True", "WorkerLost", "");
    return WHARF_OK;
}

POD_SETS_FUNCTION(pod_sets) {
    return WHARF_OK;
}

static const wharf_status_change gave_up[] = {
    {WHARF_SET_CONDITION, WHARF_ALWAYS, "Failed", "True", "NoClusterAccepts", "{message}"},
    {.name = NULL},
};

#define GAVE_UP gave_up
#define PHASE phase
#define ACCEPT accept
#define MIRROR mirror
#define UPDATE update
#define STATUS status
#define POD_SETS pod_sets
#include "tests/conformance/adapter.h"
