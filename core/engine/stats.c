// SPDX-License-Identifier: Apache-2.0
#include "core/engine/engine.h"

#include "core/base/text.h"

void stats_free(struct stats *stats) {
    for (size_t c = 0; stats->clusters && c < stats->n_clusters; c++) {
        free(stats->clusters[c].watches);
        free(stats->clusters[c].from);
        free(stats->clusters[c].labels);
    }
    free(stats->clusters);
    free(stats->kinds);
    account_sums_unref(stats->accounts);
    *stats = (struct stats){0};
}

static bool copy_cluster(const struct stats_cluster *from, size_t n_kinds, struct stats_cluster *to) {
    *to = *from;
    to->watches = calloc(n_kinds + 1, sizeof *to->watches);
    to->from = to->labels = NULL;
    if (to->watches && n_kinds)
        memcpy(to->watches, from->watches, n_kinds * sizeof *to->watches);
    return to->watches && text_set(&to->from, from->from) && text_set(&to->labels, from->labels);
}

struct error *stats_copy(const struct stats *from, struct stats *to) {
    *to = *from;
    to->accounts = account_sums_ref(from->accounts);
    to->clusters = calloc(from->n_clusters + 1, sizeof *to->clusters);
    to->kinds = calloc(from->n_kinds + 1, sizeof *to->kinds);
    to->n_clusters = 0;
    bool ok = to->clusters && to->kinds;
    for (size_t c = 0; c < from->n_clusters && ok; c++)
        if (!from->clusters[c].vacant)
            ok = copy_cluster(&from->clusters[c], from->n_kinds, &to->clusters[to->n_clusters++]);
    if (!ok) {
        stats_free(to);
        return error_no_memory();
    }
    if (from->n_kinds)
        memcpy(to->kinds, from->kinds, from->n_kinds * sizeof *to->kinds);
    return NULL;
}

const char *stats_rejection(const struct stats *stats, size_t cluster) {
    const struct stats_cluster *of = &stats->clusters[cluster];
    for (size_t k = 0; k < stats->n_kinds && of->contact == CONTACT_GOOD; k++)
        if (*of->watches[k].denied)
            return of->watches[k].denied;
    return of->contact == CONTACT_REJECTED ? of->rejected : NULL;
}

enum contact stats_contact(const struct stats *stats, size_t cluster) {
    return stats_rejection(stats, cluster) ? CONTACT_REJECTED : stats->clusters[cluster].contact;
}
