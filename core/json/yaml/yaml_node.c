// SPDX-License-Identifier: Apache-2.0
// YAML nodes: libyaml's events become cJSON nodes with lines (yaml_reader.h, node.h).
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/json/yaml/yaml_reader.h"

#include <limits.h>

// -- anchors and aliases --

// Limit on the expansion of all aliases of a stream.
#define EXPANDED_VALUES_MAX 100000
#define EXPANDED_BYTES_MAX ((size_t)16 * 1024 * 1024)

static const char *event_anchor(const yaml_event_t *event) {
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return (const char *)event->data.scalar.anchor;
    case YAML_SEQUENCE_START_EVENT:
        return (const char *)event->data.sequence_start.anchor;
    case YAML_MAPPING_START_EVENT:
        return (const char *)event->data.mapping_start.anchor;
    default:
        return NULL;
    }
}

// Registers the anchor of the current event; *out is NULL without an anchor. The caller sets the node when complete.
static bool open_anchor(struct yaml_reader *reader, struct anchor **out) {
    const char *name = event_anchor(&reader->event);
    struct anchor *anchor = name ? map_get(&reader->anchors, name) : NULL;
    if (name && !anchor) {
        anchor = struct_copy_with_texts(&(struct anchor){.name = name}, sizeof *anchor, 1);
        if (!anchor || !map_put(&reader->anchors, anchor->name, anchor)) {
            free(anchor);
            return reader_no_memory(reader);
        }
    }
    if (anchor)
        anchor->node = NULL;
    *out = anchor;
    return true;
}

// Counts the values that a copy adds; false if too many, or nested too deeply.
static bool count_expanded(struct yaml_reader *reader, const cJSON *node, size_t depth) {
    reader->expanded_values++;
    reader->expanded_bytes += node_text(node) ? strlen(node_text(node)) : 0;
    reader->expanded_bytes += node->string ? strlen(node->string) : 0;
    if (reader->expanded_values > EXPANDED_VALUES_MAX || reader->expanded_bytes > EXPANDED_BYTES_MAX) {
        reader_fail(reader, ERROR_LIMIT, "the aliases of this document expand to too many values (too many aliases)");
        return false;
    }
    if (node_is_container(node) && depth >= JSON_MAX_DEPTH) {
        reader_fail(reader, ERROR_LIMIT, "an alias makes the document nested too deeply");
        return false;
    }
    for (const cJSON *child = node->child; child; child = child->next)
        if (!count_expanded(reader, child, depth + 1))
            return false;
    return true;
}

// A copy of the node that the current alias refers to.
static cJSON *read_alias(struct yaml_reader *reader, size_t depth) {
    const struct anchor *anchor = map_get(&reader->anchors, (const char *)reader->event.data.alias.anchor);
    if (!anchor)
        return reader_fail(reader, ERROR_INVALID, "an alias without an anchor of that name before it");
    if (!anchor->node)
        return reader_fail(reader, ERROR_INVALID, "an alias within its own anchor");
    if (!count_expanded(reader, anchor->node, depth))
        return NULL;
    cJSON *copy = node_of(json_copy(node_json_const(anchor->node)));
    return copy ? copy : reader_no_memory(reader);
}

// -- scalars --

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
    return node_of(TAKE(array));
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
    if (!node_set_key(value, key)) {
        node_free(value);
        return reader_no_memory(reader);
    }
    node_append(mapping->object, value);
    return true;
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
    if (!json_append(mapping->merged, value))
        return reader_no_memory(reader);
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
    struct anchor *anchor = NULL;
    if (!open_anchor(reader, &anchor))
        return NULL;
    cJSON *node = NULL;
    if (reader->event.type == YAML_ALIAS_EVENT)
        node = read_alias(reader, depth);
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
