// SPDX-License-Identifier: Apache-2.0
// Crashes in start.
#define FARM "start-crash"
#define HARMLESS_CALLS
#define START                                                                                                          \
    farm_wild = (void *)8;                                                                                             \
    *(volatile int *)farm_wild = 1
#include "tests/gallery/farm.h"
