// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/account_rules.h"

#include "core/base/text.h"

#include <string.h>

#define EVERY 16 // turns
#define ROUNDING 1e-6

static uint64_t key_of(const struct account_row *row) {
    return text_hash(text_hash(text_hash(TEXT_HASH, row->namespace_), row->kind), row->cluster) | 1;
}

// What was seen of the account before; NULL: too many accounts.
static struct account_counted *seen_of(struct account_seen *seen, uint64_t key) {
    for (size_t i = 0; i < ACCOUNTS_SEEN; i++)
        if (seen->rows[i].key == key || seen->rows[i].key == 0) {
            seen->rows[i].key = key;
            return &seen->rows[i];
        }
    return NULL;
}

static void check_row(struct trial *trial, const struct account_sums *sums, const struct account_row *row) {
    int64_t now_ns = instance_moment(trial).mono_ns;
    double counted = account_counted(sums, row, 0, now_ns), used = account_used(sums, row, 0, now_ns);
    struct account_counted *before = seen_of(&trial->host->accounts, key_of(row));
    if (row->running > row->workloads)
        trial_fail(trial, "accounts: %s in %s: %zu run of %zu workloads", row->namespace_, row->cluster,
                   (size_t)row->running, (size_t)row->workloads);
    if (used < -ROUNDING)
        trial_fail(trial, "accounts: %s in %s has used %f s", row->namespace_, row->cluster, used);
    if (before && counted < before->seconds)
        trial_fail(trial, "accounts: the counter of %s in %s fell from %f to %f", row->namespace_, row->cluster,
                   before->seconds, counted);
    if (before)
        before->seconds = counted;
}

void account_rules_turn(struct trial *trial) {
    struct instance *host = trial->host;
    struct account_seen *seen = &host->accounts;
    if (seen->process != host->number)
        *seen = (struct account_seen){.process = host->number};
    if (seen->turns++ % EVERY != 0)
        return;
    const struct account_sums *sums = engine_stats(host->turn.engine)->accounts;
    for (size_t i = 0; sums && i < sums->n_rows; i++)
        check_row(trial, sums, &sums->rows[i]);
}
