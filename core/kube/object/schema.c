// SPDX-License-Identifier: Apache-2.0
#include "core/kube/object/span.h"

#include "core/base/text.h"

#define STEPS_MAX 32 // references followed

struct schema_part { // a value in the text
    const char *text;
    size_t len;
};

static bool is_empty(struct schema_part part) {
    return part.len == 0;
}

static struct schema_part part_of(struct schema_part whole, const struct span *span) {
    return (struct schema_part){whole.text + span->value, span->end - span->value};
}

// Names in schemas have no escapes.
static bool is_text(struct schema_part value, const char *text) {
    size_t len = strlen(text);
    return value.len == len + 2 && memcmp(value.text + 1, text, len) == 0;
}

static struct schema_part member_of(struct schema_part object, const char *key, size_t len) {
    struct span span;
    bool found = !is_empty(object) && span_member_len(object.text, object.len, key, len, &span);
    return found ? part_of(object, &span) : (struct schema_part){0};
}

static struct schema_part member(struct schema_part object, const char *key) {
    return member_of(object, key, strlen(key));
}

static bool next_item(struct schema_part array, size_t *at, struct schema_part *out) {
    struct span span;
    if (is_empty(array) || span_next_item(array.text, array.len, at, &span) != SPAN_ITEM)
        return false;
    *out = part_of(array, &span);
    return true;
}

static bool is_of_kind(struct schema_part schema, const struct schema_kind *kind) {
    struct schema_part list = member(schema, "x-kubernetes-group-version-kind"), item;
    for (size_t at = 0; next_item(list, &at, &item);)
        if (is_text(member(item, "group"), kind->group) && is_text(member(item, "version"), kind->version) &&
            is_text(member(item, "kind"), kind->kind))
            return true;
    return false;
}

static struct schema_part schema_of(struct schema_part schemas, const struct schema_kind *kind) {
    struct span span;
    for (size_t at = 0; !is_empty(schemas) && span_next_member(schemas.text, schemas.len, &at, &span);)
        if (is_of_kind(part_of(schemas, &span), kind))
            return part_of(schemas, &span);
    return (struct schema_part){0};
}

// The schema that a reference leads to: {"$ref": ...}, or {"allOf": [{"$ref": ...}], "default": ...}.
static struct schema_part resolve(struct schema_part schemas, struct schema_part schema) {
    static const char prefix[] = "\"#/components/schemas/";
    for (int i = 0; i < STEPS_MAX && !is_empty(schema); i++) {
        struct schema_part reference = member(schema, "$ref"), first = {0};
        size_t at = 0;
        if (is_empty(reference) && next_item(member(schema, "allOf"), &at, &first))
            reference = member(first, "$ref");
        size_t skipped = sizeof prefix - 1;
        if (reference.len <= skipped || memcmp(reference.text, prefix, skipped) != 0)
            return schema;
        schema = member_of(schemas, reference.text + skipped, reference.len - skipped - 1);
    }
    return schema;
}

static bool takes_anything(struct schema_part schema) {
    struct schema_part keeps = member(schema, "x-kubernetes-preserve-unknown-fields");
    struct schema_part more = member(schema, "additionalProperties");
    return (keeps.len == 4 && memcmp(keeps.text, "true", 4) == 0) || (!is_empty(more) && *more.text != 'f') ||
           is_empty(member(schema, "properties"));
}

enum schema_answer schema_find(const char *text, size_t len, const struct schema_kind *kind, const char *pointer) {
    if (text_has_prefix(pointer, "/metadata/"))
        return SCHEMA_HAS;
    struct schema_part schemas = member(member((struct schema_part){text, len}, "components"), "schemas");
    struct schema_part schema = schema_of(schemas, kind);
    if (is_empty(schema))
        return SCHEMA_UNKNOWN;
    while (*pointer == '/') {
        schema = resolve(schemas, schema);
        if (is_empty(schema))
            return SCHEMA_UNKNOWN;
        size_t step = strcspn(++pointer, "/");
        struct schema_part items = member(schema, "items");
        if (is_empty(items) && takes_anything(schema))
            return SCHEMA_HAS;
        schema = is_empty(items) ? member_of(member(schema, "properties"), pointer, step) : items;
        if (is_empty(schema))
            return SCHEMA_LACKS;
        pointer += step;
    }
    return SCHEMA_HAS;
}

char *schema_path(const char *group, const char *version) {
    return *group ? text_format("/openapi/v3/apis/%s/%s", group, version) : text_format("/openapi/v3/api/%s", version);
}
