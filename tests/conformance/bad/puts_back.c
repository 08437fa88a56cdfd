// SPDX-License-Identifier: Apache-2.0
// Copies the mirror's status anew, with what the kind's data says to leave out.
// finds: status-clean status
// says: /status/podNames is in the result
#include "tests/conformance/template.h"

STATUS_FUNCTION(status) {
    if (host->find(mirror, "/status/podNames"))
        host->take(call, object, mirror, "/status/podNames");
    return WHARF_OK;
}

#define STATUS_REMOVED "/status/podNames"
#define STATUS status
#include "tests/conformance/adapter.h"
