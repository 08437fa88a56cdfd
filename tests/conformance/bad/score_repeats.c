// SPDX-License-Identifier: Apache-2.0
// Rates by the number of its calls.
// finds: repeat score
#include "tests/conformance/template.h"

static int64_t calls;

SCORE_FUNCTION(score) {
    const char *name = host->string(host->find(workers, "/0/name"));
    host->set_integer(call, scores, host->format(call, "/%s", name), ++calls % 100);
    return WHARF_OK;
}

#define SCORE score
#include "tests/conformance/adapter.h"
