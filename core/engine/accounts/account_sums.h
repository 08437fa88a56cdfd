// SPDX-License-Identifier: Apache-2.0
// The accounts as other threads read them: a block that never changes, with values as functions of the time.
#pragma once

#include "core/base/clock.h"

#include <stdatomic.h>

#define ACCOUNTS_LAG_NS CLOCK_SECOND // counters are so old, so that a late end of a workload takes nothing back

struct account_value { // (fixed + rate * seconds) since account_sums.begun_ns, and no less than `least`
    double fixed, rate, least;
};

struct account_row {
    const char *namespace_, *kind, *cluster; // all "": workloads beyond ACCOUNTS_MAX accounts
    uint64_t workloads, running;             // with their present attempt here
    bool counts;                             // has counters
    // [0]: seconds of workloads; [1 + r]: of resource r, in units of the resource.
    const struct account_value *used;    // by the workloads that exist
    const struct account_value *counted; // since the process holds the workloads
};

struct account_sums {
    atomic_uint refs;
    int64_t begun_ns; // monotonic
    size_t n_resources;
    const char **resources;
    size_t n_rows;
    struct account_row *rows;
};

struct account_sums *account_sums_ref(struct account_sums *sums); // NULL is fine, here and below
void account_sums_unref(struct account_sums *sums);
double account_used(const struct account_sums *sums, const struct account_row *row, size_t index, int64_t mono_ns);
double account_counted(const struct account_sums *sums, const struct account_row *row, size_t index, int64_t mono_ns);
