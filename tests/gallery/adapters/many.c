// SPDX-License-Identifier: Apache-2.0
// Answers with a status of ten million small values.
#define FARM "many"
#include "tests/gallery/farm.h"

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)object;
    wharf_value *parts = host->new_array(call);
    for (int64_t i = 0; i < 10000000; i++)
        host->set_integer(call, parts, "/-", i);
    host->set(call, out, "/status/parts", parts);
}
