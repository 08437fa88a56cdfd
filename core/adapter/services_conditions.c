// SPDX-License-Identifier: Apache-2.0
// The services about conditions (metav1.Condition).
#include "core/adapter/phase.h"
#include "core/adapter/services_memory.h"
#include "core/base/text.h"
#include "core/json/items.h"

const wharf_value *services_condition(const wharf_value *object, const char *type, const char *status) {
    const struct json *conditions = json_path((const struct json *)object, "status", "conditions", NULL);
    return type ? (const wharf_value *)phase_condition(conditions, type, status) : NULL;
}

static bool set_text(struct json *condition, const char *key, const char *text) {
    if (!text || text_equal(json_string(json_get(condition, key)), text))
        return true;
    return json_set(condition, key, json_new_string(text));
}

// Makes the condition if there is none of this type.
static struct json *condition_of(struct json *status, const char *type) {
    struct json *conditions = json_get(status, "conditions");
    if (!json_is(conditions, JSON_ARRAY)) {
        if (!json_set(status, "conditions", json_new_array()))
            return NULL;
        conditions = json_get(status, "conditions");
    }
    struct json *found = json_find_item(conditions, "type", type);
    if (found)
        return found;
    AUTO_JSON made = json_new_object();
    if (!made || !set_text(made, "type", type))
        return NULL;
    struct json *condition = made;
    made = NULL;
    return json_append(conditions, condition) ? condition : NULL;
}

int services_set_condition(const wharf_call *call, wharf_value *status_value, const char *type, const char *status,
                           const char *reason, const char *message) {
    struct json *root = (struct json *)status_value;
    if (!call || !json_is(root, JSON_OBJECT) || !type || !status)
        return 0;
    struct json *condition = condition_of(root, type);
    if (!condition)
        return 0;
    bool turned = !text_equal(json_string(json_get(condition, "status")), status);
    return set_text(condition, "status", status) && set_text(condition, "reason", reason) &&
           set_text(condition, "message", message) && (!turned || set_text(condition, "lastTransitionTime", call->now));
}
