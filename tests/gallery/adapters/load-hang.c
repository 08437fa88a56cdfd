// SPDX-License-Identifier: Apache-2.0
// Never ends being loaded.
#define FARM "load-hang"
#define HARMLESS_CALLS
#include "tests/gallery/farm.h"

#include <unistd.h>

__attribute__((constructor)) static void begin(void) {
    for (;;)
        farm_wild = NULL;
}
