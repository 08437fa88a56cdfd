// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/phase.h"

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/json/pointer.h"

bool phase_is_final(wharf_phase_kind phase) {
    return phase == WHARF_SUCCEEDED || phase == WHARF_FAILED;
}

const struct json *phase_condition(const struct json *conditions, const char *type, const char *status) {
    if (!json_is(conditions, JSON_ARRAY))
        return NULL;
    for (const struct json *c = json_first(conditions); c; c = json_next(c))
        if (text_equal(json_string(json_get(c, "type")), type) &&
            (!status || text_equal(json_string(json_get(c, "status")), status)))
            return c;
    return NULL;
}

bool phase_suspend_asked(const wharf_kind *kind, const struct json *object) {
    if (!kind->suspend)
        return false;
    const struct json *value = pointer_find(object, kind->suspend);
    if (kind->suspend_value)
        return text_equal(json_string(value), kind->suspend_value);
    return json_bool(value, false);
}

static bool read_time(const struct json *value, int64_t *ns) {
    const char *text = json_string(value);
    return text && clock_parse_rfc3339(text, ns);
}

static void take_rule(const wharf_kind *kind, const struct json *object, const wharf_phase_rule *rule,
                      const struct json *match, wharf_phase *out) {
    out->phase = rule->phase;
    bool condition = json_is(match, JSON_OBJECT);
    out->reason = json_string(condition ? json_get(match, "reason") : match);
    out->message = condition ? json_string(json_get(match, "message")) : NULL;
    if (!phase_is_final(rule->phase))
        return;
    if ((!kind->finished_at || !read_time(pointer_find(object, kind->finished_at), &out->since_ns)) && condition)
        read_time(json_get(match, "lastTransitionTime"), &out->since_ns);
}

void phase_by_rules(const wharf_kind *kind, const struct json *object, wharf_phase *out) {
    *out = (wharf_phase){.size = sizeof(wharf_phase)};
    for (const wharf_phase_rule *rule = kind->phases; rule && rule->pointer; rule++) {
        const struct json *value = pointer_find(object, rule->pointer);
        const struct json *match = phase_condition(value, rule->value, rule->status ? rule->status : "True");
        if (!match && text_equal(json_string(value), rule->value))
            match = value;
        if (match) {
            take_rule(kind, object, rule, match, out);
            return;
        }
    }
    if (phase_suspend_asked(kind, object))
        out->phase = WHARF_SUSPENDED;
    else
        out->phase = json_size(json_get(object, "status")) > 0 ? WHARF_ACTIVE : WHARF_PENDING;
}
