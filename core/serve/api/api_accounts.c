// SPDX-License-Identifier: Apache-2.0
// Who used how much, as JSON: one item for each namespace, kind and worker.
#include "core/serve/api/api_internal.h"

struct account_filter { // NULL: any
    const struct kind *kind;
    const char *namespace_, *cluster;
};

// The items of kinds that the adapters do not have any more are left out: nobody has a right to them.
static const struct kind *kind_of(const struct host_snapshot *snapshot, const struct account_row *row) {
    for (size_t k = 0; k < snapshot->stats.n_kinds; k++)
        if (strcmp(snapshot->kinds[k]->plural_group, row->kind) == 0)
            return snapshot->kinds[k];
    return NULL;
}

static bool is_wanted(const struct account_filter *filter, const struct kind *kind, const struct account_row *row) {
    return (!filter->kind || filter->kind == kind) &&
           (!filter->namespace_ || strcmp(filter->namespace_, row->namespace_) == 0) &&
           (!filter->cluster || strcmp(filter->cluster, row->cluster) == 0);
}

static void put_row(const struct host_snapshot *snapshot, const struct kind *kind, const struct account_row *row,
                    struct writer *out) {
    static const char *const absent[] = {"kind", "group", "resource"};
    const struct account_sums *sums = snapshot->stats.accounts;
    writer_object(out, NULL);
    if (kind)
        api_put_kind(&kind->abi, out);
    for (size_t i = 0; !kind && i < sizeof absent / sizeof *absent; i++)
        writer_null(out, absent[i]);
    api_put(out, "namespace=%s cluster=%s workloads=%ju running=%ju", api_filled(row->namespace_),
            api_filled(row->cluster), (uintmax_t)row->workloads, (uintmax_t)row->running);
    writer_double(out, "seconds", account_used(sums, row, 0, snapshot->taken.mono_ns));
    writer_object(out, "resources");
    for (size_t r = 1; r <= sums->n_resources; r++) {
        double used = account_used(sums, row, r, snapshot->taken.mono_ns);
        if (used > 0)
            writer_double(out, sums->resources[r - 1], used);
    }
    writer_end(out, '}');
    writer_end(out, '}');
}

static void put_rows(const struct host_snapshot *snapshot, const struct account_filter *filter, struct writer *out) {
    const struct account_sums *sums = snapshot->stats.accounts;
    for (size_t i = 0; sums && i < sums->n_rows; i++) {
        const struct account_row *row = &sums->rows[i];
        const struct kind *kind = kind_of(snapshot, row);
        bool is_rest = !*row->kind; // beyond the most accounts
        if (account_used(sums, row, 0, snapshot->taken.mono_ns) > 0 && (kind || is_rest) &&
            is_wanted(filter, kind, row))
            put_row(snapshot, kind, row, out);
    }
}

struct error *api_accounts(struct api_call *call) {
    const char *kind = api_parameter(call, "kind");
    struct account_filter filter = {.namespace_ = api_parameter(call, "namespace"),
                                    .cluster = api_parameter(call, "cluster")};
    struct host_snapshot snapshot;
    if (kind)
        TRY(api_find_kind(call->source, kind, &filter.kind));
    TRY(call->source->snapshot(call->source->ctx, &snapshot));
    writer_time(&call->out, "at", snapshot.taken.wall_ns);
    writer_array(&call->out, "items");
    put_rows(&snapshot, &filter, &call->out);
    writer_end(&call->out, ']');
    call->source->free_snapshot(&snapshot);
    return NULL;
}
