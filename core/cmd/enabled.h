// SPDX-License-Identifier: Apache-2.0
// The adapters that commands for operators work with, who may not have the host's configuration: those that --config
// enables, or a list of names.
#ifndef WHARF_CMD_ENABLED_H
#define WHARF_CMD_ENABLED_H

#include "core/adapter/adapters.h"
#include "core/cmd/main.h"
#include "core/config/config.h"

#define ENABLED_DEFAULT_FILE "/etc/wharf/wharf.yaml"
#define FLAG_ENABLED_CONFIG                                                                                            \
    {                                                                                                                  \
        .name = "config", .argument = "FILE",                                                                          \
        .help = "the host's configuration, for the adapters that it enables (default\n" ENABLED_DEFAULT_FILE           \
                " if it exists)"                                                                                       \
    }
#define FLAG_ENABLED_NAMES                                                                                             \
    {                                                                                                                  \
        .name = "adapters-enabled", .argument = "A,B",                                                                 \
        .help = "these adapters instead of a configuration's (default job without one)"                                \
    }

struct enabled {
    struct config *config; // without a file: the defaults
    struct adapters *adapters;
    bool from_file, assumed; // a configuration was read; neither a file nor names were there, so it is `job`
    bool named;              // the configuration is that of --config
};

// Any of the flags may be NULL. Prints problems to stderr, and fails if there are any.
struct error *enabled_load(const char *config_path, const char *adapter_directory, const char *names,
                           struct enabled *out);
// The host's namespace: what was given, else the configuration's, else wharf-system.
const char *enabled_namespace(const struct enabled *enabled, const char *given);
void enabled_free(struct enabled *enabled); // also for __attribute__((cleanup)); zeroed is fine

#endif
