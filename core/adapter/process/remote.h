// SPDX-License-Identifier: Apache-2.0
// An adapter in a process of its own, for the loader like a module: kinds whose functions ask the process.
#pragma once

#include "core/adapter/load/adapter_load.h"

struct remote_adapter; // the process, the module and its kinds

// Starts the process with the content of `file`, which loads the adapter. Errors, and the lines in `loading`, as from
// adapter_module_load.
struct error *remote_load(struct loading *loading, const struct adapter_file *file, struct remote_adapter **out);
const wharf_module *
remote_module(const struct remote_adapter *remote); // kinds as after `start`; neither `start` nor settings
bool remote_kinds_are_of_settings(const struct remote_adapter *remote); // then they are unchecked
struct adapter_process *remote_process(const struct remote_adapter *remote);
void remote_free(struct remote_adapter *remote); // ends the process; NULL is allowed
