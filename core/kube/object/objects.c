// SPDX-License-Identifier: Apache-2.0
#include "core/kube/object/objects.h"

#include "core/json/yaml.h"
#include "core/kube/object/object.h"

#include <dirent.h>
#include <errno.h>
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
    TRY(text_read_file(path, FILE_MAX, &text));
    const char *content = text.data ? text.data : "";
    if (text_has_suffix(path, ".json")) {
        struct json *value = NULL;
        TRY(error_wrap(json_parse(content, text.len, &value), "%s", path));
        *out = json_new_array();
        return json_append(*out, value) ? NULL : error_no_memory();
    }
    struct yaml yaml = {.value = NULL};
    TRY(yaml_parse_all(path, content, text.len, &yaml));
    *out = yaml.value;
    return NULL;
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

// Takes the documents out of an array. `number` 0: each has its own.
static struct error *take_all(const struct document_reader *reader, struct json *array, const char *path,
                              size_t number) {
    struct documents *documents = reader->documents;
    size_t at = number;
    for (struct json *value; (value = json_first(array));) {
        json_detach_child(array, value);
        AUTO_JSON taken = value;
        at += number == 0;
        if (number == 0 && object_is_list(taken)) {
            TRY(take_all(reader, json_get(taken, "items"), path, at));
            continue;
        }
        struct document *document = array_next(&documents->list, documents->count, sizeof *document);
        if (!document)
            return error_no_memory();
        *document = (struct document){text_format("%s:%zu", path, at), text_directory(path), TAKE(taken)};
        documents->count++;
        if (!document->source || !document->folder)
            return error_no_memory();
    }
    return NULL;
}

static struct error *read_file(const struct document_reader *reader, const char *path) {
    AUTO_JSON all = NULL;
    struct error *error = read_all(path, &all);
    if (error && error->code != ERROR_NO_MEMORY) {
        problems_add_error(reader->problems, error);
        return NULL;
    }
    TRY(error);
    return take_all(reader, all, path, 0);
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
