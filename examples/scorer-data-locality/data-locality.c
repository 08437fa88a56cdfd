// SPDX-License-Identifier: Apache-2.0
// Places workloads where their data is. A workload names a dataset in its annotation data.example.com/dataset; a worker
// that has a copy has the label dataset-NAME: local, one with fast access to a copy dataset-NAME: near.
#include <wharf/adapter.h>

static const wharf_host *host;

static int64_t rating(const wharf_call *call, const wharf_value *worker, const char *dataset) {
    const wharf_value *label = host->find(worker, host->format(call, "/labels/dataset-%s", dataset));
    return host->is(label, "", "local") ? 100 : host->is(label, "", "near") ? 50 : 0;
}

static wharf_result score(const wharf_call *call, const wharf_value *workload, const wharf_value *pod_sets,
                          const wharf_value *workers, wharf_value *scores) {
    const char *dataset = host->string(host->find(workload, "/metadata/annotations/data.example.com~1dataset"));
    (void)pod_sets;
    if (!dataset)
        return WHARF_OK; // no opinion
    for (const wharf_value *worker = host->first(workers); worker; worker = host->next(worker)) {
        const char *name = host->string(host->find(worker, "/name"));
        int64_t points = rating(call, worker, dataset);
        if (name && points > 0)
            host->set_integer(call, scores, host->format(call, "/%s", name), points);
    }
    return WHARF_OK;
}

WHARF_MODULE(.name = "data-locality", .version = "1.0.0", .host = &host, .score = score);
