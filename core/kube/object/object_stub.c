// SPDX-License-Identifier: Apache-2.0
#include "core/kube/object/object_stub.h"

#include "core/base/text.h"
#include "core/json/pointer.h"
#include "core/kube/object/span.h"

#include <stdlib.h>
#include <string.h>

#define VALUE_MAX ((size_t)4 << 10) // bytes of the text of a kept value
#define OWN_MAX 64                  // labels or annotations
#define KEY_MAX ((size_t)256)

struct source {
    const char *text;
    size_t len;
};

// The text of the member's value; false if absent.
static bool enter(const struct source *source, const char *key, struct source *out) {
    struct span span;
    if (!span_member(source->text, source->len, key, &span))
        return false;
    *out = (struct source){source->text + span.value, span.end - span.value};
    return true;
}

// Copies a short value. False: out of memory.
static bool copy_value(struct json *to, const char *key, const char *text, size_t len) {
    struct json *value = NULL;
    struct error *error = len <= VALUE_MAX ? json_parse(text, len, &value) : NULL;
    bool no_memory = error && error->code == ERROR_NO_MEMORY;
    error_free(error);
    return !no_memory && (!value || json_set(to, key, value));
}

static bool copy_member(const struct source *from, const char *key, struct json *to) {
    struct source value;
    return !enter(from, key, &value) || copy_value(to, key, value.text, value.len);
}

// Copies the host's own labels or annotations.
static bool copy_own(const struct source *metadata, const char *map, struct json *to) {
    struct source from;
    struct span member;
    struct json *own = json_new_object();
    size_t at = 0, count = 0;
    bool ok = own;
    bool there = enter(metadata, map, &from);
    while (ok && there && count < OWN_MAX && span_next_member(from.text, from.len, &at, &member)) {
        const char *key = from.text + member.key + 1;
        const char *end = memchr(key, '"', member.value - member.key);
        size_t len = end ? (size_t)(end - key) : 0;
        if (len < KEY_MAX && strncmp(key, OBJECT_OWN_PREFIX, sizeof(OBJECT_OWN_PREFIX) - 1) == 0) {
            char name[KEY_MAX];
            memcpy(name, key, len);
            name[len] = '\0';
            ok = copy_value(own, name, from.text + member.value, member.end - member.value);
            count++;
        }
    }
    if (ok && count > 0)
        return json_set(to, map, own);
    json_free(own);
    return ok;
}

static bool copy_metadata(const struct source *object, struct json *to) {
    static const char *const keys[] = {
        "name", "namespace", "uid", "resourceVersion", "generation", "deletionTimestamp", "ownerReferences"};
    struct source metadata;
    if (!enter(object, "metadata", &metadata))
        return true;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (!copy_member(&metadata, keys[i], to))
            return false;
    return copy_own(&metadata, "labels", to) && copy_own(&metadata, "annotations", to);
}

// Copies the value at a pointer without "~".
static bool copy_pointer(const struct source *object, const char *pointer, struct json *to) {
    struct source at = *object;
    for (const char *rest = pointer; *rest == '/';) {
        char key[KEY_MAX];
        size_t len = strcspn(rest + 1, "/");
        if (len >= sizeof(key))
            return true;
        memcpy(key, rest + 1, len);
        key[len] = '\0';
        if (!enter(&at, key, &at))
            return true;
        rest += len + 1;
    }
    struct json *value = NULL;
    struct error *error = at.len <= VALUE_MAX ? json_parse(at.text, at.len, &value) : NULL;
    bool no_memory = error && error->code == ERROR_NO_MEMORY;
    error_free(error);
    return !no_memory && (!value || pointer_set(to, pointer, value));
}

static bool fill(const struct source *object, const struct object_limits *limits, struct json *stub) {
    struct json *metadata = json_new_object();
    if (!metadata || !json_set(stub, "metadata", metadata) || !copy_member(object, "apiVersion", stub) ||
        !copy_member(object, "kind", stub) || !copy_metadata(object, metadata))
        return false;
    for (const char *const *kept = limits->kept; kept && *kept; kept++)
        if (!copy_pointer(object, *kept, stub))
            return false;
    return true;
}

struct error *object_stub(const char *text, size_t len, const char *api_version, const char *kind,
                          const struct object_limits *limits, const char *why, struct object **out) {
    const struct source object = {text, len};
    struct json *stub = json_new_object();
    char *reason = why ? strdup(why) : NULL;
    if (!stub || !reason || !fill(&object, limits, stub)) {
        json_free(stub);
        free(reason);
        return error_no_memory();
    }
    struct error *error = object_new(stub, api_version, kind, out);
    if (error) {
        free(reason);
        return error;
    }
    (*out)->too_large = reason;
    return NULL;
}
