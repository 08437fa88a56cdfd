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
    return kind->suspend &&
           json_is_scalar(pointer_find(object, kind->suspend), kind->suspend_value ? kind->suspend_value : "true");
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

static bool is_of_rule(const struct json *condition, const wharf_phase_rule *rule) {
    return text_equal(json_string(json_get(condition, "type")), rule->value) &&
           text_equal(json_string(json_get(condition, "status")), rule->status ? rule->status : "True") &&
           (!rule->reason || text_equal(json_string(json_get(condition, "reason")), rule->reason));
}

// The condition or scalar of the rule, if the rule matches. `value` is the value at the rule's pointer.
static const struct json *match_of(const struct json *value, const wharf_phase_rule *rule) {
    if (!json_is(value, JSON_ARRAY))
        return json_is_scalar(value, rule->value) ? value : NULL;
    const struct json *condition = json_first(value);
    while (condition && !is_of_rule(condition, rule))
        condition = json_next(condition);
    return condition;
}

// The first rule that matches, or NULL. `suspended`: rules with WHARF_RULE_WHILE_SUSPENDED count.
static const wharf_phase_rule *find_rule(const wharf_kind *kind, const struct json *object, bool suspended,
                                         const struct json **match) {
    const wharf_phase_rule *rule = kind->phases;
    const char *pointer = NULL; // of `value`: most rules are about the same
    const struct json *value = NULL;
    for (; rule && rule->pointer; rule++) {
        if (!text_equal(pointer, rule->pointer))
            value = pointer_find(object, rule->pointer);
        pointer = rule->pointer;
        *match = suspended || (rule->flags & WHARF_RULE_WHILE_SUSPENDED) == 0 ? match_of(value, rule) : NULL;
        if (*match)
            return rule;
    }
    return NULL;
}

void phase_by_rules(const wharf_kind *kind, const struct json *object, wharf_phase *out) {
    *out = (wharf_phase){.size = sizeof(wharf_phase)};
    bool suspended = phase_suspend_asked(kind, object);
    const struct json *match = NULL;
    const wharf_phase_rule *rule = find_rule(kind, object, suspended, &match);
    if (rule)
        take_rule(kind, object, rule, match, out);
    else if (suspended)
        out->phase = WHARF_SUSPENDED;
    else
        out->phase = json_size(json_get(object, "status")) > 0 ? WHARF_ACTIVE : WHARF_PENDING;
}

bool phase_says_suspended(const wharf_kind *kind, const struct json *object) {
    const struct json *match = NULL;
    const wharf_phase_rule *rule = find_rule(kind, object, true, &match);
    return rule && rule->phase == WHARF_SUSPENDED;
}
