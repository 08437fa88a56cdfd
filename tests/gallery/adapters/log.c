// SPDX-License-Identifier: Apache-2.0
// Floods the log.
#define FARM "log"
#include "tests/gallery/farm.h"

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)object;
    (void)out;
    for (int i = 0; i < 200000; i++)
        host->log(call, WHARF_LOG_ERROR,
                  "a line of a flood, which says nothing, but is as long as an adapter's lines are");
}
