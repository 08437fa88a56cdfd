// SPDX-License-Identifier: Apache-2.0
// Takes its time.
// finds: time update
#include "tests/conformance/template.h"

UPDATE_FUNCTION(update) {
    volatile unsigned long sum = 0;
    for (unsigned long i = 0; i < 30000000; i++)
        sum += i;
    return WHARF_OK;
}

#define UPDATE update
#include "tests/conformance/adapter.h"
