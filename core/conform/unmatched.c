// SPDX-License-Identifier: Apache-2.0
// Compares the data of a kind with the given objects: a rule or a pointer that matches in no object is a typo, or the
// objects do not show such a state. Calls no function of the adapter.
#include "core/conform/child.h"

#include "core/adapter/phase.h"
#include "core/base/text.h"
#include "core/json/pointer.h"

#define NEAR_MAX 128 // candidates for a typo's correction
#define CLAIMS_MAX 2048
#define CONDITIONS "/status/conditions"

// A claim of a kind, and whether an object confirms the claim.
struct claim {
    const char *field;            // "carried"
    const char *pointer;          // or the pattern
    const char *value;            // the scalar there, or the type of a condition there; NULL: any
    const wharf_phase_rule *rule; // for the status and the reason of a condition; NULL: any
    const char *member;           // of a condition; NULL: none
    bool condition;               // no scalar
    bool seen;
    bool rare;       // told only as a typo: objects need not have such a field
    char meant[256]; // the probable correct name; "" if unknown
};

struct claims {
    struct claim *list;
    size_t count;
    size_t objects, statuses; // compared
};

static bool is_of_status(const struct claim *claim) {
    return text_has_prefix(claim->pointer, "/status");
}

// Most kinds remove labels and annotations that need not be there.
static void add_claim(struct claims *claims, struct claim claim) {
    if (claim.pointer && !text_has_prefix(claim.pointer, "/metadata") && claims->count < CLAIMS_MAX)
        claims->list[claims->count++] = claim;
}

static void add_pointer(struct claims *claims, const char *field, const char *pointer) {
    add_claim(claims, (struct claim){.field = field, .pointer = pointer});
}

static void add_pointers(struct claims *claims, const char *field, const char *const *patterns) {
    for (; patterns && *patterns; patterns++)
        add_pointer(claims, field, *patterns);
}

static void add_changes(struct claims *claims, const char *field, const wharf_status_change *change) {
    for (; change && change->name; change++)
        if (change->change == WHARF_SET_CONDITION)
            add_claim(claims,
                      (struct claim){.field = field, .pointer = CONDITIONS, .value = change->name, .condition = true});
        else
            add_pointer(claims, field, change->name);
}

static void add_kind(struct claims *claims, const wharf_kind *kind) {
    add_pointer(claims, "managed_by", kind->managed_by);
    add_pointer(claims, "suspend", kind->suspend);
    if (kind->suspend_value)
        add_claim(claims,
                  (struct claim){.field = "suspend_value", .pointer = kind->suspend, .value = kind->suspend_value});
    for (const wharf_carried *carried = kind->carried; carried && carried->pointer; carried++)
        add_pointer(claims, "carried", carried->pointer);
    add_pointers(claims, "removed", kind->removed);
    for (const wharf_pods *pods = kind->pods; pods && pods->templates; pods++) {
        if (pods->fallback)
            add_pointer(claims, "pods.fallback", pods->fallback);
        else
            add_pointer(claims, "pods.templates", pods->templates);
        add_pointers(claims, "pods.counts", pods->counts);
    }
    for (const wharf_phase_rule *rule = kind->phases; rule && rule->pointer; rule++) {
        if (!phase_rule_has_value(rule))
            add_pointer(claims, "phases", rule->pointer);
        if (rule->value)
            add_claim(claims,
                      (struct claim){.field = "phases", .pointer = rule->pointer, .value = rule->value, .rule = rule});
        for (const char *const *value = rule->values; value && *value; value++)
            add_claim(claims,
                      (struct claim){.field = "phases", .pointer = rule->pointer, .value = *value, .rule = rule});
    }
    for (const wharf_reference *reference = kind->references; reference && reference->name; reference++)
        if (!reference->of)
            add_claim(claims, (struct claim){.field = "references", .pointer = reference->name, .rare = true});
    for (const wharf_continuity *value = kind->continuity; value && value->pointer; value++)
        add_claim(claims, (struct claim){.field = "continuity", .pointer = value->pointer, .rare = true});
    add_pointers(claims, "status_removed", kind->status_removed);
    add_pointer(claims, "observed_generation", kind->observed_generation);
    add_pointer(claims, "finished_at", kind->finished_at);
    if (kind->condition_time)
        add_claim(claims, (struct claim){.field = "condition_time",
                                         .pointer = CONDITIONS,
                                         .member = kind->condition_time,
                                         .condition = true});
    add_changes(claims, "suspended_status", kind->suspended_status);
    add_changes(claims, "resumed_status", kind->resumed_status);
    add_changes(claims, "gave_up_status", kind->gave_up_status);
}

static bool is_text(const struct json *condition, const char *key, const char *expected) {
    return !expected || text_equal(json_string(json_get(condition, key)), expected);
}

static bool is_condition(const struct claim *claim, const struct json *item) {
    const wharf_phase_rule *rule = claim->rule;
    bool exists = rule && (rule->flags & WHARF_RULE_EXISTS) != 0;
    return is_text(item, rule && rule->key ? rule->key : "type", claim->value) &&
           (!claim->member || json_get(item, claim->member)) &&
           (!rule || ((exists || is_text(item, "status", rule->status ? rule->status : "True")) &&
                      is_text(item, "reason", rule->reason)));
}

static bool check_value(void *ctx, const char *pointer, struct json *value) {
    (void)pointer;
    struct claim *claim = ctx;
    bool conditions = json_is(value, JSON_ARRAY) && (claim->rule || claim->condition);
    // One type may be there several times.
    for (const struct json *item = conditions ? json_first(value) : NULL; item; item = json_next(item))
        claim->seen |= is_condition(claim, item);
    if (!conditions && !claim->condition)
        claim->seen = !claim->value || json_is_scalar(value, claim->value);
    return !claim->seen;
}

// A field of a PodTemplateSpec that affects scheduling (WHARF_CARRIED_POD_TEMPLATE): few templates have all five.
static bool is_of_template(const char *pattern, char *parent, size_t size) {
    static const char *const fields[] = {"/metadata/labels", "/metadata/annotations", "/spec/nodeSelector",
                                         "/spec/tolerations", "/spec/schedulingGates"};
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (text_has_suffix(pattern, fields[i]) && strlen(pattern) < size) {
            text_copy(parent, strlen(pattern) - strlen(fields[i]) + 1, pattern);
            return parent[0] != '\0';
        }
    return false;
}

// -- suggestions --

// The name nearest to `name` among the members of an object, or among the types of conditions.
static const char *nearest(const struct json *container, const char *name, bool types) {
    const char *known[NEAR_MAX];
    size_t count = 0;
    for (const struct json *item = json_first(container); item && count < NEAR_MAX; item = json_next(item)) {
        const char *text = types ? json_string(json_get(item, "type")) : json_key(item);
        if (text)
            known[count++] = text;
    }
    return suggest(name, known, count);
}

// Follows the pattern to the first missing name, and writes the pattern with the nearest existing name instead. `done`
// is the length of the followed part.
static bool mend_pointer(const struct json *value, const char *pattern, size_t done, char *out, size_t size) {
    const char *rest = pattern + done;
    if (*rest != '/' || !value)
        return false;
    size_t len = 1 + strcspn(rest + 1, "/");
    if (len == 2 && rest[1] == '*') {
        bool array = json_is_container(value);
        for (const struct json *item = array ? json_first(value) : NULL; item; item = json_next(item))
            if (mend_pointer(item, pattern, done + len, out, size))
                return true;
        return false;
    }
    AUTO_TEXT name = strndup(rest + 1, len - 1);
    if (!name || !json_is(value, JSON_OBJECT))
        return false;
    const struct json *member = json_get(value, name);
    if (member)
        return mend_pointer(member, pattern, done + len, out, size);
    const char *meant = nearest(value, name, false);
    AUTO_BUFFER(escaped, 4096);
    if (!meant || !pointer_append(&escaped, meant))
        return false;
    snprintf(out, size, "%.*s%s%s", (int)done, pattern, escaped.data, rest + len);
    return true;
}

static void guess(struct claim *claim, const struct json *object) {
    if (claim->meant[0] != '\0')
        return;
    const struct json *value = pointer_find(object, claim->pointer);
    const char *meant = NULL, *text = json_string(value);
    if (json_is(value, JSON_ARRAY) && claim->value && !phase_condition(value, claim->value, NULL))
        meant = nearest(value, claim->value, true);
    else if (json_is(value, JSON_ARRAY) && claim->member && json_first(value))
        meant = nearest(json_first(value), claim->member, false);
    else if (text && claim->value)
        meant = suggest(claim->value, &text, 1);
    if (meant)
        text_copy(claim->meant, sizeof(claim->meant), meant);
    else if (!value)
        mend_pointer(object, claim->pointer, 0, claim->meant, sizeof(claim->meant));
}

// -- the objects --

static void look_at(struct claims *claims, const struct json *object) {
    char parent[512];
    bool status = json_get(object, "status");
    for (size_t i = 0; i < claims->count; i++) {
        struct claim *claim = &claims->list[i];
        if (claim->seen || (is_of_status(claim) && !status))
            continue;
        pointer_each(object, claim->pointer, check_value, claim);
        if (!claim->seen && !is_of_status(claim) && is_of_template(claim->pointer, parent, sizeof(parent)))
            pointer_each(object, parent, check_value, claim);
        if (!claim->seen)
            guess(claim, object);
    }
}

static void look_at_status(struct claims *claims, const struct json *status) {
    AUTO_JSON object = json_new_object();
    if (!json_is(status, JSON_OBJECT) || !json_set(object, "status", json_copy(status)))
        return;
    claims->statuses++;
    look_at(claims, object);
}

// The object as given, and after each of the users' changes.
static void look_at_life(struct claims *claims, const struct document *object, const struct documents *documents) {
    AUTO_JSON now = json_copy(object->value);
    claims->objects++;
    claims->statuses += json_get(object->value, "status") ? 1 : 0;
    look_at(claims, object->value);
    for (size_t i = 0; i < documents->count; i++) {
        const struct document *step = &documents->list[i];
        if (strcmp(step->folder, object->folder) != 0 || json_get(step->value, "kind"))
            continue;
        look_at_status(claims, json_get(step->value, "status"));
        look_at_status(claims, json_get(step->value, "workload"));
        const struct json *patch = json_get(step->value, "patch");
        if (!now || !json_is(patch, JSON_OBJECT) || !patch_apply(&now, patch))
            continue;
        claims->objects++;
        look_at(claims, now);
    }
}

// -- the warnings --

static void describe(const struct claim *claim, struct buffer *out) {
    const wharf_phase_rule *rule = claim->rule;
    buffer_printf(out, "%s: ", claim->field);
    if (rule)
        buffer_printf(out, "\"%s\"%s%s%s%s at %s", claim->value, rule->status ? " with status " : "",
                      rule->status ? rule->status : "", rule->reason ? " and reason " : "",
                      rule->reason ? rule->reason : "", rule->pointer);
    else if (claim->member)
        buffer_printf(out, "\"%s\" in a condition", claim->member);
    else if (claim->condition)
        buffer_printf(out, "a condition \"%s\"", claim->value);
    else if (claim->value)
        buffer_printf(out, "\"%s\" at %s", claim->value, claim->pointer);
    else
        buffer_text(out, claim->pointer);
}

// A name that the kind has elsewhere is no suggestion for a typo.
static bool is_claimed(const struct claims *claims, const struct claim *claim) {
    bool any = false;
    for (size_t i = 0; i < claims->count; i++) {
        const struct claim *other = &claims->list[i];
        any |= strcmp(other->field, claim->field) == 0 &&
               strcmp(other->value ? other->value : other->pointer, claim->meant) == 0;
    }
    return any;
}

static void warn(struct run *run, const struct claims *claims, const struct claim *claim) {
    AUTO_BUFFER(words, 4096);
    if (claim->rare && (claim->meant[0] == '\0' || is_claimed(claims, claim)))
        return;
    describe(claim, &words);
    if (is_of_status(claim))
        buffer_printf(&words, " is in none of the %zu statuses given", claims->statuses);
    else
        buffer_printf(&words, " is in none of the %zu objects given", claims->objects);
    if (claim->meant[0] != '\0' && !is_claimed(claims, claim))
        buffer_printf(&words, "; did you mean \"%s\"?", claim->meant);
    run_warn(run, "%s", words.data ? words.data : claim->field);
}

void unmatched_warn(struct run *run, const struct tested *tested, const struct documents *documents) {
    struct claims claims = {.list = calloc(CLAIMS_MAX, sizeof(struct claim))};
    if (!claims.list)
        return;
    add_kind(&claims, &tested->kind.abi);
    for (size_t i = 0; i < tested->n_subjects; i++)
        if (tested->subjects[i].document)
            look_at_life(&claims, tested->subjects[i].document, documents);
    for (size_t i = 0; i < claims.count && claims.objects > 0; i++)
        if (!claims.list[i].seen && (!is_of_status(&claims.list[i]) || claims.statuses > 0))
            warn(run, &claims, &claims.list[i]);
    free(claims.list);
}
