// SPDX-License-Identifier: Apache-2.0
#include "core/conform/child.h"

#include "core/base/text.h"
#include "core/json/pointer.h"

#include <stdlib.h>
#include <string.h>

#define TIME "2026-01-02T03:05:06Z"

// Sets the field of a pattern, with one item for each "*". An existing value stays. Takes the value.
static bool set_pattern(struct json *root, const char *pattern, const char *key, struct json *value) {
    AUTO_BUFFER(at, 4096);
    while (*pattern == '/') {
        size_t len = 1 + strcspn(pattern + 1, "/");
        bool star = len == 2 && pattern[1] == '*';
        if (star) {
            struct json *array = pointer_find(root, at.data ? at.data : "");
            if (!json_is(array, JSON_ARRAY) && !pointer_set(root, at.data, json_new_array()))
                break;
            array = pointer_find(root, at.data);
            bool last = pattern[len] == '\0';
            if (last && json_size(array) > 0)
                break;
            if (json_size(array) == 0 && !json_append(array, last ? json_copy(value) : json_new_object()))
                break;
            if (!last && !json_get(json_first(array), key) &&
                !json_set(json_first(array), key, json_new_string("first")))
                break;
            buffer_text(&at, "/0");
        } else {
            buffer_append(&at, pattern, len);
        }
        pattern += len;
    }
    if (*pattern != '\0' || at.failed || !at.data || pointer_find(root, at.data)) {
        json_free(value);
        return !at.failed;
    }
    // Where something else is on the way, the object has no such field.
    pointer_set(root, at.data, value);
    return true;
}

static bool set_fields(const wharf_kind *kind, struct json *object) {
    static const char template[] = "{\"metadata\":{\"labels\":{\"app\":\"a\"}},\"spec\":{\"containers\":[{\"name\":"
                                   "\"main\",\"image\":\"example.com/image\"}]}}";
    bool done = true;
    for (const wharf_pods *pods = kind->pods; pods && pods->templates; pods++) {
        done &= set_pattern(object, pods->templates, "name", parsed(template));
        for (const char *const *count = pods->counts; count && *count; count++)
            done &= set_pattern(object, *count, "name", json_new_int64(2));
    }
    if (kind->suspend)
        done &= set_pattern(object, kind->suspend, "name",
                            kind->suspend_value ? json_new_string(kind->suspend_value) : json_new_bool(false));
    for (const wharf_carried *carried = kind->carried; carried && carried->pointer; carried++)
        done &= set_pattern(object, carried->pointer, carried->key ? carried->key : "name", json_new_int64(1));
    for (const char *const *removed = kind->removed; removed && *removed; removed++)
        done &= set_pattern(object, *removed, "name", json_new_int64(1));
    return done;
}

// The array of a rule about conditions, with one condition; or the string of one about a string.
static bool set_rule(const wharf_phase_rule *rule, struct json *status) {
    bool condition = rule->status || strstr(rule->pointer, "onditions");
    if (!condition)
        return pointer_set(status, rule->pointer, json_new_string(rule->value));
    if (!json_is(pointer_find(status, rule->pointer), JSON_ARRAY) &&
        !pointer_set(status, rule->pointer, json_new_array()))
        return false;
    AUTO_JSON item = json_new_object();
    struct json *array = pointer_find(status, rule->pointer);
    return json_set(item, "type", json_new_string(rule->value)) &&
           json_set(item, "status", json_new_string(rule->status ? rule->status : "True")) &&
           json_set(item, "reason", json_new_string("Generated")) &&
           json_set(item, "message", json_new_string("made by the conformance kit")) &&
           json_set(item, "lastTransitionTime", json_new_string(TIME)) && json_append(array, json_copy(item));
}

static bool set_status_fields(const wharf_kind *kind, struct json *wrapper) {
    bool done = true;
    if (kind->observed_generation)
        done &= set_pattern(wrapper, kind->observed_generation, "name", json_new_int64(1));
    if (kind->finished_at)
        done &= set_pattern(wrapper, kind->finished_at, "name", json_new_string(TIME));
    for (const char *const *removed = kind->status_removed; removed && *removed; removed++)
        done &= set_pattern(wrapper, *removed, "name", json_new_int64(1));
    return done;
}

bool states_generate(const struct kind *kind, struct subject *subject) {
    AUTO_JSON empty = json_new_object();
    if (!subject_add_state(subject, "an empty one", empty, false))
        return false;
    AUTO_JSON all = parsed("{\"status\":{}}");
    bool done = all && set_status_fields(&kind->abi, all);
    for (const wharf_phase_rule *rule = kind->abi.phases; done && rule && rule->pointer; rule++) {
        AUTO_JSON one = parsed("{\"status\":{}}");
        AUTO_TEXT name = text_format("one with %s %s", rule->value, rule->status ? rule->status : "");
        done = one && name && set_rule(rule, one) && set_rule(rule, all) && set_status_fields(&kind->abi, one) &&
               subject_add_state(subject, name, json_get(one, "status"), false);
    }
    return done && subject_add_state(subject, "one with all that the kind names", json_get(all, "status"), false);
}

struct error *subjects_generate(struct tested *tested) {
    const wharf_kind *kind = &tested->kind.abi;
    for (int full = 0; full < 2; full++) {
        struct json *object = json_new_object();
        AUTO_TEXT api_version =
            text_format("%s%s%s", kind->group, kind->group[0] == '\0' ? "" : "/", kind->versions[0]);
        bool done = api_version && json_set(object, "apiVersion", json_new_string(api_version)) &&
                    json_set(object, "kind", json_new_string(kind->kind)) &&
                    json_set(object, "spec", json_new_object()) && (!full || set_fields(kind, object)) &&
                    subject_prepare(&tested->kind, object);
        if (!done) {
            json_free(object);
            return error_no_memory();
        }
        struct subject *subject =
            subject_add(tested, full ? "generated: a full object" : "generated: a minimal object", object);
        if (!subject || !states_generate(&tested->kind, subject))
            return error_no_memory();
    }
    return NULL;
}
