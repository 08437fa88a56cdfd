// SPDX-License-Identifier: Apache-2.0
// Ends the process as soon as it is loaded, with a status that looks like success.
// finds: exit start
// says: start ended the process with exit code 0
#include "tests/conformance/template.h"

#include <stdlib.h>

__attribute__((constructor)) static void leave(void) {
    exit(0);
}

#include "tests/conformance/adapter.h"
