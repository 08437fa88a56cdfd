// SPDX-License-Identifier: Apache-2.0
#include "core/engine/accounts/account_sums.h"

#include <stdlib.h>

struct account_sums *account_sums_ref(struct account_sums *sums) {
    if (sums)
        atomic_fetch_add(&sums->refs, 1);
    return sums;
}

void account_sums_unref(struct account_sums *sums) {
    if (sums && atomic_fetch_sub(&sums->refs, 1) == 1)
        free(sums);
}

static double value_at(const struct account_sums *sums, const struct account_value *value, int64_t mono_ns) {
    double now = value->fixed + value->rate * ((double)(mono_ns - sums->begun_ns) / (double)CLOCK_SECOND);
    return now > value->least ? now : value->least;
}

double account_used(const struct account_sums *sums, const struct account_row *row, size_t index, int64_t mono_ns) {
    return value_at(sums, &row->used[index], mono_ns);
}

double account_counted(const struct account_sums *sums, const struct account_row *row, size_t index, int64_t mono_ns) {
    return value_at(sums, &row->counted[index], mono_ns - ACCOUNTS_LAG_NS);
}
