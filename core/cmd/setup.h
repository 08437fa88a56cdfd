// SPDX-License-Identifier: Apache-2.0
// The first steps of every command: reading the configuration and loading the enabled adapters, or adapters that a flag
// names for operators who may not have the host's configuration.
#pragma once

#include "core/adapter/adapters.h"
#include "core/cmd/main.h"
#include "core/config/config.h"

#define SETUP_FILE_HERE "./wharf.yaml"
#define SETUP_FILE_INSTALLED "/etc/wharf/wharf.yaml"
#define FLAG_ENABLED_CONFIG                                                                                            \
    FLAG("config", 0, "FILE",                                                                                          \
         "the host's configuration, for the adapters that it enables (default:\n"                                      \
         "$WHARF_CONFIG, else ./wharf.yaml if it is yours, else " SETUP_FILE_INSTALLED ", if it exists)")
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

// Reports adapters that the directory lacks, with the existing ones, and drops the missing ones from `config`.
void setup_find_adapters(struct config *config, struct problems *problems);
// The same, then loads the others. `patient`, for commands: see adapters_options; if there is no problem,
// `dependencies` is checked, too, which the host does itself.
struct error *setup_adapters(struct config *config, bool patient, struct problems *problems, struct adapters **out);

// --config and --adapters of the call, then `use`, also if some adapters could not be loaded; without a configuration
// it is not called. Prints the problems to stderr, for which the call exits with 1.
struct error *setup_use(struct call *call, struct error *(*use)(struct call *call, struct setup *setup));

// Whether SETUP_FILE_HERE is another user's. Any user may leave a file in a shared folder, and a configuration names
// commands to run.
bool setup_here_is_foreign(void);
// The configuration of --config, else --adapters-enabled of the call, else $WHARF_CONFIG, the file here or the
// installed one, else `job`; fails as setup_report.
struct error *setup_enabled(const struct call *call, struct setup *out);
// All adapters of a directory but `generic`, which has no kinds without settings; its presence is reported. The
// directory may be relative, or NULL for the default.
struct error *setup_all(const char *adapter_directory, struct setup *out, bool *has_generic);
// Prints the problems to stderr, and fails if there are any or no adapters were loaded.
struct error *setup_report(const struct setup *setup);
// The host's namespace: --namespace of the call, else the configuration's, else wharf-system.
const char *setup_namespace(const struct setup *setup, const struct call *call);
