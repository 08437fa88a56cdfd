// SPDX-License-Identifier: Apache-2.0
#include "core/config/config_reader.h"

#include <stdarg.h>

#define POINTER_MAX (1 << 20)
#define FOUND_MAX 50 // bytes of a value in a message
#define KEYS_MAX 48

// Appends the place in the usual notation: workers[0].labels.region, or for a description workers[].labels.region
static void append_name(const struct config_value *value, struct buffer *out) {
    if (!value->up)
        return;
    append_name(value->up, out);
    if (value->key)
        buffer_printf(out, "%s%s", out->len > 0 ? "." : "", value->key);
    else if (value->reader->describe)
        buffer_text(out, "[]");
    else
        buffer_printf(out, "[%zu]", value->index);
}

bool config_problem(const struct config_value *value, const char *format, ...) {
    struct config_reader *reader = value->reader;
    if (reader->describe)
        return false;
    AUTO_BUFFER(text, POINTER_MAX);
    size_t line = json_line(value->json);
    append_name(value, &text);
    if (text.len > 0)
        buffer_text(&text, ": ");
    va_list args;
    va_start(args, format);
    buffer_vprintf(&text, format, args);
    va_end(args);
    reader->no_memory |= text.failed;
    if (line > 0 && !text.failed)
        problems_add(reader->problems, "%s:%zu: %s", reader->file, line, text.data);
    else if (!text.failed)
        problems_add(reader->problems, "%s: %s", reader->file, text.data);
    return false;
}

// A value as in "found ...".
static const char *describe_value(const struct json *value) {
    switch (json_type(value)) {
    case JSON_BOOL:
        return json_bool(value, false) ? "true" : "false";
    case JSON_NUMBER:
        return json_number_text(value);
    case JSON_STRING:
        return json_string_or(value, "a string with a NUL character");
    case JSON_ARRAY:
        return "a list";
    case JSON_OBJECT:
        return "a mapping";
    default:
        return "nothing";
    }
}

// Without a value, a reader reports the expected type.
static void describe_key(const struct config_value *value, const char *expected) {
    struct config_reader *reader = value->reader;
    AUTO_BUFFER(path, POINTER_MAX);
    append_name(value, &path);
    if (!value->key || !reader->field) // an item of a list, or the document
        return;
    reader->no_memory |= path.failed;
    if (!path.failed)
        reader->describe(reader->describe_ctx, &(struct config_key){.path = path.data,
                                                                    .expected = expected,
                                                                    .help = reader->field->help,
                                                                    .required = reader->field->required});
    reader->field = NULL; // once
}

bool config_wrong(const struct config_value *value, const char *expected) {
    char found[FOUND_MAX];
    if (value->reader->describe) {
        describe_key(value, expected);
        return false;
    }
    const char *quote = json_is(value->json, JSON_STRING) ? "\"" : "";
    text_copy(found, sizeof found, describe_value(value->json));
    return config_problem(value, "found %s%s%s, expected %s", quote, found, quote, expected);
}

struct config_value config_child(const struct config_value *value, const struct json *child, size_t index) {
    return (struct config_value){.reader = value->reader,
                                 .up = value,
                                 .key = child ? json_key(child) : NULL,
                                 .index = index,
                                 .json = child,
                                 .target = value->target};
}

bool config_has(const struct config_value *value, const char *key) {
    const struct json *member = json_get(value->json, key);
    return member && !json_is(member, JSON_NULL);
}

// Appends the item to the list if it can be read. `json` NULL: for a description.
static bool read_item(const struct config_value *list, const struct json *json, size_t index) {
    const struct config_field *field = list->field;
    struct config_value item = config_child(list, json, index);
    size_t *count = (size_t *)((char *)list->target + sizeof(void *));
    item.target = array_next(list->target, *count, field->item_size);
    list->reader->no_memory |= !item.target;
    bool good = item.target && field->read_item(&item);
    *count += good && json;
    return good;
}

bool config_read_list(const struct config_value *value) {
    const struct config_field *field = value->field;
    if (!json_is(value->json, JSON_ARRAY)) {
        AUTO_TEXT expected = text_format("a list of %ss", field->item);
        config_wrong(value, expected ? expected : "a list");
        if (value->reader->describe)
            read_item(value, NULL, 0);
        return false;
    }
    if (json_size(value->json) == 0 && !field->may_be_empty)
        return config_problem(value, "found an empty list, expected at least one %s", field->item);
    bool good = true;
    size_t index = 0;
    for (const struct json *item = json_first(value->json); item; item = json_next(item))
        good = read_item(value, item, index++) && good;
    return good;
}

static void report_unknown_key(const struct config_value *value, const struct config_field *fields) {
    const char *known[KEYS_MAX];
    size_t count = 0;
    AUTO_BUFFER(list, POINTER_MAX);
    for (; count < KEYS_MAX && fields[count].key; count++) {
        known[count] = fields[count].key;
        buffer_printf(&list, "%s%s", count == 0 ? "" : ", ", known[count]);
    }
    const char *meant = suggest(value->key, known, count);
    if (meant)
        config_problem(value, "unknown key, did you mean \"%s\"?", meant);
    else
        config_problem(value, "unknown key, expected one of %s", list.data ? list.data : "");
}

// `value` has the struct as its target.
static void read_field(struct config_value value, const struct config_field *field) {
    char *target = value.target;
    value.field = field;
    value.target = target + field->offset;
    value.known = value.reader->problems->count;
    if (field->line_at)
        *(size_t *)(target + field->line_at) = json_line(value.json);
    if (field->given_at)
        *(bool *)(target + field->given_at) = true;
    if (field->read(&value) && field->check && !value.reader->describe)
        field->check(&value);
}

static void describe_fields(const struct config_value *value, const struct config_field *fields, void *target) {
    describe_key(value, "a mapping");
    for (; fields->key; fields++) {
        value->reader->field = fields;
        read_field((struct config_value){.reader = value->reader, .up = value, .key = fields->key, .target = target},
                   fields);
    }
}

bool config_mapping(const struct config_value *value, const struct config_field *fields, void *target) {
    if (value->reader->describe) {
        describe_fields(value, fields, target);
        return true;
    }
    if (!json_is(value->json, JSON_OBJECT))
        return config_wrong(value, "a mapping");
    for (const struct json *member = json_first(value->json); member; member = json_next(member)) {
        struct config_value at = config_child(value, member, 0);
        const struct config_field *field = fields;
        at.target = target;
        while (field->key && strcmp(field->key, at.key) != 0)
            field++;
        if (!field->key)
            report_unknown_key(&at, fields);
        else if (!json_is(member, JSON_NULL))
            read_field(at, field);
    }
    for (; fields->key; fields++)
        if (fields->required && !config_has(value, fields->key))
            config_problem(value, "%s: found nothing, expected a value: it is required", fields->key);
    return true;
}

bool config_read_section(const struct config_value *value) {
    return config_mapping(value, value->field->fields, value->target);
}

static void clear_list(const struct config_field *field, char **list) {
    size_t *count = (size_t *)(list + 1);
    while (*count > 0)
        config_clear(field->fields, *list + --*count * field->item_size);
    free(TAKE(*list));
}

void config_clear(const struct config_field *fields, void *target) {
    static config_read_fn *const readers[] = {config_read_text, config_read_path, config_read_paths, config_read_words,
                                              config_read_selector};
    for (; fields->key; fields++) {
        char **text = (char **)((char *)target + fields->offset);
        for (size_t i = 0; i < CONFIG_COUNT(readers); i++)
            if (fields->read == readers[i])
                free(TAKE(*text));
        if (fields->read == config_read_object)
            json_free((struct json *)TAKE(*text));
        if (fields->fields && fields->item_size)
            clear_list(fields, text);
        else if (fields->fields)
            config_clear(fields->fields, text);
    }
}

const char *config_text(const struct config_value *value, const char *expected) {
    const char *text = json_string(value->json);
    if (text && text[0] != '\0')
        return text;
    bool scalar = json_is(value->json, JSON_NUMBER) || json_is(value->json, JSON_BOOL);
    AUTO_TEXT quoted = scalar ? text_format("%s; put it in quotes to make it a string", expected) : NULL;
    config_wrong(value, quoted ? quoted : expected);
    return NULL;
}

bool config_take(const struct config_value *value, char *text) {
    char **slot = value->target;
    value->reader->no_memory |= !text;
    if (!text)
        return false;
    free(*slot);
    *slot = text;
    return true;
}
