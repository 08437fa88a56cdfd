// SPDX-License-Identifier: Apache-2.0
// Names, labels and annotations that every API server rejects (apimachinery ValidateObjectMeta).

#include "core/cmd/plan/plan.h"
#include "core/json/pointer.h"

#include <stdlib.h>
#include <string.h>

#define ANNOTATIONS_MAX ((size_t)256 << 10) // apimachinery TotalAnnotationSizeLimitB, keys and values together

#define SUBDOMAIN "at most 253 lower-case letters, digits, '-' and '.', with a letter or digit at both ends"
#define LABEL "at most 63 lower-case letters, digits and '-', with a letter or digit at both ends"
#define WORD "at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends"
#define KEY "an optional DNS prefix and '/', then " WORD

struct name_check {
    struct plan_object *object;
    const char *what; // "labels"
    bool good;
};

static void reject(struct name_check *check, const char *pointer, const struct json *value, const char *expected) {
    AUTO_TEXT label = text_format("%s:", check->what);
    AUTO_TEXT why = text_format("the API server rejects it: expected %s", expected);
    const struct plan_change found = {pointer, value, NULL};
    plan_comment_change(&check->object->lines, label ? label : "?", &found, why);
    plan_wrong(check->object, PLAN_REJECTED);
    check->good = false;
}

static void reject_key(struct name_check *check, const char *key) {
    plan_comment(&check->object->lines, "%s: the API server rejects the key \"%s\": expected " KEY, check->what, key);
    plan_wrong(check->object, PLAN_REJECTED);
    check->good = false;
}

// A string, or nothing.
static const char *text_of(struct name_check *check, const struct json *metadata, const char *key,
                           const char *pointer) {
    const struct json *value = json_get(metadata, key);
    if (value && !json_is(value, JSON_NULL) && !json_string(value))
        reject(check, pointer, value, "a string");
    return json_string_or(value, "");
}

// A generated name is the prefix with five characters more; the server masks a '-' at the end of the prefix.
static bool is_prefix(const char *prefix) {
    AUTO_TEXT name = text_format("%s", prefix);
    size_t len = name ? strlen(name) : 0;
    if (len > 1 && name[len - 1] == '-')
        name[len - 1] = 'a';
    return !name || text_is_dns_subdomain(name);
}

static void check_name(struct name_check *check, const struct json *metadata) {
    check->what = "name";
    const char *name = text_of(check, metadata, "name", "/metadata/name");
    const char *prefix = text_of(check, metadata, "generateName", "/metadata/generateName");
    if (!check->good)
        return;
    if (name[0] == '\0' && prefix[0] == '\0') {
        plan_comment(&check->object->lines, "name: neither metadata.name nor metadata.generateName is set");
        plan_wrong(check->object, PLAN_REJECTED);
        check->good = false;
    }
    if (name[0] != '\0' && !text_is_dns_subdomain(name))
        reject(check, "/metadata/name", json_get(metadata, "name"), SUBDOMAIN);
    if (prefix[0] != '\0' && !is_prefix(prefix))
        reject(check, "/metadata/generateName", json_get(metadata, "generateName"), SUBDOMAIN);
}

static void check_namespace(struct name_check *check, const struct json *metadata) {
    check->what = "namespace";
    const char *name = text_of(check, metadata, "namespace", "/metadata/namespace");
    if (name[0] != '\0' && !text_is_dns_label(name))
        reject(check, "/metadata/namespace", json_get(metadata, "namespace"), LABEL);
}

// Keys of annotations may have upper-case letters in their prefix too.
static bool is_annotation_key(const char *key) {
    AUTO_TEXT lower = text_format("%s", key);
    for (char *c = lower; c && *c != '\0'; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    return !lower || text_is_label_key(lower);
}

static void check_member(struct name_check *check, const struct json *member, bool labels) {
    AUTO_BUFFER(pointer, (size_t)1 << 20);
    buffer_printf(&pointer, "/metadata/%s", check->what);
    if (!pointer_append(&pointer, json_key(member)))
        return;
    const char *text = json_string(member);
    if (labels ? !text_is_label_key(json_key(member)) : !is_annotation_key(json_key(member)))
        reject_key(check, json_key(member));
    else if (!text)
        reject(check, pointer.data, member, "a string (in quotes)");
    else if (labels && !text_is_label_value(text))
        reject(check, pointer.data, member, WORD ", or nothing");
}

static void check_map(struct name_check *check, const struct json *metadata, const char *name) {
    const struct json *map = json_get(metadata, name);
    bool labels = strcmp(name, "labels") == 0;
    check->what = name;
    if (map && !json_is(map, JSON_NULL) && !json_is(map, JSON_OBJECT)) {
        reject(check, labels ? "/metadata/labels" : "/metadata/annotations", map, "a mapping");
        return;
    }
    size_t size = 0;
    for (const struct json *member = json_first(map); member; member = json_next(member)) {
        check_member(check, member, labels);
        size += strlen(json_key(member)) + strlen(json_string_or(member, ""));
    }
    if (!labels && size > ANNOTATIONS_MAX) {
        plan_comment(&check->object->lines,
                     "annotations: %zu bytes of keys and values; the API server rejects more than %zu", size,
                     ANNOTATIONS_MAX);
        plan_wrong(check->object, PLAN_REJECTED);
        check->good = false;
    }
}

bool plan_check_names(struct plan_object *object) {
    struct name_check check = {.object = object, .what = "metadata", .good = true};
    const struct json *metadata = json_get(object->item->value, "metadata");
    if (metadata && !json_is(metadata, JSON_NULL) && !json_is(metadata, JSON_OBJECT)) {
        reject(&check, "/metadata", metadata, "a mapping");
        return false;
    }
    check_name(&check, metadata);
    check_namespace(&check, metadata);
    check_map(&check, metadata, "labels");
    check_map(&check, metadata, "annotations");
    return check.good;
}
