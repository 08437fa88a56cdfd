// SPDX-License-Identifier: Apache-2.0
// Internal to core/host/check/rights*.c: a table under construction.
#pragma once

#include "core/host/check/rights.h"

struct rights_table {
    struct rights *rights;
    const struct rights_wanted *wanted;
    bool no_memory;
};

// `right` has everything but the resources.
void rights_add(struct rights_table *table, const struct right *right, const char *resources);

// rights_owners.c
void rights_add_owners(struct rights_table *table, const char *verbs);
