// SPDX-License-Identifier: Apache-2.0
// Closes what it did not open, as far as the descriptor by which the kit hears of it.
// finds: io status
// says: status closed or replaced descriptors of the host
#include "tests/conformance/template.h"

STATUS_FUNCTION(status) {
    if (host->condition(workload, "Complete", "True"))
        for (int descriptor = 3; descriptor < 41; descriptor++)
            close(descriptor);
    return WHARF_OK;
}

#define STATUS status
#include "tests/conformance/adapter.h"
