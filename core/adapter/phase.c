// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/phase.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/json/pointer.h"

bool phase_is_final(wharf_phase_kind phase) {
    return phase == WHARF_SUCCEEDED || phase == WHARF_FAILED;
}

const char *phase_word(wharf_phase_kind phase) {
    static const char *const words[] = {[WHARF_PENDING] = "Pending",
                                        [WHARF_SUSPENDED] = "Suspended",
                                        [WHARF_ACTIVE] = "Active",
                                        [WHARF_SUCCEEDED] = "Succeeded",
                                        [WHARF_FAILED] = "Failed"};
    return phase < sizeof words / sizeof *words ? words[phase] : "unknown";
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

static bool is_one_of(const struct json *scalar, const char *text, const char *const *more) {
    bool found = json_is_scalar(scalar, text);
    while (!found && more && *more)
        found = json_is_scalar(scalar, *more++);
    return found;
}

static const char *suspend_value(const wharf_kind *kind) {
    return kind->suspend_value ? kind->suspend_value : "true";
}

bool phase_suspend_asked(const wharf_kind *kind, const struct json *object) {
    const struct json *value = kind->suspend ? pointer_find(object, kind->suspend) : NULL;
    return value && is_one_of(value, suspend_value(kind), kind->suspend_values);
}

bool phase_suspends_by_mark(const wharf_kind *kind) {
    return text_has_prefix(kind->suspend, "/metadata/");
}

struct json *phase_suspend_value(const wharf_kind *kind, const struct json *object) {
    const char *text = suspend_value(kind);
    bool string = phase_suspends_by_mark(kind) || kind->suspend_type == WHARF_STRING;
    string |= kind->suspend_type == WHARF_ABSENT && json_is(pointer_find(object, kind->suspend), JSON_STRING);
    AUTO_JSON value = NULL;
    if (!string) {
        AUTO_ERROR error = json_parse(text, strlen(text), &value);
        if (error && error->code == ERROR_NO_MEMORY)
            return NULL;
    }
    return json_is(value, JSON_BOOL) || json_is(value, JSON_NUMBER) ? TAKE(value) : json_new_string(text);
}

static bool read_time(const struct json *value, int64_t *ns) {
    const char *text = json_string(value);
    return text && clock_parse_rfc3339(text, ns);
}

bool phase_rule_has_value(const wharf_phase_rule *rule) {
    return rule->value || (rule->values && rule->values[0]);
}

const wharf_phase_rule *phase_rule_last(const wharf_phase_rule *rule) {
    while ((rule->flags & WHARF_RULE_AND) != 0)
        rule++;
    return rule;
}

// `match` of the rule, which is the first one of several in a row.
static void take_rule(const wharf_kind *kind, const struct json *object, const wharf_phase_rule *rule,
                      const struct json *match, wharf_phase *out) {
    out->phase = phase_rule_last(rule)->phase;
    bool condition = json_is(match, JSON_OBJECT);
    out->reason = json_string(condition ? json_get(match, "reason") : phase_rule_has_value(rule) ? match : NULL);
    out->message = condition ? json_string(json_get(match, "message")) : NULL;
    if (!phase_is_final(out->phase))
        return;
    if ((!kind->finished_at || !read_time(pointer_find(object, kind->finished_at), &out->since_ns)) && condition)
        read_time(json_get(match, "lastTransitionTime"), &out->since_ns);
}

static bool is_of_rule(const struct json *condition, const wharf_phase_rule *rule) {
    return is_one_of(json_get(condition, rule->key ? rule->key : "type"), rule->value, rule->values) &&
           ((rule->flags & WHARF_RULE_EXISTS) != 0 ||
            text_equal(json_string(json_get(condition, "status")), rule->status ? rule->status : "True")) &&
           (!rule->reason || text_equal(json_string(json_get(condition, "reason")), rule->reason));
}

const struct json *phase_rule_match(const wharf_phase_rule *rule, const struct json *value) {
    if (!phase_rule_has_value(rule))
        return json_is(value, JSON_NULL) ? NULL : value;
    if (!json_is(value, JSON_ARRAY))
        return is_one_of(value, rule->value, rule->values) ? value : NULL;
    const struct json *condition = json_first(value);
    while (condition && !is_of_rule(condition, rule))
        condition = json_next(condition);
    return condition;
}

// An object whose status the rules are about.
struct judged {
    const struct json *object;
    bool suspended;      // rules with WHARF_RULE_WHILE_SUSPENDED count
    const char *pointer; // of `value`: most rules are about the same
    const struct json *value;
};

static const struct json *match_of(struct judged *judged, const wharf_phase_rule *rule) {
    if (!text_equal(judged->pointer, rule->pointer))
        judged->value = pointer_find(judged->object, rule->pointer);
    judged->pointer = rule->pointer;
    bool counts = judged->suspended || (rule->flags & WHARF_RULE_WHILE_SUSPENDED) == 0;
    return counts ? phase_rule_match(rule, judged->value) : NULL;
}

// The first rule that matches, or NULL; of several in a row, the first one, with its match.
static const wharf_phase_rule *find_rule(const wharf_kind *kind, struct judged judged, const struct json **match) {
    for (const wharf_phase_rule *rule = kind->phases; rule && rule->pointer; rule++) {
        const wharf_phase_rule *first = rule;
        bool all = (*match = match_of(&judged, rule));
        for (; (rule->flags & WHARF_RULE_AND) != 0; rule++)
            all = all && match_of(&judged, rule + 1);
        if (all)
            return first;
    }
    return NULL;
}

void phase_by_rules(const wharf_kind *kind, const struct json *object, wharf_phase *out) {
    *out = (wharf_phase){.size = sizeof(wharf_phase)};
    bool suspended = phase_suspend_asked(kind, object);
    const struct json *match = NULL;
    const wharf_phase_rule *rule = find_rule(kind, (struct judged){object, suspended, NULL, NULL}, &match);
    if (rule)
        take_rule(kind, object, rule, match, out);
    else if (suspended)
        out->phase = WHARF_SUSPENDED;
    else
        out->phase = json_size(json_get(object, "status")) > 0 ? WHARF_ACTIVE : WHARF_PENDING;
}

bool phase_says_suspended(const wharf_kind *kind, const struct json *object) {
    const struct json *match = NULL;
    const wharf_phase_rule *rule = find_rule(kind, (struct judged){object, true, NULL, NULL}, &match);
    return rule && phase_rule_last(rule)->phase == WHARF_SUSPENDED;
}
