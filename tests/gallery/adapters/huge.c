// SPDX-License-Identifier: Apache-2.0
// Answers with a status of 1 GiB.
#define FARM "huge"
#include "tests/gallery/farm.h"

#include <string.h>

static void harm(const wharf_call *call, const wharf_value *object, void *out) {
    (void)object;
    char *text = host->memory(call, ((size_t)16 << 20) + 1);
    if (!text)
        return;
    memset(text, 'x', (size_t)16 << 20);
    const wharf_value *part = host->new_string(call, text);
    wharf_value *parts = host->new_array(call);
    for (int i = 0; i < 64; i++)
        host->set(call, parts, "/-", part);
    host->set(call, out, "/status/parts", parts);
}
