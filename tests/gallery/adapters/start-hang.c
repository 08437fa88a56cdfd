// SPDX-License-Identifier: Apache-2.0
// Never returns from start.
#define FARM "start-hang"
#define HARMLESS_CALLS
#define START                                                                                                          \
    for (;;)                                                                                                           \
    farm_wild = NULL
#include "tests/gallery/farm.h"
