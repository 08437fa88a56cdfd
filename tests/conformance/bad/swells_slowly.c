// SPDX-License-Identifier: Apache-2.0
// Takes more and more memory for one call, so slowly that its time is over long before the machine's memory.
// finds: memory status
// says: status took more than 8 MB
#include "tests/conformance/template.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK ((size_t)1 << 20)
#define TURN_MS 50

STATUS_FUNCTION(status) {
    while (host->type(host->find(workload, "/spec/suspend")) == WHARF_ARRAY) {
        char *more = malloc(CHUNK);
        if (more)
            memset(more, 1, CHUNK);
        work_for(TURN_MS);
    }
    return WHARF_OK;
}

#define STATUS status
#include "tests/conformance/adapter.h"
