// SPDX-License-Identifier: Apache-2.0
#include "core/host/sources/worker_placement.h"

#include "core/base/selector.h"
#include "core/base/text.h"
#include "core/json/yaml.h"
#include "core/kube/object/object.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXTENSION "wharf.dev"
#define NUMBER_MAX 1000000
#define KINDS_MAX ((size_t)8192)

static struct error *read_number(const char *text, int64_t *out) {
    if (!text_to_int64(text, out) || *out < 1 || *out > NUMBER_MAX)
        return error_new(ERROR_INVALID, "found \"%.40s\", expected a whole number from 1 to 1000000", text);
    return NULL;
}

// "10,jobs.batch=5": of all kinds, and of some.
static struct error *read_max_active(const char *text, struct worker_spec *out) {
    AUTO_BUFFER(kinds, KINDS_MAX);
    for (const char *at = text; *at; at += *at == ',') {
        size_t len = strcspn(at, ",");
        AUTO_TEXT item = strndup(at, len);
        if (!item)
            return error_no_memory();
        char *equals = strchr(item, '=');
        if (equals)
            *equals = '\0';
        int64_t limit = 0;
        struct error *error = read_number(equals ? equals + 1 : item, &limit);
        if (!error && equals && !text_is_label_key(item))
            error = error_new(ERROR_INVALID, "found \"%.80s\", expected a kind such as Job or jobs.batch", item);
        if (error)
            return error;
        if (!equals)
            out->settings.max_active = (size_t)limit;
        else if (!labels_add(&kinds, item, equals + 1))
            return error_no_memory();
        at += len;
    }
    out->settings.max_kinds = kinds.len > 0 ? buffer_take(&kinds, NULL) : NULL;
    return NULL;
}

static struct error *set_placement(struct worker_spec *out, const char *key, const char *text) {
    int64_t number = 0;
    if (strcmp(key, "max-active") == 0 || strcmp(key, "maxActive") == 0)
        return read_max_active(text, out);
    TRY(read_number(text, &number));
    *(strcmp(key, "weight") == 0 ? &out->settings.weight : &out->settings.order) = (uint32_t)number;
    return NULL;
}

struct error *worker_placement_of_object(const struct json *object, struct worker_spec *out) {
    static const char *const keys[] = {"weight", "order", "max-active"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char annotation[32];
        snprintf(annotation, sizeof annotation, "wharf.dev/%s", keys[i]);
        const char *text = object_annotation(object, annotation);
        struct error *error = text ? set_placement(out, keys[i], text) : NULL;
        if (error)
            return error_wrap(error, "annotation %s", annotation);
    }
    return NULL;
}

static struct error *read_label(const struct json *label, struct worker_spec *out) {
    const char *key = json_key(label), *value = json_string(label);
    if (!text_is_label_key(key) || !value || !text_is_label_value(value))
        return error_new(ERROR_INVALID, "labels: found \"%.80s\", expected a label with a valid key and value", key);
    return worker_spec_add_label(out, key, value) ? NULL : error_no_memory();
}

static struct error *read_member(const struct json *member, struct worker_spec *out) {
    static const char *const keys[] = {"weight", "order", "maxActive"};
    const char *key = json_key(member);
    struct error *error = NULL;
    if (strcmp(key, "labels") == 0) {
        for (const struct json *label = json_first(member); label && !error; label = json_next(label))
            error = read_label(label, out);
        return error;
    }
    char number[32];
    snprintf(number, sizeof number, "%" PRId64, json_int64(member, 0));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(key, keys[i]) == 0)
            return error_wrap(
                set_placement(out, key, json_is(member, JSON_NUMBER) ? number : json_string_or(member, "")), "%s", key);
    return error_new(ERROR_INVALID, "%.40s: found an unknown key, expected labels, weight, order or maxActive", key);
}

struct error *worker_placement_of_kubeconfig(const char *text, size_t len, struct worker_spec *out) {
    __attribute__((cleanup(yaml_cleanup))) struct yaml yaml = {.value = NULL};
    struct error *error = yaml_parse("kubeconfig", text, len, &yaml);
    if (error)
        return error;
    const struct json *list = json_get(yaml.value, "extensions");
    for (const struct json *item = json_first(list); item; item = json_next(item)) {
        if (!text_equal(json_string(json_get(item, "name")), EXTENSION))
            continue;
        const struct json *extension = json_get(item, "extension");
        for (const struct json *member = json_first(extension); member && !error; member = json_next(member))
            error = error_wrap(read_member(member, out), "extension " EXTENSION);
    }
    return error;
}
