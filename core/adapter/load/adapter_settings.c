// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/load/adapter_load.h"

#include "core/base/text.h"
#include "core/json/pointer.h"
#include "core/json/yaml.h"

#define NAME_MAX_BYTES 65536
#define KNOWN_MAX 64

// Appends one segment in the usual notation: ".plural", or "[0]" if `value` is a list.
static void append_segment(struct buffer *out, const struct json *value, const char *segment, size_t len) {
    bool is_item = json_is(value, JSON_ARRAY);
    buffer_char(out, is_item ? '[' : '.');
    for (size_t i = 0; i < len; i++) {
        bool escape = segment[i] == '~' && i + 1 < len && (segment[i + 1] == '0' || segment[i + 1] == '1');
        buffer_char(out, !escape ? segment[i] : segment[i + 1] == '0' ? '~' : '/');
        i += escape ? 1 : 0;
    }
    if (is_item)
        buffer_char(out, ']');
}

// Appends the name of the setting, and finds the innermost existing value around the setting.
static bool append_name(struct buffer *out, const struct json *settings, const char *pointer, const char **nearest) {
    const struct json *value = settings;
    buffer_text(out, "settings");
    for (const char *at = pointer; *at == '/';) {
        size_t len = strcspn(at + 1, "/");
        AUTO_TEXT segment = strndup(at, len + 1);
        append_segment(out, value, at + 1, len);
        value = value && segment ? pointer_find(value, segment) : NULL;
        out->failed |= !segment;
        at += len + 1;
        if (value)
            *nearest = at;
    }
    return !out->failed;
}

struct error *adapter_settings_wrong(const struct json *settings, const char *sentence, size_t *line) {
    const char *end = sentence[0] == '/' ? strstr(sentence, ": ") : NULL;
    if (!end)
        return NULL;
    AUTO_TEXT pointer = strndup(sentence, (size_t)(end - sentence));
    AUTO_BUFFER(name, NAME_MAX_BYTES);
    const char *nearest = pointer;
    if (!pointer || !append_name(&name, settings, pointer, &nearest))
        return error_no_memory();
    pointer[nearest - pointer] = '\0';
    size_t found = json_line(pointer_find(settings, pointer));
    if (found > 0)
        *line = found;
    return error_new(ERROR_INVALID, "%s%s", name.data, end);
}

// Appends the pointer to the string at this address.
static bool append_place(struct buffer *out, const struct json *value, const char *text) {
    if (json_is(value, JSON_STRING))
        return json_string(value) == text;
    size_t len = out->len, index = 0;
    for (const struct json *child = json_first(value); child; child = json_next(child), index++) {
        if (pointer_append_child(out, json_key(child), index) && append_place(out, child, text))
            return true;
        buffer_truncate(out, len);
    }
    return false;
}

// Counts the strings with this text, and writes the pointer to the first one.
static size_t count_text(struct buffer *at, const struct json *value, const char *text, struct buffer *first) {
    if (json_is(value, JSON_STRING) && text_equal(json_string(value), text)) {
        if (first->len == 0)
            buffer_append(first, at->data, at->len);
        return 1;
    }
    size_t len = at->len, index = 0, count = 0;
    for (const struct json *child = json_first(value); child; child = json_next(child), index++) {
        if (pointer_append_child(at, json_key(child), index))
            count += count_text(at, child, text, first);
        buffer_truncate(at, len);
    }
    return count;
}

// The place of a text that an adapter's process copied: its only occurrence in the kind's item of the list `kinds`,
// else the item. `exact`: of the text. False: there is no such item.
static bool append_copied(struct buffer *out, const struct json *settings, size_t number, const char *text,
                          bool *exact) {
    const struct json *item = json_at(json_get(settings, "kinds"), number - 1);
    AUTO_BUFFER(at, NAME_MAX_BYTES);
    buffer_printf(&at, "/kinds/%zu", number - 1);
    *exact = text && count_text(&at, item, text, out) == 1;
    if (*exact)
        return true;
    buffer_truncate(out, 0);
    buffer_printf(out, "/kinds/%zu", number - 1);
    return item;
}

// The name of the setting replaces the host's name of the field: "carried: found ..." is "found ...".
struct error *adapter_settings_kind_wrong(const struct json *settings, const wharf_kind *kind, size_t number,
                                          const struct error *error, size_t *line) {
    AUTO_BUFFER(place, NAME_MAX_BYTES);
    bool exact = error->about;
    const char *text = exact ? error->about : kind->kind;
    if (text && append_place(&place, settings, text)) {
        if (!exact) // the mapping with the kind's name
            buffer_truncate(&place, (size_t)(strrchr(place.data, '/') - place.data));
    } else if (!append_copied(&place, settings, number, error->about, &exact)) {
        return NULL;
    }
    const char *sentence = exact ? strstr(error->message, ": found ") : NULL;
    sentence = sentence ? sentence + strlen(": ") : error->message;
    AUTO_TEXT whole = place.failed ? NULL : text_format("%s: %s", place.data, sentence);
    return whole ? adapter_settings_wrong(settings, whole, line) : error_no_memory();
}

static struct error *unknown(const wharf_module *module, size_t count, const struct json *setting, size_t *line) {
    AUTO_BUFFER(known, NAME_MAX_BYTES);
    buffer_text(&known, count == 0 ? "none" : "one of ");
    for (size_t i = 0; i < count; i++)
        buffer_printf(&known, "%s%s", i == 0 ? "" : ", ", module->settings[i]);
    size_t found = json_line(setting);
    if (found > 0)
        *line = found;
    const char *meant = suggest(json_key(setting), module->settings, count);
    if (meant)
        return error_new(ERROR_INVALID, "settings.%s: unknown setting, did you mean \"%s\"?", json_key(setting), meant);
    return error_new(ERROR_INVALID, "settings.%s: unknown setting, expected %s", json_key(setting),
                     known.failed ? "another one" : known.data);
}

struct error *adapter_settings_check(const wharf_module *module, const struct json *settings, size_t *line) {
    size_t count = 0;
    while (module->settings && module->settings[count])
        if (++count > KNOWN_MAX)
            return error_new(ERROR_INVALID, "settings: found more than %d names, expected a list that ends with NULL",
                             KNOWN_MAX);
    for (const struct json *setting = json_first(settings); setting; setting = json_next(setting))
        if (!kind_list_has(module->settings, json_key(setting)))
            return unknown(module, count, setting, line);
    return NULL;
}
