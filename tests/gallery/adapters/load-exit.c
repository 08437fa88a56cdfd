// SPDX-License-Identifier: Apache-2.0
// Ends the process while it is loaded, with a status that says that all went well.
#define FARM "load-exit"
#define HARMLESS_CALLS
#include "tests/gallery/farm.h"

#include <stdlib.h>

__attribute__((constructor)) static void begin(void) {
    exit(0);
}
