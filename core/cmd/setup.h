// SPDX-License-Identifier: Apache-2.0
// The first steps of every command: reading the configuration and loading the enabled adapters, or adapters that a flag
// names for operators who may not have the host's configuration.
#pragma once

#include "core/adapter/adapters.h"
#include "core/cmd/main.h"
#include "core/config/config.h"

#define SETUP_DEFAULT_FILE "/etc/wharf/wharf.yaml"
#define FLAG_ENABLED_CONFIG                                                                                            \
    FLAG("config", 0, "FILE",                                                                                          \
         "the host's configuration, for the adapters that it enables (default\n" SETUP_DEFAULT_FILE " if it exists)")
#define FLAG_ENABLED_NAMES                                                                                             \
    FLAG("adapters-enabled", 0, "A,B", "these adapters instead of a configuration's (default job without one)")

struct setup {
    struct config *config; // NULL: could not be read; without a file: the defaults
    struct adapters *adapters;
    struct problems problems;
    bool from_file, assumed; // a configuration was read; without a file and names, the adapter is `job`
    bool named;              // the configuration is that of --config
};
void setup_free(struct setup *setup); // also for __attribute__((cleanup)); zeroed is fine

// Reads the configuration. `adapter_directory` (--adapters) is used instead of adapters.directory; NULL: not given.
// Problems and errors as from config_load.
struct error *setup_config(const char *path, const char *adapter_directory, struct problems *problems,
                           struct config **out);
// The defaults without a file; `from` replaces its path in messages. The directory may be relative, or NULL.
struct error *setup_without_file(const char *from, const char *adapter_directory, struct config **out);

// Reports adapters that the directory lacks, with the existing ones, and drops the missing ones from `config`.
void setup_find_adapters(struct config *config, struct problems *problems);
// The same, then loads the others.
struct error *setup_adapters(struct config *config, struct problems *problems, struct adapters **out);

// --config and --adapters of the call, then `use`, also if some adapters could not be loaded; without a configuration
// it is not called. Prints the problems to stderr, for which the call exits with 1.
struct error *setup_use(struct call *call, struct error *(*use)(struct call *call, struct setup *setup));

// The configuration of --config, else `names` ("a,b") or --adapters-enabled of the call, else the default file or
// `job`. Prints problems to stderr, and fails if there are any.
struct error *setup_enabled(const struct call *call, const char *names, struct setup *out);
// The host's namespace: --namespace of the call, else the configuration's, else wharf-system.
const char *setup_namespace(const struct setup *setup, const struct call *call);

#define SETUP_NAMES_MAX 1000 // of adapters in a directory

struct setup_names {
    char *list[SETUP_NAMES_MAX];
    size_t count;
    bool has_generic;
};
// The names of a directory's shared objects, without suffix, in alphabetical order; none if unreadable.
void setup_read_names(const char *directory, struct setup_names *names);
void setup_names_free(struct setup_names *names); // also for __attribute__((cleanup))
