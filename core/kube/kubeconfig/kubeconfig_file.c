// SPDX-License-Identifier: Apache-2.0
#include "core/kube/kubeconfig/kubeconfig_file.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#define FILE_MAX ((size_t)4 * 1024 * 1024)

static void file_free(struct kubeconfig_file *file) {
    free(file->path);
    free(file->directory);
    yaml_cleanup(&file->yaml);
    *file = (struct kubeconfig_file){0};
}

void kubeconfig_cleanup(struct kubeconfig *config) {
    for (size_t i = 0; i < config->count; i++)
        file_free(&config->files[i]);
    free(config->files);
    *config = (struct kubeconfig){0};
}

static const char *type_name(const struct json *value) {
    static const char *const names[] = {
        [JSON_NULL] = "nothing",    [JSON_BOOL] = "a boolean", [JSON_NUMBER] = "a number",
        [JSON_STRING] = "a string", [JSON_ARRAY] = "a list",   [JSON_OBJECT] = "a mapping"};
    return names[json_type(value)];
}

static bool is_absent(const struct json *value) {
    return !value || json_is(value, JSON_NULL);
}

static struct error *wrong_type(const struct json *value, const char *expected) {
    return error_new(ERROR_INVALID, "found %s, expected %s", type_name(value), expected);
}

// The text of a value; NULL if absent, null or empty.
static struct error *read_text(const struct json *value, const char **out) {
    const char *text = json_string(value);
    *out = text && *text ? text : NULL;
    if (is_absent(value) || text)
        return NULL;
    if (json_is(value, JSON_STRING))
        return error_new(ERROR_INVALID, "found a string with a NUL character, expected one without");
    return wrong_type(value, "a string");
}

// A top-level string field. NULL if absent or empty.
static struct error *top_text(const struct kubeconfig_file *file, const char *field, const char **out) {
    struct json *value = json_get(file->yaml.value, field);
    return error_wrap(read_text(value, out), "%s:%zu: %s", file->path, json_line(value), field);
}

static struct error *check_top(const struct kubeconfig_file *file, const char *field, const char *expected) {
    const char *found;
    TRY(top_text(file, field, &found));
    if (!found || strcmp(found, expected) == 0)
        return NULL;
    return error_new(ERROR_INVALID, "%s:%zu: %s: found \"%s\", expected \"%s\"", file->path,
                     json_line(json_get(file->yaml.value, field)), field, found, expected);
}

static struct error *read_content(struct kubeconfig_file *file, const char *text, size_t len) {
    TRY(yaml_parse(file->path, text, len, &file->yaml));
    const struct json *root = file->yaml.value;
    if (!json_is(root, JSON_OBJECT) && !json_is(root, JSON_NULL))
        return error_wrap(wrong_type(root, "a kubeconfig, which is a mapping"), "%s", file->path);
    TRY(check_top(file, "apiVersion", "v1"));
    return check_top(file, "kind", "Config");
}

static struct error *read_file(struct kubeconfig_file *file, const char *path) {
    AUTO_TEXT directory = text_directory(path);
    AUTO_TEXT here = directory && directory[0] != '/' ? getcwd(NULL, 0) : strdup("/");
    if (!directory || !here)
        return errno == ENOMEM ? error_no_memory()
                               : error_new(ERROR_IO, "cannot read the current directory: %s", strerror(errno));
    file->path = strdup(path);
    file->directory = text_resolve_path(here, directory);
    if (!file->path || !file->directory)
        return error_no_memory();
    AUTO_BUFFER(text, FILE_MAX);
    TRY(text_read_file(path, FILE_MAX, &text));
    return read_content(file, text.data, text.len);
}

struct error *kubeconfig_add(struct kubeconfig *config, const char *path, bool optional) {
    struct kubeconfig_file *file = array_next(&config->files, config->count, sizeof *file);
    if (!file)
        return error_no_memory();
    struct error *error = read_file(file, path);
    if (!error) {
        config->count++;
        return NULL;
    }
    file_free(file);
    if (!optional || error->code != ERROR_NOT_FOUND)
        return error;
    error_free(error);
    return NULL;
}

struct error *kubeconfig_add_text(struct kubeconfig *config, const char *name, const char *text, size_t len) {
    struct kubeconfig_file *file = array_next(&config->files, config->count, sizeof *file);
    if (!file)
        return error_no_memory();
    config->count++; // freed by kubeconfig_cleanup
    file->path = strdup(name);
    if (!file->path)
        return error_no_memory();
    if (len > FILE_MAX)
        return error_new(ERROR_TOO_LARGE, "%s: found %zu bytes, expected at most %zu", name, len, FILE_MAX);
    return read_content(file, text, len);
}

struct error *kubeconfig_current_context(const struct kubeconfig *config, const char **out) {
    *out = NULL;
    for (size_t i = 0; i < config->count && !*out; i++)
        TRY(top_text(&config->files[i], "current-context", out));
    return NULL;
}

char *entry_place(const struct kubeconfig_entry *entry, const char *field) {
    struct json *named = field ? json_get(entry->value, field) : entry->value;
    return text_format("%s:%zu: %s[%zu].%s%s%s", entry->file->path, json_line(named ? named : entry->item),
                       entry->section, entry->index, entry->inner, field ? "." : "", field ? field : "");
}

struct error *entry_wrap(const struct kubeconfig_entry *entry, const char *field, struct error *error) {
    if (!error)
        return NULL;
    AUTO_TEXT place = entry_place(entry, field);
    return place ? error_wrap(error, "%s", place) : error;
}

struct error *entry_error(const struct kubeconfig_entry *entry, const char *field, enum error_code code,
                          const char *format, ...) {
    va_list args;
    va_start(args, format);
    struct error *error = error_vnew(code, format, args);
    va_end(args);
    return entry_wrap(entry, field, error);
}

static struct error *find_in_file(const struct kubeconfig_file *file, const char *name,
                                  struct kubeconfig_entry *found) {
    struct json *list = json_get(file->yaml.value, found->section);
    struct error *error = NULL;
    if (is_absent(list))
        return NULL;
    if (!json_is(list, JSON_ARRAY))
        return error_wrap(wrong_type(list, "a list"), "%s:%zu: %s", file->path, json_line(list), found->section);
    size_t index = 0;
    for (struct json *item = json_first(list); item; item = json_next(item), index++) {
        const struct json *own_name = json_get(item, "name");
        bool same = text_equal(json_string(own_name), name);
        if (is_absent(own_name))
            error = error_new(ERROR_INVALID, "found nothing, expected a name");
        else if (!json_string(own_name))
            error = error_wrap(wrong_type(own_name, "a string"), "name");
        else if (same && found->file)
            error = error_new(ERROR_INVALID, "\"%s\" is a duplicate name: line %zu has it already", name,
                              json_line(found->item));
        else if (same)
            *found = (struct kubeconfig_entry){file,  found->section, found->inner,
                                               index, item,           json_get(item, found->inner)};
        if (error)
            return error_wrap(error, "%s:%zu: %s[%zu]", file->path, json_line(item), found->section, index);
    }
    return NULL;
}

struct error *entry_find(const struct kubeconfig *config, const char *section, const char *inner, const char *name,
                         struct kubeconfig_entry *out) {
    *out = (struct kubeconfig_entry){.section = section, .inner = inner};
    for (size_t i = 0; i < config->count && !out->file; i++)
        TRY(find_in_file(&config->files[i], name, out));
    if (is_absent(out->value))
        out->value = NULL;
    else if (!json_is(out->value, JSON_OBJECT))
        return entry_wrap(out, NULL, wrong_type(out->value, "a mapping"));
    return NULL;
}

bool entry_names(const struct kubeconfig *config, const char *section, struct buffer *out) {
    for (size_t i = 0; i < config->count; i++) {
        const struct json *list = json_get(config->files[i].yaml.value, section);
        for (const struct json *item = json_first(list); item; item = json_next(item)) {
            const char *name = json_string(json_get(item, "name"));
            if (name && out->len > 0)
                buffer_text(out, ", ");
            if (name)
                buffer_printf(out, "\"%s\"", name);
        }
    }
    return !out->failed;
}

struct error *entry_text(const struct kubeconfig_entry *entry, const char *field, const char **out) {
    return entry_wrap(entry, field, read_text(json_get(entry->value, field), out));
}

struct error *entry_copy(const struct kubeconfig_entry *entry, const char *field, const char *expected, char **out) {
    const char *text;
    TRY(entry_text(entry, field, &text));
    if (!text && expected)
        return entry_error(entry, field, ERROR_INVALID, "found nothing, expected %s", expected);
    return text_set(out, text) ? NULL : error_no_memory();
}

struct error *entry_bool(const struct kubeconfig_entry *entry, const char *field, bool *out) {
    const struct json *value = json_get(entry->value, field);
    *out = json_bool(value, false);
    return is_absent(value) || json_is(value, JSON_BOOL) ? NULL
                                                         : entry_wrap(entry, field, wrong_type(value, "true or false"));
}

struct error *entry_part(const struct kubeconfig_entry *entry, const char *field, const char *inner,
                         struct kubeconfig_entry *out) {
    struct json *value = json_get(entry->value, field);
    *out = *entry;
    out->inner = inner;
    out->value = is_absent(value) || (json_is(value, JSON_OBJECT) && json_size(value) == 0) ? NULL : value;
    return !out->value || json_is(value, JSON_OBJECT) ? NULL : entry_wrap(entry, field, wrong_type(value, "a mapping"));
}

struct error *entry_list(const struct kubeconfig_entry *entry, const char *field, const struct json **first) {
    const struct json *value = json_get(entry->value, field);
    *first = json_first(value);
    if (!is_absent(value) && !json_is(value, JSON_ARRAY))
        return entry_wrap(entry, field, wrong_type(value, "a list of strings"));
    for (const struct json *item = *first; item; item = json_next(item))
        if (!json_string(item))
            return entry_wrap(entry, field, wrong_type(item, "a list of strings without NUL characters"));
    return NULL;
}

bool texts_add(struct kubeconfig_texts *texts, char *text) {
    if (!text || !array_reserve(&texts->list, &texts->capacity, texts->count + 2, sizeof *texts->list)) {
        free(text);
        return false;
    }
    texts->list[texts->count++] = text;
    return true;
}
