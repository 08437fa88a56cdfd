// SPDX-License-Identifier: Apache-2.0
// The first steps of every command: reading the configuration and loading the adapters that it enables.
#ifndef WHARF_CMD_SETUP_H
#define WHARF_CMD_SETUP_H

#include "core/adapter/adapters.h"
#include "core/config/config.h"

// Reads the configuration. `adapter_directory` (--adapters) is used instead of adapters.directory; NULL: not given.
// Problems and errors are those of config_load.
struct error *setup_config(const char *path, const char *adapter_directory, struct problems *problems,
                           struct config **out);

// Loads the adapters. Those that the directory lacks are reported, with the ones that it has, and dropped from
// `config`.
struct error *setup_adapters(struct config *config, struct problems *problems, struct adapters **out);

// Both of the above. *adapters is NULL if there is no configuration.
struct error *setup(const char *path, const char *adapter_directory, struct problems *problems, struct config **config,
                    struct adapters **adapters);

#endif
