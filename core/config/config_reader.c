// SPDX-License-Identifier: Apache-2.0
#include "core/config/config_reader.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/suggest.h"
#include "core/base/text.h"
#include "core/json/pointer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POINTER_MAX (1 << 20)
#define FOUND_MAX 100
#define KEYS_MAX 32
#define RATE_MAX 1e6
#define STATUS_BYTES_MIN (16 << 10)
#define WHOLE_MAX 1e15
#define SIZE_LIMIT ((int64_t)64 << 30)

// Appends the JSON pointer of a place, root first.
static void place_pointer(const struct config_place *place, struct buffer *out) {
    if (!place || !place->up)
        return;
    place_pointer(place->up, out);
    pointer_append_child(out, place->key, place->index);
}

// Appends the place in the usual notation: workers[0].labels.region
static void place_name(const struct config_place *place, struct buffer *out) {
    if (!place || !place->up)
        return;
    place_name(place->up, out);
    if (place->key)
        buffer_printf(out, "%s%s", out->len > 0 ? "." : "", place->key);
    else
        buffer_printf(out, "[%zu]", place->index);
}

size_t config_line(struct config_reader *reader, const struct config_place *place) {
    if (reader->describe)
        return 0;
    AUTO_BUFFER(pointer, POINTER_MAX);
    place_pointer(place, &pointer);
    if (pointer.failed)
        reader->no_memory = true;
    return yaml_line(&reader->yaml, !pointer.data ? "" : pointer.data);
}

void config_problem(struct config_reader *reader, const struct config_place *place, const char *format, ...) {
    if (reader->describe)
        return;
    AUTO_BUFFER(text, POINTER_MAX);
    size_t line = !place ? 0 : config_line(reader, place);
    place_name(place, &text);
    if (text.len > 0)
        buffer_text(&text, ": ");
    va_list args;
    va_start(args, format);
    buffer_vprintf(&text, format, args);
    va_end(args);
    if (text.failed) {
        reader->no_memory = true;
        return;
    }
    if (line > 0)
        problems_add(reader->problems, "%s:%zu: %s", reader->file, line, text.data);
    else
        problems_add(reader->problems, "%s: %s", reader->file, text.data);
}

// A value as in "found ..."; long strings are truncated.
static void describe_value(const struct json *value, char out[FOUND_MAX]) {
    char text[FOUND_MAX / 2];
    switch (json_type(value)) {
    case JSON_NULL:
        text_copy(out, FOUND_MAX, "nothing");
        return;
    case JSON_BOOL:
        text_copy(out, FOUND_MAX, json_bool(value, false) ? "true" : "false");
        return;
    case JSON_NUMBER:
        text_copy(out, FOUND_MAX / 2, json_number_text(value));
        return;
    case JSON_STRING:
        text_copy(text, sizeof(text), json_string_or(value, "a string with a NUL character"));
        snprintf(out, FOUND_MAX, "\"%s\"", text);
        return;
    case JSON_ARRAY:
        text_copy(out, FOUND_MAX, "a list");
        return;
    case JSON_OBJECT:
        text_copy(out, FOUND_MAX, "a mapping");
        return;
    }
}

// Appends "workers[].name".
static void append_path(const struct config_place *place, struct buffer *out) {
    if (!place->up)
        return;
    append_path(place->up, out);
    if (place->key)
        buffer_printf(out, "%s%s", out->len > 0 ? "." : "", place->key);
    else
        buffer_text(out, "[]");
}

// Without a value, a reader reports the expected type.
static void describe_key(struct config_reader *reader, const struct config_place *place, const char *expected) {
    AUTO_BUFFER(path, POINTER_MAX);
    append_path(place, &path);
    if (!place->key || !reader->field) // an item of a list, or the document
        return;
    reader->no_memory |= path.failed;
    if (!path.failed)
        reader->describe(reader->describe_ctx, &(struct config_key){.path = path.data,
                                                                    .expected = expected,
                                                                    .help = reader->field->help,
                                                                    .required = reader->field->required});
    reader->field = NULL; // once
}

static void describe_fields(struct config_reader *reader, const struct config_place *place,
                            const struct config_field *fields, size_t count, void *target) {
    describe_key(reader, place, "a mapping");
    for (size_t i = 0; i < count; i++) {
        const struct config_place at = {.up = place, .key = fields[i].key, .field = &fields[i]};
        reader->field = &fields[i];
        fields[i].read(reader, &at, NULL, (char *)target + fields[i].offset);
    }
}

void config_wrong(struct config_reader *reader, const struct config_place *place, const struct json *value,
                  const char *expected) {
    if (reader->describe) {
        describe_key(reader, place, expected);
        return;
    }
    char found[FOUND_MAX] = "";
    describe_value(value, found);
    config_problem(reader, place, "found %s, expected %s", found, expected);
}

void config_each(struct config_reader *reader, const struct config_place *place, const struct json *value,
                 const char *what, config_item_fn *read) {
    if (!json_is(value, JSON_ARRAY)) {
        char expected[64];
        snprintf(expected, sizeof(expected), "a list of %ss", what);
        config_wrong(reader, place, value, expected);
        if (reader->describe)
            read(reader, &(struct config_place){.up = place}, NULL);
        return;
    }
    if (json_size(value) == 0)
        config_problem(reader, place, "found an empty list, expected at least one %s", what);
    struct config_place at = {.up = place};
    for (const struct json *item = json_first(value); item; item = json_next(item)) {
        read(reader, &at, item);
        at.index++;
    }
}

static void unknown_key(struct config_reader *reader, const struct config_place *place,
                        const struct config_field *fields, size_t count) {
    const char *known[KEYS_MAX];
    AUTO_BUFFER(list, POINTER_MAX);
    for (size_t i = 0; i < count && i < KEYS_MAX; i++) {
        known[i] = fields[i].key;
        buffer_printf(&list, "%s%s", i == 0 ? "" : ", ", fields[i].key);
    }
    const char *meant = suggest(place->key, known, count < KEYS_MAX ? count : KEYS_MAX);
    if (meant)
        config_problem(reader, place, "unknown key, did you mean \"%s\"?", meant);
    else
        config_problem(reader, place, "unknown key, expected one of %s", !list.data ? "" : list.data);
}

static const struct config_field *find_field(const struct config_field *fields, size_t count, const char *key) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(fields[i].key, key) == 0)
            return &fields[i];
    return NULL;
}

static void read_field(struct config_reader *reader, struct config_place *at, const struct config_field *field,
                       const struct json *value, void *target) {
    at->field = field;
    if (field->line_at)
        *(size_t *)((char *)target + field->line_at) = config_line(reader, at);
    field->read(reader, at, value, (char *)target + field->offset);
}

bool config_mapping(struct config_reader *reader, const struct config_place *place, const struct json *value,
                    const struct config_field *fields, size_t count, void *target) {
    if (reader->describe) {
        describe_fields(reader, place, fields, count, target);
        return true;
    }
    if (!json_is(value, JSON_OBJECT)) {
        config_wrong(reader, place, value, "a mapping");
        return false;
    }
    for (const struct json *member = json_first(value); member; member = json_next(member)) {
        struct config_place at = {.up = place, .key = json_key(member)};
        const struct config_field *field = find_field(fields, count, at.key);
        if (!field)
            unknown_key(reader, &at, fields, count);
        else if (!json_is(member, JSON_NULL))
            read_field(reader, &at, field, member, target);
    }
    for (size_t i = 0; i < count; i++) {
        const struct json *member = json_get(value, fields[i].key);
        if (fields[i].required && (!member || json_is(member, JSON_NULL)))
            config_problem(reader, place, "%s: found nothing, expected a value: it is required", fields[i].key);
    }
    return true;
}

const char *config_text(struct config_reader *reader, const struct config_place *place, const struct json *value,
                        const char *expected) {
    const char *text = json_string(value);
    if (text && text[0] != '\0')
        return text;
    bool scalar = json_is(value, JSON_NUMBER) || json_is(value, JSON_BOOL);
    AUTO_TEXT quoted = scalar ? text_format("%s; put it in quotes to make it a string", expected) : NULL;
    config_wrong(reader, place, value, quoted ? quoted : expected);
    return NULL;
}

void config_keep(struct config_reader *reader, char **slot, const char *text) {
    if (!text_set(slot, text))
        reader->no_memory = true;
}

void *config_grow(struct config_reader *reader, void *list, size_t count, size_t size) {
    void *element = array_next(list, count, size);
    reader->no_memory |= !element;
    return element;
}

void config_read_text(struct config_reader *reader, const struct config_place *place, const struct json *value,
                      void *target) {
    const struct config_field *field = place->field;
    const char *expected = field->expected ? field->expected : "a string";
    const char *text = config_text(reader, place, value, expected);
    if (text && field->is_valid && !field->is_valid(text))
        config_wrong(reader, place, value, expected);
    else if (text)
        config_keep(reader, target, text);
}

void config_read_section(struct config_reader *reader, const struct config_place *place, const struct json *value,
                         void *target) {
    config_mapping(reader, place, value, place->field->fields, place->field->n_fields, target);
}

// Removes "." and empty segments from an absolute path, so that equal paths compare equal. ".." stays: its meaning
// depends on symlinks.
static void tidy_path(char *path) {
    char *to = path;
    for (const char *from = path; *from != '\0';) {
        size_t len = strcspn(from + 1, "/");
        if (len > 0 && !(len == 1 && from[1] == '.')) {
            memmove(to, from, len + 1);
            to += len + 1;
        }
        from += len + 1;
    }
    if (to == path)
        *to++ = '/';
    *to = '\0';
}

char *config_absolute(struct config_reader *reader, const char *directory, const char *path) {
    char *absolute = text_resolve_path(directory, path);
    if (!absolute)
        reader->no_memory = true;
    else if (absolute[0] == '/')
        tidy_path(absolute);
    return absolute;
}

bool config_is_path(struct config_reader *reader, const struct config_place *place, const char *text) {
    if (text[0] != '~')
        return true;
    config_problem(reader, place, "found %s, expected an absolute path: ~ is not expanded", text);
    return false;
}

void config_read_path(struct config_reader *reader, const struct config_place *place, const struct json *value,
                      void *target) {
    const char *text = config_text(reader, place, value, "a path");
    if (!text || !config_is_path(reader, place, text))
        return;
    AUTO_TEXT path = config_absolute(reader, reader->directory, text);
    if (path)
        config_keep(reader, target, path);
}

void config_read_paths(struct config_reader *reader, const struct config_place *place, const struct json *value,
                       void *target) {
    const char *text = config_text(reader, place, value, "a path, or several separated by ':'");
    if (!text)
        return;
    AUTO_BUFFER(paths, (size_t)64 * 1024);
    for (const char *at = text; *at != '\0';) {
        size_t len = strcspn(at, ":");
        AUTO_TEXT part = strndup(at, len);
        if (part && !config_is_path(reader, place, part))
            return;
        AUTO_TEXT path = part && len > 0 ? config_absolute(reader, reader->directory, part) : NULL;
        bool kept = path && buffer_printf(&paths, "%s%s", paths.len > 0 ? ":" : "", path);
        reader->no_memory |= len > 0 && !kept;
        at += len + (at[len] == ':');
    }
    if (reader->no_memory)
        return;
    if (!paths.data)
        config_wrong(reader, place, value, "a path, or several separated by ':'");
    else
        config_keep(reader, target, paths.data);
}

void config_read_bool(struct config_reader *reader, const struct config_place *place, const struct json *value,
                      void *target) {
    if (json_is(value, JSON_BOOL))
        *(bool *)target = json_bool(value, false);
    else
        config_wrong(reader, place, value, "true or false");
}

// A Go duration. 0 needs no unit, and is a number in YAML then.
static bool read_duration(const struct json *value, int64_t *out) {
    const char *text = json_is(value, JSON_NUMBER) ? json_number_text(value) : json_string(value);
    return text && clock_parse_duration(text, out);
}

void config_read_duration(struct config_reader *reader, const struct config_place *place, const struct json *value,
                          void *target) {
    if (!read_duration(value, target))
        config_wrong(reader, place, value, "a duration like 15m, 1h30m or 0");
}

void config_read_positive(struct config_reader *reader, const struct config_place *place, const struct json *value,
                          void *target) {
    int64_t found = 0;
    if (read_duration(value, &found) && found > 0)
        *(int64_t *)target = found;
    else
        config_wrong(reader, place, value, "a duration like 15m or 1h30m, more than 0");
}

void config_read_rate(struct config_reader *reader, const struct config_place *place, const struct json *value,
                      void *target) {
    double found = json_double(value, -1);
    if (found >= 0 && found <= RATE_MAX)
        *(double *)target = found;
    else
        config_wrong(reader, place, value, "a number from 0 to 1000000");
}

// "a, b or c".
static void list_words(const struct config_field *field, struct buffer *out) {
    for (size_t i = 0; i < field->n_words; i++)
        buffer_printf(out, "%s%s", i == 0 ? "" : i + 1 < field->n_words ? ", " : " or ", field->words[i].word);
}

static const struct config_word *find_word(struct config_reader *reader, const struct config_place *place,
                                           const struct json *value) {
    const struct config_field *field = place->field;
    const char *text = json_string(value), *words[KEYS_MAX];
    for (size_t i = 0; i < field->n_words; i++) {
        words[i] = field->words[i].word;
        if (text_equal(text, words[i]))
            return &field->words[i];
    }
    AUTO_BUFFER(expected, POINTER_MAX);
    list_words(field, &expected);
    reader->no_memory |= expected.failed;
    const char *meant = text ? suggest(text, words, field->n_words) : NULL;
    if (meant && !expected.failed)
        config_problem(reader, place, "found \"%s\", expected %s (did you mean \"%s\"?)", text, expected.data, meant);
    else if (!expected.failed)
        config_wrong(reader, place, value, expected.data);
    return NULL;
}

void config_read_word(struct config_reader *reader, const struct config_place *place, const struct json *value,
                      void *target) {
    const struct config_word *word = find_word(reader, place, value);
    if (word)
        *(int *)target = word->value;
}

void config_read_switch(struct config_reader *reader, const struct config_place *place, const struct json *value,
                        void *target) {
    const struct config_word *word = find_word(reader, place, value);
    if (word)
        *(bool *)target = word->value;
}

void config_read_whole(struct config_reader *reader, const struct config_place *place, const struct json *value,
                       void *target) {
    const struct config_field *field = place->field;
    double found = json_double(value, -1), max = field->max ? (double)field->max : WHOLE_MAX;
    char range[64];
    snprintf(range, sizeof range, "a whole number from %" PRId64 " to %" PRId64, field->min, field->max);
    if (found >= (double)field->min && found <= max && found == (double)(int64_t)found)
        *(int64_t *)target = (int64_t)found;
    else
        config_wrong(reader, place, value, field->expected ? field->expected : range);
}

// "64MiB".
static bool parse_size(const char *text, int64_t *size) {
    static const struct {
        const char *unit;
        int64_t bytes;
    } units[] = {{"KiB", (int64_t)1 << 10}, {"MiB", (int64_t)1 << 20}, {"GiB", (int64_t)1 << 30}};
    char number[16];
    size_t digits = text ? strspn(text, "0123456789") : 0;
    if (digits == 0 || digits >= sizeof number)
        return false;
    text_copy(number, digits + 1, text);
    for (size_t i = 0; i < CONFIG_COUNT(units); i++)
        if (strcmp(text + digits, units[i].unit) == 0 && text_to_int64(number, size) &&
            *size <= SIZE_LIMIT / units[i].bytes) {
            *size *= units[i].bytes;
            return true;
        }
    return false;
}

void config_read_size(struct config_reader *reader, const struct config_place *place, const struct json *value,
                      void *target) {
    int64_t size = 0;
    bool none = json_is(value, JSON_NUMBER) && json_double(value, -1) == 0;
    if ((none && place->field->is_optional) || (parse_size(json_string(value), &size) && size >= place->field->min))
        *(size_t *)target = (size_t)size;
    else
        config_wrong(reader, place, value, place->field->expected);
}

void config_read_rates(struct config_reader *reader, const struct config_place *place, const struct json *value,
                       double *qps, double *burst, size_t *status_bytes) {
    struct rates {
        double qps, burst;
        size_t status_bytes;
    } found = {.qps = *qps, .burst = -1, .status_bytes = status_bytes ? *status_bytes : 0};
    static const struct config_field fields[] = {
        {"qps", config_read_rate, offsetof(struct rates, qps), false,
         .help = "Default 500. Requests per second; 0: no limit."},
        {"burst", config_read_rate, offsetof(struct rates, burst), false,
         .help = "Default 1000, twice qps if only qps is given. Requests at once after a pause."},
        {"statusBytes", config_read_size, offsetof(struct rates, status_bytes), false,
         .help =
             "Default 1MiB. Bytes per second that the statuses of one worker may take in the management cluster, where "
             "etcd keeps each version for up to 10 minutes; 256 times as much at once; 0: no limit (docs/security.md).",
         .min = STATUS_BYTES_MIN, .is_optional = true, .expected = "a size of 16KiB or more, such as 1MiB, or 0"},
    };
    if (!config_mapping(reader, place, value, fields, sizeof(fields) / sizeof(fields[0]) - !status_bytes, &found))
        return;
    *qps = found.qps;
    if (status_bytes)
        *status_bytes = found.status_bytes;
    *burst = found.burst >= 0 ? found.burst : found.qps < 1 ? 1 : 2 * found.qps;
    if (found.burst >= 0 && found.qps > 0 && found.burst < 1)
        config_problem(reader, place,
                       "burst: found less than 1, expected at least 1: with less no request could be sent");
}
