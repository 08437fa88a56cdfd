// SPDX-License-Identifier: Apache-2.0
// The adapters of this tree, loaded as by the host, with the settings of the fixtures.
#pragma once

#include "core/adapter/adapters.h"

struct shipped {
    char *folder, *program;
    struct adapter_wanted *wanted;
    size_t n_wanted;
    struct problems problems; // a sentence for each adapter that is not loaded
    struct adapters *adapters;
};

// `isolated`: each adapter in a process of its own.
void shipped_load(struct shipped *shipped, bool isolated);
void shipped_load_one(struct shipped *shipped, const char *name, bool isolated);
void shipped_free(struct shipped *shipped);
// NULL: there is none.
const struct kind *shipped_kind(const struct shipped *shipped, const char *plural);
