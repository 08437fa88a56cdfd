// SPDX-License-Identifier: Apache-2.0
// The services for conditions (metav1.Condition).
#include "core/adapter/phase.h"
#include "core/adapter/services/services_memory.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/json/items.h"

#include <string.h>

#define TRANSITION_TIME "lastTransitionTime"

static const struct json *conditions_of(const struct json *object) {
    return json_get(json_get(object, "status"), "conditions");
}

const wharf_value *services_condition(const wharf_value *object, const char *type, const char *status) {
    const struct json *conditions = conditions_of((const struct json *)object);
    return type ? (const wharf_value *)phase_condition(conditions, type, status) : NULL;
}

static bool set_text(struct adapter_call *call, struct json *condition, const char *key, const char *text) {
    if (!text || text_equal(json_string(json_get(condition, key)), text))
        return true;
    if (text_utf8_valid(text, strlen(text)) < strlen(text)) {
        services_refuse(call, "/status/conditions: %s cannot be set: the text is not UTF-8", key);
        return false;
    }
    return services_put_member(call, condition, key, json_new_string(text));
}

// The member of this type, created if absent or null. NULL and a failure for another type.
static struct json *member_of(struct adapter_call *call, struct json *object, const char *key, enum json_type type,
                              const char *pointer) {
    struct json *member = json_get(object, key);
    if (json_is(member, type))
        return member;
    if (member && !json_is(member, JSON_NULL)) {
        services_refuse(call, "%s: a condition cannot be set in %s", pointer, services_type_name(member));
        return NULL;
    }
    struct json *made = type == JSON_ARRAY ? json_new_array() : json_new_object();
    return services_put_member(call, object, key, made) ? json_get(object, key) : NULL;
}

// The condition of this type, created if absent.
static struct json *condition_of(struct adapter_call *call, struct json *object, const char *type) {
    struct json *status = member_of(call, object, "status", JSON_OBJECT, "/status");
    struct json *conditions = status ? member_of(call, status, "conditions", JSON_ARRAY, "/status/conditions") : NULL;
    struct json *found = json_find_item(conditions, "type", type);
    if (found || !conditions)
        return found;
    AUTO_JSON made = json_new_object();
    if (!made)
        services_no_memory(call);
    if (!made || !set_text(call, made, "type", type))
        return NULL;
    struct json *condition = TAKE(made);
    if (json_append(conditions, condition))
        return condition;
    services_no_memory(call);
    return NULL;
}

// When the condition last changed: as in the workload, or now.
static bool set_times(struct adapter_call *call, struct json *condition, const char *type, const char *status) {
    const struct json *known = phase_condition(conditions_of(call->workload), type, status);
    const char *const members[] = {TRANSITION_TIME, call->kind ? call->kind->condition_time : NULL};
    for (size_t i = 0; i < sizeof members / sizeof members[0] && members[i]; i++) {
        const char *time = json_string(json_get(known, members[i]));
        if (!set_text(call, condition, members[i], time ? time : call->call.now))
            return false;
    }
    return true;
}

wharf_value *services_set_condition(const wharf_call *call, wharf_value *object, const char *type, const char *status,
                                    const char *reason, const char *message) {
    struct adapter_call *owner = services_call(call);
    struct json *root = (struct json *)object;
    if (!owner)
        return NULL;
    if (!json_is(root, JSON_OBJECT) || !type || !status) {
        services_refuse(
            owner, "/status/conditions: a condition cannot be set: found %s, expected an object, a type and a status",
            !json_is(root, JSON_OBJECT) ? services_type_name(root)
            : !type                     ? "no type"
                                        : "no status");
        return NULL;
    }
    struct json *condition = condition_of(owner, root, type);
    if (!condition)
        return NULL;
    owner->part_given = true;
    bool turned = !text_equal(json_string(json_get(condition, "status")), status);
    bool done = set_text(owner, condition, "status", status) && set_text(owner, condition, "reason", reason) &&
                set_text(owner, condition, "message", message) &&
                (!turned || set_times(owner, condition, type, status));
    return done ? (wharf_value *)condition : NULL;
}
