// SPDX-License-Identifier: Apache-2.0
// Sleeps while it is loaded.
#define FARM "load-sleep"
#define HARMLESS_CALLS
#include "tests/gallery/farm.h"

#include <unistd.h>

__attribute__((constructor)) static void begin(void) {
    sleep(3600);
}
