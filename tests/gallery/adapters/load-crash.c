// SPDX-License-Identifier: Apache-2.0
// Crashes while it is loaded.
#define FARM "load-crash"
#define HARMLESS_CALLS
#include "tests/gallery/farm.h"

__attribute__((constructor)) static void begin(void) {
    farm_wild = (void *)8;
    *(volatile int *)farm_wild = 1;
}
