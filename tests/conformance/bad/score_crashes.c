// SPDX-License-Identifier: Apache-2.0
// Takes for granted that the free resources of each worker are known.
// finds: crash score
#include "tests/conformance/template.h"

SCORE_FUNCTION(score) {
    for (const wharf_value *worker = host->first(workers); worker; worker = host->next(worker)) {
        const char *name = host->name(host->first(host->find(worker, "/free")));
        if (name[0] == 'c')
            host->set_integer(call, scores, "/w2", 1);
    }
    return WHARF_OK;
}

#define SCORE score
#include "tests/conformance/adapter.h"
