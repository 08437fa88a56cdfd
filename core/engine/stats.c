// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stats.h"

#include <stdlib.h>
#include <string.h>

void stats_free(struct stats *stats) {
    for (size_t c = 0; stats->clusters && c < stats->n_clusters; c++)
        free(stats->clusters[c].watches);
    free(stats->clusters);
    free(stats->kinds);
    *stats = (struct stats){0};
}

struct error *stats_copy(const struct stats *from, struct stats *to) {
    *to = *from;
    to->clusters = calloc(from->n_clusters + 1, sizeof *to->clusters);
    to->kinds = calloc(from->n_kinds + 1, sizeof *to->kinds);
    bool ok = to->clusters && to->kinds;
    for (size_t c = 0; c < from->n_clusters && ok; c++) {
        to->clusters[c] = from->clusters[c];
        to->clusters[c].watches = calloc(from->n_kinds + 1, sizeof *to->clusters[c].watches);
        ok = to->clusters[c].watches;
        if (ok)
            memcpy(to->clusters[c].watches, from->clusters[c].watches, from->n_kinds * sizeof *to->clusters[c].watches);
    }
    if (!ok) {
        stats_free(to);
        return error_no_memory();
    }
    if (from->n_kinds)
        memcpy(to->kinds, from->kinds, from->n_kinds * sizeof *to->kinds);
    return NULL;
}
