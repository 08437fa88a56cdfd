// SPDX-License-Identifier: Apache-2.0
// The table of rights while it is made. Internal to core/host/check.
#pragma once

#include "core/host/check/rights.h"

struct rights_table {
    struct rights *rights;
    const struct rights_wanted *wanted;
    bool no_memory;
};

// Adds a copy of the right with these resources.
void rights_add(struct rights_table *table, const struct right *right, const char *resources);

// A right for the resources of `dependencies`: for each API group, and for each resource with named objects. `copies`:
// only those of dependencies.copy. Objects without a namespace have scope RIGHT_CLUSTER.
void rights_add_dependencies(struct rights_table *table, const struct right *right, bool copies);
