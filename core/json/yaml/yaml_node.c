// SPDX-License-Identifier: Apache-2.0
// YAML nodes: libyaml's events become cJSON nodes with lines (yaml_reader.h, node.h).
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/json/yaml/scalar.h"
#include "core/json/yaml/yaml_reader.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define TAG_PREFIX "tag:yaml.org,2002:"

static cJSON *refuse_scalar(struct yaml_reader *reader, const char *problem) {
    return reader_fail_about(reader, &reader->event.start_mark, (const char *)reader->event.data.scalar.value, problem);
}

// False if the explicit tag contradicts the type of the scalar.
static bool tag_allows(const char *tag, enum scalar scalar) {
    if (strcmp(tag, "int") == 0)
        return scalar == SCALAR_INTEGER || scalar == SCALAR_TOO_LARGE;
    if (strcmp(tag, "float") == 0)
        return scalar == SCALAR_FLOAT || scalar == SCALAR_INTEGER || scalar == SCALAR_NOT_FINITE;
    if (strcmp(tag, "bool") == 0)
        return scalar == SCALAR_TRUE || scalar == SCALAR_FALSE;
    if (strcmp(tag, "null") == 0)
        return scalar == SCALAR_NULL;
    return true;
}

static cJSON *make_scalar(struct yaml_reader *reader, enum scalar scalar, const struct buffer *token) {
    const char *text = (const char *)reader->event.data.scalar.value;
    cJSON *node = NULL;
    switch (scalar) {
    case SCALAR_NOT_FINITE:
        return refuse_scalar(reader, "cannot be written in JSON");
    case SCALAR_TOO_LARGE:
        return refuse_scalar(reader, "is an integer of more than 64 bits; write it in decimal, or in quotes");
    case SCALAR_NULL:
        node = node_new(cJSON_NULL, 0, 0);
        break;
    case SCALAR_FALSE:
    case SCALAR_TRUE:
        node = node_new(scalar == SCALAR_TRUE ? cJSON_True : cJSON_False, 0, 0);
        break;
    case SCALAR_INTEGER:
    case SCALAR_FLOAT:
        node = token->failed ? NULL : node_new_number(token->data, token->len);
        break;
    case SCALAR_STRING:
        node = token->failed ? NULL : node_new_text(text, reader->event.data.scalar.length);
        break;
    }
    return node ? node : reader_no_memory(reader);
}

static cJSON *read_scalar(struct yaml_reader *reader) {
    const char *tag = (const char *)reader->event.data.scalar.tag;
    const char *text = (const char *)reader->event.data.scalar.value;
    size_t len = reader->event.data.scalar.length;
    AUTO_BUFFER(token, SIZE_MAX / 4);
    if (tag && !text_has_prefix(tag, TAG_PREFIX)) // an application-specific tag: go-yaml uses the text
        return make_scalar(reader, SCALAR_STRING, &token);
    if (!tag && !reader->event.data.scalar.plain_implicit) // quoted, or tagged "!"
        return make_scalar(reader, SCALAR_STRING, &token);
    const char *type = tag ? tag + strlen(TAG_PREFIX) : "";
    if (strcmp(type, "binary") == 0)
        return reader_fail(reader, ERROR_UNSUPPORTED,
                           "!!binary is not supported; omit the tag to keep the base64 text");
    bool typed = !tag || !tag_allows(type, SCALAR_STRING);
    enum scalar scalar = typed ? scalar_resolve(text, len, &token) : SCALAR_STRING;
    if (!tag_allows(type, scalar))
        return refuse_scalar(reader, "is not what its tag says");
    return make_scalar(reader, scalar, &token);
}

static cJSON *read_sequence(struct yaml_reader *reader, size_t depth) {
    AUTO_JSON array = json_new_array();
    if (!array)
        return reader_no_memory(reader);
    for (;;) {
        if (!reader_next(reader))
            return NULL;
        if (reader->event.type == YAML_SEQUENCE_END_EVENT)
            break;
        cJSON *item = reader_node(reader, depth + 1);
        if (!item)
            return NULL;
        node_append(node_of(array), item);
    }
    cJSON *result = node_of(array);
    array = NULL;
    return result;
}

static bool is_merge_key(const yaml_event_t *event) {
    if (event->type != YAML_SCALAR_EVENT || strcmp((const char *)event->data.scalar.value, "<<") != 0)
        return false;
    const char *tag = (const char *)event->data.scalar.tag;
    return tag ? strcmp(tag, TAG_PREFIX "merge") == 0 : event->data.scalar.plain_implicit != 0;
}

// The text of a key, valid as long as `key`. Booleans and integers are written as in JSON.
static const char *key_text(struct yaml_reader *reader, const yaml_mark_t *mark, const cJSON *key) {
    const char *problem = "a key with U+0000 in it is not supported";
    switch (json_type(node_json_const(key))) {
    case JSON_STRING:
        if (json_string(node_json_const(key)))
            return key->valuestring;
        break;
    case JSON_NUMBER:
        if (!strpbrk(key->valuestring, ".eE"))
            return key->valuestring;
        problem = "a key that is a fractional number must be in quotes";
        break;
    case JSON_BOOL:
        return node_type(key) == cJSON_True ? "true" : "false";
    case JSON_NULL:
        problem = "a key is null; if this is intended, put it in quotes";
        break;
    default:
        problem = "a key must be a scalar";
    }
    reader_fail_at(reader, mark, ERROR_INVALID, problem);
    return NULL;
}

struct mapping {
    cJSON *object;
    struct keys keys;
    struct json *merged; // members merged by <<, in order; NULL if none
};

static void mapping_cleanup(struct mapping *mapping) {
    node_free(mapping->object);
    json_free(mapping->merged);
}

static bool add_member(struct yaml_reader *reader, struct mapping *mapping, const char *key, cJSON *value) {
    if (node_add(mapping->object, key, value))
        return true;
    reader_no_memory(reader);
    return false;
}

// The current event is the key's.
static bool read_member(struct yaml_reader *reader, struct mapping *mapping, size_t depth) {
    yaml_mark_t mark = reader->event.start_mark;
    cJSON *key_node = reader_node(reader, depth + 1);
    if (!key_node || !json_append(reader->kept, node_json(key_node)))
        return false;
    const char *key = key_text(reader, &mark, key_node);
    if (!key)
        return false;
    const cJSON *before = keys_find(&mapping->keys, mapping->object, key);
    if (before) {
        char problem[64];
        snprintf(problem, sizeof problem, "is a duplicate key: it is already on line %d", node_line(before));
        reader_fail_about(reader, &mark, key, problem);
        return false;
    }
    int line = node_line(key_node);
    cJSON *value = reader_next(reader) ? reader_node(reader, depth + 1) : NULL;
    if (!value)
        return false;
    node_set_line(value, line);
    return add_member(reader, mapping, key, value);
}

// The current event is the << key.
static bool read_merge(struct yaml_reader *reader, struct mapping *mapping, size_t depth) {
    yaml_mark_t mark = reader->event.start_mark;
    struct json *value = reader_next(reader) ? node_json(reader_node(reader, depth)) : NULL;
    if (!value)
        return false;
    bool fits = json_is(value, JSON_OBJECT);
    if (json_is(value, JSON_ARRAY)) {
        fits = true;
        for (const struct json *item = json_first(value); item; item = json_next(item))
            fits = fits && json_is(item, JSON_OBJECT);
    }
    if (!mapping->merged)
        mapping->merged = json_new_array();
    if (!json_append(mapping->merged, value)) {
        reader_no_memory(reader);
        return false;
    }
    if (!fits)
        reader_fail_at(reader, &mark, ERROR_INVALID, "<< needs a mapping, or a list of mappings");
    return fits;
}

// Adds members that do not exist yet: the first one wins.
static bool merge_object(struct yaml_reader *reader, struct mapping *mapping, const struct json *source) {
    for (const struct json *member = json_first(source); member; member = json_next(member)) {
        if (keys_find(&mapping->keys, mapping->object, json_key(member)))
            continue;
        cJSON *copy = node_of(json_copy(member));
        if (!copy) {
            reader_no_memory(reader);
            return false;
        }
        if (!add_member(reader, mapping, json_key(member), copy))
            return false;
    }
    return true;
}

static bool apply_merges(struct yaml_reader *reader, struct mapping *mapping) {
    for (const struct json *source = json_first(mapping->merged); source; source = json_next(source)) {
        if (json_is(source, JSON_OBJECT)) {
            if (!merge_object(reader, mapping, source))
                return false;
            continue;
        }
        for (const struct json *item = json_first(source); item; item = json_next(item))
            if (!merge_object(reader, mapping, item))
                return false;
    }
    struct json *merged = TAKE(mapping->merged);
    return !merged || json_append(reader->kept, merged);
}

static cJSON *read_mapping(struct yaml_reader *reader, size_t depth) {
    __attribute__((cleanup(mapping_cleanup))) struct mapping mapping = {.object = node_new(cJSON_Object, 0, 0)};
    if (!mapping.object)
        return reader_no_memory(reader);
    for (;;) {
        if (!reader_next(reader))
            return NULL;
        if (reader->event.type == YAML_MAPPING_END_EVENT)
            break;
        bool ok =
            is_merge_key(&reader->event) ? read_merge(reader, &mapping, depth) : read_member(reader, &mapping, depth);
        if (!ok)
            return NULL;
    }
    if (!apply_merges(reader, &mapping))
        return NULL;
    return TAKE(mapping.object);
}

static int event_line(const struct yaml_reader *reader) {
    size_t line = reader->event.start_mark.line;
    return line < INT_MAX ? (int)line + 1 : INT_MAX;
}

cJSON *reader_node(struct yaml_reader *reader, size_t depth) {
    int line = event_line(reader);
    bool is_container =
        reader->event.type == YAML_SEQUENCE_START_EVENT || reader->event.type == YAML_MAPPING_START_EVENT;
    if (is_container && depth >= JSON_MAX_DEPTH)
        return reader_fail(reader, ERROR_LIMIT, "nested too deeply");
    struct anchor *anchor;
    if (!reader_open_anchor(reader, &anchor))
        return NULL;
    cJSON *node = NULL;
    if (reader->event.type == YAML_ALIAS_EVENT)
        node = reader_alias(reader, depth);
    else if (reader->event.type == YAML_SCALAR_EVENT)
        node = read_scalar(reader);
    else if (reader->event.type == YAML_SEQUENCE_START_EVENT)
        node = read_sequence(reader, depth);
    else
        node = read_mapping(reader, depth);
    if (node)
        node_set_line(node, line);
    if (anchor)
        anchor->node = node;
    return node;
}
