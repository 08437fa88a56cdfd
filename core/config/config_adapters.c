// SPDX-License-Identifier: Apache-2.0
// The adapters that the configuration enables. core/adapter checks the files.
#include "core/config/config_reader.h"

#define SHA256_HEX 64
#define AT(member) offsetof(struct adapter_wanted, member)

static bool has_parent_segment(const char *path) {
    for (const char *at = strstr(path, ".."); at; at = strstr(at + 1, ".."))
        if ((at == path || at[-1] == '/') && (at[2] == '\0' || at[2] == '/'))
            return true;
    return false;
}

// config_check_adapters makes the path absolute when the directory is known.
static bool check_file(const struct config_value *value) {
    const char *text = *(char **)value->target;
    if (text[0] != '/' && has_parent_segment(text))
        return config_wrong(value, "a path inside adapters.directory, or an absolute path");
    return config_is_path(value, text);
}

static bool is_sha256(const char *text) {
    return strlen(text) == SHA256_HEX && strspn(text, "0123456789abcdefABCDEF") == SHA256_HEX;
}

// "v1/pods", "batch/v1/jobs".
static bool is_resource(const char *text) {
    size_t slashes = 0;
    for (const char *c = text; *c; c++) {
        bool slash = *c == '/';
        if (slash ? c == text || c[1] == '/' || c[1] == '\0' : !strchr("abcdefghijklmnopqrstuvwxyz0123456789.-", *c))
            return false;
        slashes += slash;
    }
    return slashes == 1 || slashes == 2;
}

static bool lower_sha256(const struct config_value *value) {
    for (char *c = *(char **)value->target; *c; c++)
        *c = *c >= 'A' && *c <= 'F' ? (char)(*c - 'A' + 'a') : *c;
    return true;
}

static bool read_continue(const struct config_value *value) {
    bool *anew = value->target;
    bool good = config_read_bool(value);
    if (good)
        *anew = !*anew;
    return good;
}

#define ISOLATION_WORDS CONFIG_WORDS({"none", ISOLATION_NONE}, {"auto", ISOLATION_AUTO}, {"all", ISOLATION_ALL})

static const struct config_field adapter_fields[] = {
    {"name", config_read_text, AT(name), .help = "Also names the file: <directory>/<name>.so.", .required = true,
     CONFIG_LABEL},
    {"file", config_read_text, AT(file), .help = "Absolute, or inside the directory.",
     .expected = "the path of a shared object", .check = check_file},
    {"sha256", config_read_text, AT(sha256), .help = "Load the file only with this hash.", .is_valid = is_sha256,
     .expected = "64 hexadecimal digits, as sha256sum prints them", .check = lower_sha256},
    {"managedBy", config_read_text, AT(managed_by),
     .help = "Instead of the adapter's default. One of the kind's closed set, if any."},
    {"hybrid", config_read_word, AT(hybrid),
     .help = "Default refuse. While a controller in the management cluster also runs delegated workloads (Event "
             "AlsoRunHere): refuse places no new ones, suspend also suspends mirrors of workloads that run there, and "
             "allow places all.",
     CONFIG_WORDS({"refuse", HYBRID_REFUSE}, {"suspend", HYBRID_SUSPEND}, {"allow", HYBRID_ALLOW})},
    {"continue", read_continue, AT(starts_anew), .expected = "true or false",
     .help = "Default true. Whether a further attempt gets the progress of the earlier ones (docs/lifecycle.md)."},
    {"isolation", config_read_word, AT(isolation),
     .help = "Default adapters.isolation. For this adapter: none, or all.", .given_at = AT(isolation_given),
     ISOLATION_WORDS},
    {"ownedObjects", config_read_text, AT(owned_objects),
     .help = "Default none. Objects that the kind's controller makes for a workload, like v1/pods. Before the first "
             "workload of a kind is placed, the host waits 10 s and lists their metadata: an object of a delegated "
             "workload shows a controller that ignores managedBy.",
     .is_valid = is_resource, .expected = "an API version and a resource, like v1/pods or batch/v1/jobs"},
    {"settings", config_read_object, AT(settings),
     .help = "Passed to the adapter; see the adapter's documentation (docs/generic.md)."},
    {.key = NULL},
};

static bool read_adapter(const struct config_value *value) {
    struct adapter_wanted *adapter = value->target;
    adapter->line = json_line(value->json);
    bool usable = config_mapping(value, adapter_fields, adapter);
    if (!adapter->settings)
        adapter->settings = json_new_object();
    value->reader->no_memory |= !adapter->settings;
    if (usable && adapter->name && adapter->settings)
        return true;
    config_clear(adapter_fields, adapter);
    return false;
}

static bool note_directory(const struct config_value *value) {
    value->reader->config->adapter_directory_from = DIRECTORY_FILE;
    return true;
}

static const struct config_field limit_fields[] = {
    {"cpu", config_read_duration, offsetof(struct config, adapter_limits.cpu_ns),
     .help = "Default 100ms. Processor time of one call.", .min = CLOCK_MS, .max = CLOCK_SECOND, .unit = CLOCK_MS,
     .expected = "a duration from 1ms to 1s, such as 100ms"},
    {"memory", config_read_size, offsetof(struct config, adapter_limits.memory),
     .help = "Default 256MiB. Of the process, besides what the program itself needs.", .min = 16 << 20,
     .expected = "a size of 16MiB or more, such as 256MiB"},
    {"answer", config_read_size, offsetof(struct config, adapter_limits.answer), .help = "Default 8MiB. Of one call.",
     .min = 64 << 10, .max = 512 << 20, .expected = "a size from 64KiB to 512MiB, such as 8MiB"},
    {.key = NULL},
};

const struct config_field config_adapters[] = {
    {"directory", config_read_path, offsetof(struct config, adapter_directory),
     .help =
         "Default: that of the installation, or the build's where wharf was not installed. --adapters overrides it.",
     .line_at = offsetof(struct config, adapter_directory_line), .check = note_directory},
    {"isolation", config_read_word, offsetof(struct config, isolation),
     .help = "Default auto. The adapters that run in processes of their own, so that one with a defect harms its own "
             "kinds only: none, all, or all but those that come with wharf (docs/adapters.md).",
     ISOLATION_WORDS},
    {"limits", config_read_section, 0,
     .help = "Of an adapter in a process of its own. What exceeds one ends the process.", .fields = limit_fields},
    {"enabled", config_read_list, offsetof(struct config, adapters), .help = "The adapters to load.", .required = true,
     .item = "adapter", .read_item = read_adapter, .item_size = sizeof(struct adapter_wanted),
     .fields = adapter_fields},
    {.key = NULL},
};

struct error *config_enable(struct config *config, const char *name) {
    struct adapter_wanted *adapter = array_next(&config->adapters, config->n_adapters, sizeof(*adapter));
    if (!adapter)
        return error_no_memory();
    *adapter = (struct adapter_wanted){.name = strdup(name),
                                       .file = text_format("%s/%s.so", config->adapter_directory, name),
                                       .settings = json_new_object()};
    if (!adapter->name || !adapter->file || !adapter->settings) {
        config_clear(adapter_fields, adapter);
        return error_no_memory();
    }
    config->n_adapters++;
    return NULL;
}

struct adapters_options config_adapters_of(const struct config *config, const char *controller_name) {
    return (struct adapters_options){.directory = config->adapter_directory,
                                     .controller_name = controller_name,
                                     .config_path = config->path,
                                     .wanted = config->adapters,
                                     .n_wanted = config->n_adapters,
                                     .isolation = config->isolation,
                                     .limits = config->adapter_limits,
                                     .patient = true};
}

void config_drop_adapter(struct config *config, size_t index) {
    config_clear(adapter_fields, &config->adapters[index]);
    config->n_adapters--;
    memmove(&config->adapters[index], &config->adapters[index + 1],
            (config->n_adapters - index) * sizeof(config->adapters[0]));
}

// Fills in <directory>/<name>.so, and makes other paths absolute.
static void resolve_file(struct config_reader *reader, struct adapter_wanted *adapter) {
    adapter->file_given = adapter->file && adapter->file[0] == '/';
    AUTO_TEXT path = adapter->file ? (char *)TAKE(adapter->file) : text_format("%s.so", adapter->name);
    adapter->file = path ? config_absolute(reader->config->adapter_directory, path) : NULL;
    reader->no_memory |= !adapter->file;
}

static void check_distinct(struct config_reader *reader, size_t index) {
    const struct adapter_wanted *adapter = &reader->config->adapters[index];
    for (size_t i = 0; i < index; i++) {
        const struct adapter_wanted *other = &reader->config->adapters[i];
        if (strcmp(adapter->name, other->name) == 0)
            problems_add(reader->problems, "%s:%zu: adapter %s: duplicate name: line %zu has it already", reader->file,
                         adapter->line, adapter->name, other->line);
        else if (text_equal(adapter->file, other->file))
            problems_add(
                reader->problems,
                "%s:%zu: adapter %s: found the same file as adapter %s (line %zu), expected a different one: %s",
                reader->file, adapter->line, adapter->name, other->name, other->line, adapter->file);
    }
}

void config_check_adapters(const struct config_value *root) {
    struct config_reader *reader = root->reader;
    struct config *config = reader->config;
    struct config_value directory = {.reader = reader, .target = &config->adapter_directory};
    if (reader->adapter_directory) {
        config_take(&directory, config_absolute("/", reader->adapter_directory));
        config->adapter_directory_from = DIRECTORY_FLAG;
    }
    for (size_t i = 0; i < config->n_adapters; i++) {
        resolve_file(reader, &config->adapters[i]);
        check_distinct(reader, i);
    }
}
