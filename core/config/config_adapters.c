// SPDX-License-Identifier: Apache-2.0
// The adapters that the configuration enables. core/adapter checks the files.
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/config/config_reader.h"

#include <stdlib.h>
#include <string.h>

#define SHA256_HEX 64

void config_adapter_clear(struct config_adapter *adapter) {
    free(adapter->name);
    free(adapter->file);
    free(adapter->sha256);
    free(adapter->managed_by);
    json_free(adapter->settings);
    *adapter = (struct config_adapter){.name = NULL};
}

static bool has_parent_segment(const char *path) {
    for (const char *at = strstr(path, ".."); at; at = strstr(at + 1, ".."))
        if ((at == path || at[-1] == '/') && (at[2] == '\0' || at[2] == '/'))
            return true;
    return false;
}

// Keeps the text; config_check_adapters makes the path absolute when the directory is known.
static void read_file(struct config_reader *reader, const struct config_place *place, const struct json *value,
                      void *target) {
    const char *text = config_text(reader, place, value, "the path of a shared object");
    if (!text || !config_is_path(reader, place, text))
        return;
    if (text[0] != '/' && has_parent_segment(text))
        config_wrong(reader, place, value, "a path inside adapters.directory, or an absolute path");
    else
        config_keep(reader, target, text);
}

static void read_sha256(struct config_reader *reader, const struct config_place *place, const struct json *value,
                        void *target) {
    static const char expected[] = "64 hexadecimal digits, as sha256sum prints them";
    const char *text = config_text(reader, place, value, expected);
    if (!text)
        return;
    if (strlen(text) != SHA256_HEX || strspn(text, "0123456789abcdefABCDEF") != SHA256_HEX) {
        config_wrong(reader, place, value, expected);
        return;
    }
    char lower[SHA256_HEX + 1];
    for (size_t i = 0; i <= SHA256_HEX; i++)
        lower[i] = text[i] >= 'A' && text[i] <= 'F' ? (char)(text[i] - 'A' + 'a') : text[i];
    config_keep(reader, target, lower);
}

static void read_settings(struct config_reader *reader, const struct config_place *place, const struct json *value,
                          void *target) {
    if (!json_is(value, JSON_OBJECT)) {
        config_wrong(reader, place, value, "a mapping");
        return;
    }
    struct json **settings = target;
    *settings = json_copy(value);
    reader->no_memory |= !*settings;
}

static const struct config_word hybrid[] = {{"refuse", false}, {"allow", true}};

static void read_adapter(struct config_reader *reader, const struct config_place *place, const struct json *value) {
    static const struct config_field fields[] = {
        {"name", config_read_text, offsetof(struct config_adapter, name), true,
         .help = "Also names the file: <directory>/<name>.so.", CONFIG_LABEL},
        {"file", read_file, offsetof(struct config_adapter, file), false, .help = "Absolute, or inside the directory."},
        {"sha256", read_sha256, offsetof(struct config_adapter, sha256), false,
         .help = "Load the file only with this hash."},
        {"managedBy", config_read_text, offsetof(struct config_adapter, managed_by), false,
         .help = "Instead of the adapter's default. One of the kind's closed set, if any."},
        {"hybrid", config_read_switch, offsetof(struct config_adapter, hybrid), false,
         .help = "Default refuse. Whether new workloads of its kinds are placed while a controller in the management "
                 "cluster "
                 "runs delegated ones too (Event AlsoRunHere).",
         CONFIG_WORDS(hybrid)},
        {"settings", read_settings, offsetof(struct config_adapter, settings), false,
         .help = "Passed to the adapter; see the adapter's documentation (docs/generic.md)."},
    };
    struct config *config = reader->config;
    struct config_adapter *adapter = config_grow(reader, &config->adapters, config->n_adapters, sizeof(*adapter));
    if (!adapter)
        return;
    adapter->line = config_line(reader, place);
    bool usable = config_mapping(reader, place, value, fields, CONFIG_COUNT(fields), adapter);
    if (!adapter->settings) {
        adapter->settings = json_new_object();
        reader->no_memory |= !adapter->settings;
    }
    if (usable && adapter->name && adapter->settings)
        config->n_adapters++;
    else
        config_adapter_clear(adapter);
}

static void read_enabled(struct config_reader *reader, const struct config_place *place, const struct json *value,
                         void *target) {
    (void)target;
    config_each(reader, place, value, "adapter", read_adapter);
}

static void read_directory(struct config_reader *reader, const struct config_place *place, const struct json *value,
                           void *target) {
    config_read_path(reader, place, value, target);
    reader->config->adapter_directory_from = DIRECTORY_FILE;
}

void config_read_adapters(struct config_reader *reader, const struct config_place *place, const struct json *value,
                          void *target) {
    static const struct config_field fields[] = {
        {"directory", read_directory, offsetof(struct config, adapter_directory), false,
         .help = "Default: that of the installation, or the build's where wharf was not installed. --adapters "
                 "overrides it.",
         .line_at = offsetof(struct config, adapter_directory_line)},
        {"enabled", read_enabled, 0, true, .help = "The adapters to load."},
    };
    config_mapping(reader, place, value, fields, CONFIG_COUNT(fields), target);
}

struct error *config_enable(struct config *config, const char *name) {
    struct config_adapter *adapter = array_next(&config->adapters, config->n_adapters, sizeof(*adapter));
    if (!adapter)
        return error_no_memory();
    *adapter = (struct config_adapter){.name = strdup(name),
                                       .file = text_format("%s/%s.so", config->adapter_directory, name),
                                       .settings = json_new_object()};
    if (!adapter->name || !adapter->file || !adapter->settings) {
        config_adapter_clear(adapter);
        return error_no_memory();
    }
    config->n_adapters++;
    return NULL;
}

void config_drop_adapter(struct config *config, size_t index) {
    config_adapter_clear(&config->adapters[index]);
    config->n_adapters--;
    memmove(&config->adapters[index], &config->adapters[index + 1],
            (config->n_adapters - index) * sizeof(config->adapters[0]));
}

static void use_given_directory(struct config_reader *reader) {
    if (!reader->adapter_directory)
        return;
    AUTO_TEXT path = config_absolute(reader, "/", reader->adapter_directory);
    if (path)
        config_keep(reader, &reader->config->adapter_directory, path);
    reader->config->adapter_directory_from = DIRECTORY_FLAG;
}

// Fills in <directory>/<name>.so, and makes other paths absolute.
static void resolve_file(struct config_reader *reader, struct config_adapter *adapter) {
    adapter->file_given = adapter->file && adapter->file[0] == '/';
    AUTO_TEXT own = !adapter->file ? text_format("%s.so", adapter->name) : NULL;
    const char *path = adapter->file ? adapter->file : own;
    char *file = !path ? NULL : config_absolute(reader, reader->config->adapter_directory, path);
    if (!file) {
        reader->no_memory = true;
        return;
    }
    free(adapter->file);
    adapter->file = file;
}

static void check_distinct(struct config_reader *reader, size_t index) {
    const struct config_adapter *adapter = &reader->config->adapters[index];
    for (size_t i = 0; i < index; i++) {
        const struct config_adapter *other = &reader->config->adapters[i];
        if (strcmp(adapter->name, other->name) == 0)
            problems_add(reader->problems, "%s:%zu: adapter %s: duplicate name: line %zu has it already", reader->file,
                         adapter->line, adapter->name, other->line);
        else if (text_equal(adapter->file, other->file))
            problems_add(reader->problems,
                         "%s:%zu: adapter %s: found the same file as adapter %s (line %zu), expected a "
                         "different one: %s",
                         reader->file, adapter->line, adapter->name, other->name, other->line, adapter->file);
    }
}

void config_check_adapters(struct config_reader *reader) {
    use_given_directory(reader);
    for (size_t i = 0; i < reader->config->n_adapters; i++) {
        resolve_file(reader, &reader->config->adapters[i]);
        check_distinct(reader, i);
    }
}
