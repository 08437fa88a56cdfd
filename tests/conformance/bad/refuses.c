// SPDX-License-Identifier: Apache-2.0
// Refuses the objects of --objects, and no other.
// finds: always accept
// says: calls with objects of --objects was WHARF_OK
#include "tests/conformance/template.h"

ACCEPT_FUNCTION(accept) {
    if (!host->find(workload, "/spec/ttl"))
        return WHARF_OK;
    call->answer->message = "ttl is not supported";
    return host->find(workload, "/spec/template/spec/containers/0/image") ? WHARF_REFUSED : WHARF_OK;
}

#define ACCEPT accept
#include "tests/conformance/adapter.h"
