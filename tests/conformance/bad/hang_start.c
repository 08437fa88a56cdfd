// SPDX-License-Identifier: Apache-2.0
// Never returns from start.
// finds: hang start
#include "tests/conformance/template.h"

static volatile int forever = 1;

#define START_CODE                                                                                                     \
    while (forever)                                                                                                    \
        continue;

#include "tests/conformance/adapter.h"
