// SPDX-License-Identifier: Apache-2.0
// Reading the objects of a plan: files of YAML or JSON documents, standard input, and lists.
#include "core/cmd/plan/plan.h"

#include "core/json/yaml.h"
#include "core/kube/object/object.h"

#include <errno.h>
#include <stdio.h>

#define FILE_MAX ((size_t)64 << 20)

struct input_reader {
    const char *name; // of the file, for messages
    struct yaml yaml;
    struct problems *problems;
    struct plan_input *out;
};

static struct error *read_standard_input(struct buffer *out) {
    char chunk[16 * 1024];
    size_t got;
    while ((got = fread(chunk, 1, sizeof(chunk), stdin)) > 0) {
        if (got > FILE_MAX - out->len)
            return error_new(ERROR_LIMIT, "standard input is larger than %zu bytes", FILE_MAX);
        if (!buffer_append(out, chunk, got))
            return error_no_memory();
    }
    if (ferror(stdin))
        return error_new(ERROR_IO, "cannot read standard input: %s", strerror(errno));
    return buffer_append(out, "", 0) ? NULL : error_no_memory();
}

// A JSON text becomes the one document of an array. JSON that is not valid YAML (surrogate pairs) is read
// too, but without line numbers.
static struct error *read_documents(const char *name, const struct buffer *text, struct yaml *out) {
    const char *start = text->data + strspn(text->data, " \t\r\n");
    struct error *error = yaml_parse_all(name, text->data, text->len, out);
    if (!error || error->code == ERROR_NO_MEMORY || (*start != '{' && *start != '['))
        return error;
    AUTO_JSON value = NULL;
    struct error *second = json_parse(text->data, text->len, &value);
    if (second && second->code != ERROR_NO_MEMORY) {
        error_free(second);
        return error;
    }
    error_free(error);
    TRY(second);
    out->value = json_new_array();
    if (json_append(out->value, TAKE(value)))
        return NULL;
    yaml_cleanup(out);
    return error_no_memory();
}

static struct error *read_file(const char *path, const char **name, struct yaml *out) {
    AUTO_BUFFER(text, FILE_MAX);
    bool standard = strcmp(path, "-") == 0;
    *name = standard ? "standard input" : path;
    TRY(standard ? read_standard_input(&text) : text_read_file(path, FILE_MAX, &text));
    return read_documents(*name, &text, out);
}

// "job.yaml:3"; NULL when out of memory.
static char *where(const struct input_reader *reader, const struct json *value) {
    size_t line = json_line(value);
    return line > 0 ? text_format("%s:%zu", reader->name, line) : strdup(reader->name);
}

static struct error *add_item(struct input_reader *reader, const struct json *value) {
    struct plan_input *out = reader->out;
    struct plan_item *item = array_next(&out->items, out->count, sizeof *item);
    if (!item)
        return error_no_memory();
    *item = (struct plan_item){.value = json_copy(value), .where = where(reader, value)};
    out->count++;
    return !item->value || !item->where ? error_no_memory() : NULL;
}

// Whether a value can be a Kubernetes object at all; if not, a problem is added.
static bool check_object(struct input_reader *reader, const struct json *value) {
    static const char *const required[] = {"apiVersion", "kind"};
    AUTO_TEXT place = where(reader, value);
    const char *at = place ? place : reader->name;
    if (!json_is(value, JSON_OBJECT)) {
        problems_add(reader->problems, "%s: found no object, expected one with apiVersion, kind and metadata", at);
        return false;
    }
    for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++) {
        const struct json *member = json_get(value, required[i]);
        if (json_string_or(member, "")[0] != '\0')
            continue;
        problems_add(reader->problems, "%s: %s: found %s, expected a string", at, required[i],
                     member ? "something else" : "nothing");
        return false;
    }
    return true;
}

// Items of a JobList have neither apiVersion nor kind.
static bool inherit(const struct json *list, struct json *item) {
    const char *kind = json_string_or(json_get(list, "kind"), "");
    size_t len = 0;
    if (!json_is(item, JSON_OBJECT) || !object_kind_is_list(kind, &len) || len == 0)
        return true;
    bool ok = true;
    if (!json_get(item, "kind"))
        ok = json_set(item, "kind", json_new_string_len(kind, len));
    if (ok && !json_get(item, "apiVersion") && json_get(list, "apiVersion"))
        ok = json_set(item, "apiVersion", json_copy(json_get(list, "apiVersion")));
    return ok;
}

static struct error *add_value(struct input_reader *reader, struct json *value) {
    if (!object_is_list(value))
        return check_object(reader, value) ? add_item(reader, value) : NULL;
    for (struct json *item = json_first(json_get(value, "items")); item; item = json_next(item)) {
        TRY(inherit(value, item) ? NULL : error_no_memory());
        TRY(add_value(reader, item));
    }
    return NULL;
}

static struct error *add_documents(struct input_reader *reader) {
    size_t problems = reader->problems->count;
    for (struct json *document = json_first(reader->yaml.value); document; document = json_next(document))
        if (!json_is(document, JSON_NULL)) // as kubectl
            TRY(add_value(reader, document));
    if (reader->out->count == 0 && reader->problems->count == problems)
        problems_add(reader->problems, "%s: found no object, expected at least one", reader->name);
    return NULL;
}

struct error *plan_input_read(const char *path, struct problems *problems, struct plan_input *out) {
    struct input_reader reader = {.problems = problems, .out = out};
    *out = (struct plan_input){.count = 0};
    struct error *error = read_file(path, &reader.name, &reader.yaml);
    if (!error)
        error = add_documents(&reader);
    yaml_cleanup(&reader.yaml);
    return error;
}

void plan_input_free(struct plan_input *input) {
    for (size_t i = 0; i < input->count; i++) {
        json_free(input->items[i].value);
        free(input->items[i].where);
    }
    free(input->items);
    *input = (struct plan_input){.count = 0};
}

struct error *plan_input_status(const char *path, struct json **out) {
    __attribute__((cleanup(yaml_cleanup))) struct yaml yaml = {.value = NULL};
    const char *name = path;
    TRY(read_file(path, &name, &yaml));
    struct json *document = json_first(yaml.value);
    if (json_size(yaml.value) != 1 || !json_is(document, JSON_OBJECT))
        return error_new(ERROR_INVALID, "%s: found %zu document%s, expected one object with the status of a mirror",
                         name, json_size(yaml.value), json_size(yaml.value) == 1 ? " that is not an object" : "s");
    const struct json *status = json_get(document, "status");
    if (!status && json_get(document, "apiVersion") && json_get(document, "kind"))
        return error_new(ERROR_INVALID, "%s: found an object without a status, expected a status", name);
    if (status && !json_is(status, JSON_OBJECT))
        return error_new(ERROR_INVALID, "%s:%zu: status: expected an object", name, json_line(status));
    *out = json_copy(status ? status : document);
    return *out ? NULL : error_no_memory();
}
