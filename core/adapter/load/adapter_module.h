// SPDX-License-Identifier: Apache-2.0
// The steps of loading a shared object, and what each checks. Internal to core/adapter and core/isolate.
#pragma once

#include "core/adapter/load/adapter_load.h"

struct error *adapter_module_open(const char *name, void **handle);
// The module in the host's layout: fields that an older struct lacks are zero.
struct error *adapter_module_find(void *handle, wharf_module *out);
struct error *adapter_module_check(const wharf_module *module);
// Checks all data before passing anything to the adapter or calling a function; then `start`. Sets the adapter's kinds.
struct error *adapter_module_start(const wharf_module *module, struct loading *loading, struct adapter *adapter);

// The kinds of a list of the adapter's.
struct error *adapter_take_kinds(struct loading *loading, const wharf_kind *const *kinds, struct adapter *adapter);
void adapter_set_scorer(const wharf_module *module, bool has_kinds, struct adapter *adapter);
void adapter_forget_kinds(struct adapter *adapter);
