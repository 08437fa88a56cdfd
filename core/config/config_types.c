// SPDX-License-Identifier: Apache-2.0
// Readers of scalars, paths, words and label selectors.
#include "core/base/selector.h"
#include "core/base/text.h"
#include "core/config/config_reader.h"

#include <inttypes.h>
#include <stdio.h>

#define LIST_MAX ((size_t)64 << 10)
#define SELECTOR_MAX ((size_t)16 << 10)
#define WORDS_MAX 32
#define RATE_MAX 1e6
#define WHOLE_MAX 1e15
#define SIZE_LIMIT ((int64_t)64 << 30)

bool config_read_text(const struct config_value *value) {
    const struct config_field *field = value->field;
    const char *expected = field->expected ? field->expected : "a string";
    const char *text = config_text(value, expected);
    if (!text)
        return false;
    if (field->is_valid && !field->is_valid(text))
        return config_wrong(value, expected);
    return config_take(value, strdup(text));
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

char *config_absolute(const char *directory, const char *path) {
    char *absolute = text_resolve_path(directory, path);
    if (absolute && absolute[0] == '/')
        tidy_path(absolute);
    return absolute;
}

bool config_is_path(const struct config_value *value, const char *text) {
    return text[0] != '~' || config_problem(value, "found %s, expected an absolute path: ~ is not expanded", text);
}

bool config_read_path(const struct config_value *value) {
    const char *text = config_text(value, "a path");
    return text && config_is_path(value, text) && config_take(value, config_absolute(value->reader->directory, text));
}

bool config_read_paths(const struct config_value *value) {
    static const char expected[] = "a path, or several separated by ':'";
    const char *text = config_text(value, expected);
    AUTO_BUFFER(paths, LIST_MAX);
    for (const char *at = text ? text : ""; *at != '\0';) {
        size_t len = strcspn(at, ":");
        AUTO_TEXT part = strndup(at, len);
        if (part && !config_is_path(value, part))
            return false;
        AUTO_TEXT path = part && len > 0 ? config_absolute(value->reader->directory, part) : NULL;
        bool kept = path && buffer_printf(&paths, "%s%s", paths.len > 0 ? ":" : "", path);
        paths.failed |= len > 0 && !kept;
        at += len + (at[len] == ':');
    }
    if (text && paths.len == 0 && !paths.failed)
        return config_wrong(value, expected);
    return text && config_take(value, buffer_take(&paths, NULL));
}

// "": not permitted.
static const char *word_of(const struct config_field *field, const struct json *item) {
    const char *word = field->max ? json_number_text(item) : json_string(item);
    int64_t number = json_int64(item, field->min - 1);
    if (!word || strspn(word, field->characters) != strlen(word))
        return "";
    return !field->max || (number >= field->min && number <= field->max) ? word : "";
}

bool config_read_words(const struct config_value *value) {
    AUTO_BUFFER(text, SELECTOR_MAX);
    bool is_list = json_is(value->json, JSON_ARRAY), empty = json_size(value->json) == 0;
    if (!is_list || (empty && !value->field->may_be_empty))
        return config_wrong(value, value->field->item);
    if (empty)
        return true;
    size_t i = 0;
    for (const struct json *item = json_first(value->json); item; item = json_next(item)) {
        const char *word = word_of(value->field, item);
        struct config_value at = config_child(value, item, i++);
        if (!*word)
            config_wrong(&at, value->field->expected);
        buffer_printf(&text, "%s%s", text.len > 0 ? "," : "", word);
    }
    return config_take(value, buffer_take(&text, NULL));
}

bool config_read_object(const struct config_value *value) {
    struct json **object = value->target;
    if (!json_is(value->json, JSON_OBJECT))
        return config_wrong(value, value->field->expected ? value->field->expected : "a mapping");
    *object = json_copy(value->json);
    value->reader->no_memory |= !*object;
    return *object;
}

bool config_read_bool(const struct config_value *value) {
    if (!json_is(value->json, JSON_BOOL))
        return config_wrong(value, "true or false");
    *(bool *)value->target = json_bool(value->json, false);
    return true;
}

// A Go duration. 0 needs no unit, and is a number in YAML then.
bool config_read_duration(const struct config_value *value) {
    const struct config_field *field = value->field;
    int64_t found = 0;
    const char *text = json_is(value->json, JSON_NUMBER) ? json_number_text(value->json) : json_string(value->json);
    if (!text || !clock_parse_duration(text, &found) || found < field->min || (field->max && found > field->max) ||
        (field->unit && found % field->unit != 0))
        return config_wrong(value, field->expected ? field->expected : "a duration like 15m, 1h30m or 0");
    *(int64_t *)value->target = found;
    return true;
}

bool config_read_rate(const struct config_value *value) {
    double found = json_double(value->json, -1);
    if (found < 0 || found > RATE_MAX)
        return config_wrong(value, "a number from 0 to 1000000");
    *(double *)value->target = found;
    return true;
}

static const struct config_word *find_word(const struct config_value *value) {
    const struct config_word *list = value->field->words;
    const char *text = json_string(value->json), *words[WORDS_MAX];
    const char *given = json_is(value->json, JSON_BOOL) ? json_bool(value->json, false) ? "true" : "false" : text;
    size_t count = 0;
    for (; list[count].word; count++) {
        words[count] = list[count].word;
        if (text_equal(given, words[count]))
            return &list[count];
    }
    AUTO_BUFFER(expected, LIST_MAX);
    for (size_t i = 0; i < count; i++)
        buffer_printf(&expected, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " or ", words[i]);
    value->reader->no_memory |= expected.failed;
    const char *meant = text ? suggest(text, words, count) : NULL;
    if (meant && !expected.failed)
        config_problem(value, "found \"%s\", expected %s (did you mean \"%s\"?)", text, expected.data, meant);
    else if (!expected.failed)
        config_wrong(value, expected.data);
    return NULL;
}

bool config_read_word(const struct config_value *value) {
    const struct config_word *word = find_word(value);
    if (word)
        *(int *)value->target = word->value;
    return word;
}

bool config_read_switch(const struct config_value *value) {
    const struct config_word *word = find_word(value);
    if (word)
        *(bool *)value->target = word->value;
    return word;
}

bool config_read_whole(const struct config_value *value) {
    const struct config_field *field = value->field;
    double found = json_double(value->json, -1), max = field->max ? (double)field->max : WHOLE_MAX;
    char range[64];
    snprintf(range, sizeof range, "a whole number from %" PRId64 " to %" PRId64, field->min, field->max);
    if (found < (double)field->min || found > max || found != (double)(int64_t)found)
        return config_wrong(value, field->expected ? field->expected : range);
    *(int64_t *)value->target = (int64_t)found;
    return true;
}

// "64MiB".
static bool parse_size(const char *text, int64_t *size) {
    static const char *const units[] = {"KiB", "MiB", "GiB"};
    char number[16];
    size_t digits = text ? strspn(text, "0123456789") : 0;
    if (digits == 0 || digits >= sizeof number)
        return false;
    text_copy(number, digits + 1, text);
    for (size_t i = 0; i < CONFIG_COUNT(units); i++) {
        int64_t bytes = (int64_t)1 << (10 * (i + 1));
        if (strcmp(text + digits, units[i]) == 0 && text_to_int64(number, size) && *size <= SIZE_LIMIT / bytes) {
            *size *= bytes;
            return true;
        }
    }
    return false;
}

bool config_read_size(const struct config_value *value) {
    const struct config_field *field = value->field;
    int64_t size = 0;
    bool none = field->may_be_empty && json_is(value->json, JSON_NUMBER) && json_double(value->json, -1) == 0;
    if (!none && (!parse_size(json_string(value->json), &size) || size < field->min))
        return config_wrong(value, field->expected);
    *(size_t *)value->target = (size_t)size;
    return true;
}

bool config_check_rates(const struct config_value *value, double qps, double *burst) {
    double given = json_double(json_get(value->json, "burst"), -1);
    if (!config_has(value, "burst"))
        *burst = qps < 1 ? 1 : 2 * qps;
    if (given < 0 || given >= 1 || qps <= 0)
        return true;
    return config_problem(value, "burst: found less than 1, expected at least 1: with less no request could be sent");
}

// Selectors -------------------------------------------------------------------------------------------------------

static const char *comma(const struct buffer *text) {
    return text->len > 0 ? "," : "";
}

static void put_match_label(const struct config_value *value, struct buffer *text) {
    if (json_string(value->json))
        buffer_printf(text, "%s%s=%s", comma(text), value->key, json_string(value->json));
    else
        config_wrong(value, "a label value (in quotes if it looks like a number)");
}

// "key in (a,b)".
static void put_values(const struct config_value *value, const char *key, const char *operator_, struct buffer *text) {
    const struct json *values = json_get(value->json, "values");
    if (!json_is(values, JSON_ARRAY) || json_size(values) == 0)
        config_problem(value, "values: found none, expected a list of label values");
    buffer_printf(text, "%s%s %s (", comma(text), key, operator_);
    for (const struct json *one = json_first(values); one; one = json_next(one)) {
        if (!json_string(one))
            config_problem(value, "values: found something else, expected label values (strings)");
        buffer_printf(text, "%s%s", one == json_first(values) ? "" : ",", json_string_or(one, ""));
    }
    buffer_text(text, ")");
}

static void put_expression(const struct config_value *value, struct buffer *text) {
    const char *key = json_string_or(json_get(value->json, "key"), "");
    const char *word = json_string_or(json_get(value->json, "operator"), "");
    bool in = strcmp(word, "In") == 0, exists = strcmp(word, "Exists") == 0;
    if (in || strcmp(word, "NotIn") == 0)
        put_values(value, key, in ? "in" : "notin", text);
    else if (exists || strcmp(word, "DoesNotExist") == 0)
        buffer_printf(text, "%s%s%s", comma(text), exists ? "" : "!", key);
    else
        config_problem(value, "operator: found \"%s\", expected In, NotIn, Exists or DoesNotExist", word);
}

static void put_part(const struct config_value *value, const char *expected, struct buffer *text) {
    bool labels = strcmp(value->key, "matchLabels") == 0 && json_is(value->json, JSON_OBJECT);
    bool expressions = strcmp(value->key, "matchExpressions") == 0 && json_is(value->json, JSON_ARRAY);
    size_t index = 0;
    if (!labels && !expressions) {
        config_wrong(value, expected);
        return;
    }
    for (const struct json *one = json_first(value->json); one; one = json_next(one)) {
        struct config_value at = config_child(value, one, index++);
        if (labels)
            put_match_label(&at, text);
        else
            put_expression(&at, text);
    }
}

bool config_read_selector(const struct config_value *value) {
    static const char expected[] = "a label selector: {matchLabels: {...}, matchExpressions: [...]}";
    size_t known = value->reader->problems->count;
    AUTO_BUFFER(text, SELECTOR_MAX);
    if (!json_is(value->json, JSON_OBJECT))
        return config_wrong(value, expected);
    for (const struct json *part = json_first(value->json); part; part = json_next(part)) {
        struct config_value at = config_child(value, part, 0);
        put_part(&at, expected, &text);
    }
    if (known != value->reader->problems->count)
        return false;
    struct selector selector;
    AUTO_ERROR error = selector_parse(text.len > 0 ? text.data : "", &selector);
    if (error && !text.failed)
        config_problem(value, "%s", error_text(error));
    bool good = !error && config_take(value, buffer_take(&text, NULL));
    value->reader->no_memory |= text.failed;
    selector_clear(&selector);
    return good;
}
