// SPDX-License-Identifier: Apache-2.0
// Loading of one adapter, and the parts of a table of adapters that adapters.c and adapters_extend.c share. Internal to
// core/adapter.
#pragma once

#include "core/adapter/adapters.h"

// One adapter during the load.
struct loading {
    const struct adapters_options *options;
    const struct adapter_wanted *wanted;
    const struct json *given; // the settings for `start`; NULL: no call of `start`
    size_t line;              // in the configuration file: of the adapter, or of the setting that is wrong
    bool settings;            // the problem is a setting, not the file
    bool alone;               // the file is loaded already, and this system allows no second instance
};

// NULL with an error.
struct adapter *adapter_load(struct loading *loading, struct error **error);
void adapter_free(struct adapter *adapter); // NULL is allowed; the shared object stays loaded
void adapter_cleanup(struct adapter **adapter);

// Adds the place in the configuration to the error, and the error to the problems; NULL is allowed.
void adapters_report(const struct loading *loading, struct problems *problems, struct error *error);

bool adapters_same_kind(const struct kind *a, const struct kind *b);
// No kind is twice in the adapter, or in the table already.
struct error *adapters_check_own(const struct adapter *adapter);
struct error *adapters_check_distinct(const struct adapters *adapters, const struct adapter *adapter);
// Appends the adapter's kinds from n_inherited on, and the adapter; takes the adapter on success.
struct error *adapters_add(struct adapters *adapters, struct adapter *adapter);
