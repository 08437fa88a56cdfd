// SPDX-License-Identifier: Apache-2.0
// Loading of one adapter: its file, read once, so that the loader checks, hashes and loads the same bytes even if the
// file changes meanwhile; the calls into the shared object; and the lines of wrong settings. Internal to core/adapter.
#pragma once

#include "core/adapter/adapters.h"

// One adapter during the load.
struct loading {
    const struct adapters_options *options;
    const struct adapter_wanted *wanted;
    struct problems *refused; // kinds made of settings that are refused alone
    const struct json *given; // the settings for `start`; NULL: no call of `start`
    size_t line;              // in the configuration file: of the adapter, or of the setting that is wrong
    bool settings;            // the problem is a setting, not the file
    bool of_settings;         // `start` made the kinds
    bool apart;               // in the adapter's own process: kinds of settings go to the host unchecked
    bool alone;               // the file is loaded already, and this system allows no second instance
};

struct error *adapter_load(struct loading *loading, struct adapter **out);
// Adds the error with the adapter's name and the line.
void adapter_report(const struct loading *loading, struct problems *problems, struct error *error);
bool adapter_kind_is_same(const struct kind *a, const struct kind *b);
bool adapter_is_apart(const struct adapters_options *options, const struct adapter_wanted *wanted); // in a process
void adapter_free(struct adapter *adapter); // NULL is allowed; the shared object stays loaded

struct adapter_file {
    int fd;                // -1: none
    char *path;            // absolute, symlinks in folders resolved
    char sha256[65];       // lower-case hex
    struct buffer content; // which passed the checks
};

// All the checks of adapter_file_check. On failure, too, the caller closes the file.
struct error *adapter_file_open(const char *path, const char *expected_sha256, struct adapter_file *out);
// Replaces the descriptor by that of a file in memory, which has the content and cannot be changed. On failure, of
// ERROR_UNSUPPORTED, the descriptor stays: this system allows no executable file in memory.
struct error *adapter_file_to_memory(struct adapter_file *file);
void adapter_file_close(struct adapter_file *file);
#define AUTO_ADAPTER_FILE __attribute__((cleanup(adapter_file_close))) struct adapter_file

// Turns an adapter's sentence, "/kinds/0/plural: found 7, expected a string", into "settings.kinds[0].plural: found 7,
// expected a string". *line becomes the line of the setting, or of the nearest existing setting around; unchanged if
// unknown. NULL if the sentence does not begin with a pointer.
struct error *adapter_settings_wrong(const struct json *settings, const char *sentence, size_t *line);

// For an error about a kind that was made of settings (see kind_check): the same sentence about the setting that
// contains the wrong text, or else about the mapping of the kind, which has this number. NULL if `settings`, the
// adapter's settings, have none.
struct error *adapter_settings_kind_wrong(const struct json *settings, const wharf_kind *kind, size_t number,
                                          const struct error *error, size_t *line);

// Rejects a setting that the module does not name.
struct error *adapter_settings_check(const wharf_module *module, const struct json *settings, size_t *line);
