// SPDX-License-Identifier: Apache-2.0
#include "core/kube/object/objects.h"

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/json/yaml.h"
#include "core/kube/object/object.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX ((size_t)64 << 20)
#define DEPTH_MAX 32 // of directories

struct document_reader {
    struct documents *documents;
    struct problems *problems;
};

static bool is_document_file(const char *path) {
    return text_has_suffix(path, ".yaml") || text_has_suffix(path, ".yml") || text_has_suffix(path, ".json");
}

// Reads all documents of a file into an array.
static struct error *read_all(const char *path, struct json **out) {
    AUTO_BUFFER(text, FILE_MAX);
    struct error *error = text_read_file(path, FILE_MAX, &text);
    if (error)
        return error;
    const char *content = text.data ? text.data : "";
    if (text_has_suffix(path, ".json")) {
        struct json *value = NULL;
        error = error_wrap(json_parse(content, text.len, &value), "%s", path);
        *out = !error ? json_new_array() : NULL;
        return error ? error : json_append(*out, value) ? NULL : error_no_memory();
    }
    struct yaml yaml = {.value = NULL};
    error = yaml_parse_all(path, content, text.len, &yaml);
    if (!error)
        *out = yaml.value;
    return error;
}

struct error *document_read(const char *path, struct json **out) {
    AUTO_JSON all = NULL;
    TRY(read_all(path, &all));
    if (json_size(all) != 1)
        return error_new(ERROR_INVALID, "%s: found %zu documents, expected one", path, json_size(all));
    *out = json_first(all);
    json_detach_child(all, *out);
    return NULL;
}

// Takes ownership of the value.
static bool add(struct documents *documents, struct json *value, const char *path, size_t number) {
    struct document *document = array_next(&documents->list, documents->count, sizeof *document);
    if (!document) {
        json_free(value);
        return false;
    }
    *document = (struct document){text_format("%s:%zu", path, number), text_directory(path), value};
    documents->count++;
    return document->source && document->folder;
}

static struct error *read_file(const struct document_reader *reader, const char *path) {
    AUTO_JSON all = NULL;
    struct error *error = read_all(path, &all);
    if (error && error->code != ERROR_NO_MEMORY) {
        problems_add_error(reader->problems, error);
        return NULL;
    }
    size_t number = 0;
    for (struct json *value = json_first(all); value && !error; value = json_first(all)) {
        json_detach_child(all, value);
        number++;
        if (!object_is_list(value)) {
            error = add(reader->documents, value, path, number) ? NULL : error_no_memory();
            continue;
        }
        struct json *items = json_get(value, "items");
        for (struct json *item = json_first(items); item && !error; item = json_first(items)) {
            json_detach_child(items, item);
            error = add(reader->documents, item, path, number) ? NULL : error_no_memory();
        }
        json_free(value);
    }
    return error;
}

static int is_visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

static struct error *read_folder(const struct document_reader *reader, const char *path, int depth) {
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, is_visible, alphasort);
    if (count < 0)
        return error_new(errno == ENOMEM ? ERROR_NO_MEMORY : ERROR_IO, "%s: %s", path, strerror(errno));
    struct error *error = NULL;
    for (int i = 0; i < count; i++) {
        AUTO_TEXT below = text_format("%s/%s", path, entries[i]->d_name);
        free(entries[i]);
        struct stat info;
        if (error || !below || stat(below, &info) != 0)
            continue;
        if (S_ISDIR(info.st_mode) && depth < DEPTH_MAX)
            error = read_folder(reader, below, depth + 1);
        else if (S_ISREG(info.st_mode) && is_document_file(below))
            error = read_file(reader, below);
    }
    free(entries);
    return error;
}

struct error *documents_read(const char *folder, struct problems *problems, struct documents *out) {
    struct document_reader reader = {out, problems};
    struct stat info;
    if (stat(folder, &info) != 0)
        return error_new(ERROR_NOT_FOUND, "%s: %s", folder, strerror(errno));
    return S_ISDIR(info.st_mode) ? read_folder(&reader, folder, 0) : read_file(&reader, folder);
}

void documents_free(struct documents *documents) {
    for (size_t i = 0; i < documents->count; i++) {
        free(documents->list[i].source);
        free(documents->list[i].folder);
        json_free(documents->list[i].value);
    }
    free(documents->list);
    *documents = (struct documents){.list = NULL};
}
