// SPDX-License-Identifier: Apache-2.0
// Rates a worker with 101.
// finds: score score
#include "tests/conformance/template.h"

SCORE_FUNCTION(score) {
    const char *name = host->string(host->find(workers, "/0/name"));
    host->set_integer(call, scores, host->format(call, "/%s", name), 101);
    return WHARF_OK;
}

#define SCORE score
#include "tests/conformance/adapter.h"
