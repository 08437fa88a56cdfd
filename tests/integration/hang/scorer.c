// SPDX-License-Identifier: Apache-2.0
// Rates w2 with 100, but crashes or never returns where the annotation example.com/score of a workload says so.
#include <wharf/adapter.h>

#include <stdlib.h>

static const wharf_host *host;

static wharf_result score(const wharf_call *call, const wharf_value *workload, const wharf_value *pod_sets,
                          const wharf_value *workers, wharf_value *scores) {
    static const char annotation[] = "/metadata/annotations/example.com~1score";
    (void)pod_sets;
    (void)workers;
    if (host->is(workload, annotation, "crash"))
        abort();
    for (volatile int forever = 1; host->is(workload, annotation, "loop") && forever;)
        continue;
    host->set_integer(call, scores, "/w2", 100);
    return WHARF_OK;
}

WHARF_MODULE(.name = "scorer", .version = "1.0.0", .host = &host, .score = score);
