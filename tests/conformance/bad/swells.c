// SPDX-License-Identifier: Apache-2.0
// Takes more and more memory for one call.
// finds: memory status
// says: status took more than
#include "tests/conformance/template.h"

#include <stdlib.h>
#include <string.h>

STATUS_FUNCTION(status) {
    while (host->type(host->find(workload, "/spec/suspend")) == WHARF_ARRAY) {
        char *more = malloc((size_t)16 << 20);
        if (more)
            memset(more, 1, (size_t)16 << 20);
    }
    return WHARF_OK;
}

#define STATUS status
#include "tests/conformance/adapter.h"
