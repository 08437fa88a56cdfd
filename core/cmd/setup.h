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

// Adapters that the directory lacks are reported, with the ones that it has, and dropped from `config`.
void setup_find_adapters(struct config *config, struct problems *problems);
// The same, then loads the others.
struct error *setup_adapters(struct config *config, struct problems *problems, struct adapters **out);

#define SETUP_NAMES_MAX 1000 // of adapters in a directory

struct setup_names {
    char *list[SETUP_NAMES_MAX];
    size_t count;
};
// The names of a directory's shared objects, without suffix, in alphabetical order; none if it cannot be read.
void setup_read_names(const char *directory, struct setup_names *names);
void setup_names_free(struct setup_names *names); // also for __attribute__((cleanup))

// What a command does with the configuration and the adapters; problems of its input go to `problems`.
typedef struct error *setup_user(void *ctx, const struct config *config, const struct adapters *adapters,
                                 struct problems *problems);

// Both of the above, then `use`, also if some adapters could not be loaded; it is not called without a configuration.
// Prints the error or the problems to stderr. Returns the exit code: 1 if there were any, else 0.
int setup_use(const char *path, const char *adapter_directory, setup_user *use, void *ctx);

#endif
