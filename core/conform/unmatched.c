// SPDX-License-Identifier: Apache-2.0
// Compares the data of a kind with the given objects: a rule or a pointer that matches in no object is a typo, or the
// objects do not show such a state. Calls no function of the adapter.
#include "core/conform/child.h"

#include "core/base/suggest.h"
#include "core/base/text.h"
#include "core/json/patch.h"
#include "core/json/pointer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEAR_MAX 128 // candidates for a typo's correction
#define CLAIMS_MAX 2048

enum where { IN_SPEC, IN_STATUS };

// A claim of a kind, and whether an object confirms the claim.
struct claim {
    enum where where;
    const char *field;            // "carried"
    const char *pointer;          // or the pattern
    const wharf_phase_rule *rule; // NULL: the pointer alone
    const char *value;            // the scalar at the pointer; the type of a condition with `condition`; NULL: any
    const char *member;           // of a condition; NULL: none
    bool condition;
    bool seen;
    char meant[256]; // the probable correct name; "" if unknown
};

struct claims {
    struct claim *list;
    size_t count;
    size_t objects, statuses; // compared
};

// Most kinds remove labels and annotations that need not be there.
static void add_claim(struct claims *claims, struct claim claim) {
    if (claim.pointer && !text_has_prefix(claim.pointer, "/metadata") && claims->count < CLAIMS_MAX)
        claims->list[claims->count++] = claim;
}

static void add_all(struct claims *claims, enum where where, const char *field, const char *const *patterns) {
    for (; patterns && *patterns; patterns++)
        add_claim(claims, (struct claim){.where = where, .field = field, .pointer = *patterns});
}

static void add_changes(struct claims *claims, const char *field, const wharf_status_change *change) {
    for (; change && change->name; change++)
        if (change->change == WHARF_SET_CONDITION)
            add_claim(claims, (struct claim){.where = IN_STATUS,
                                             .field = field,
                                             .pointer = "/status/conditions",
                                             .value = change->name,
                                             .condition = true});
        else
            add_claim(claims, (struct claim){.where = IN_STATUS, .field = field, .pointer = change->name});
}

static void add_spec(struct claims *claims, const wharf_kind *kind) {
    add_claim(claims, (struct claim){.field = "managed_by", .pointer = kind->managed_by});
    add_claim(claims, (struct claim){.field = "suspend", .pointer = kind->suspend});
    if (kind->suspend_value)
        add_claim(claims,
                  (struct claim){.field = "suspend_value", .pointer = kind->suspend, .value = kind->suspend_value});
    for (const wharf_carried *carried = kind->carried; carried && carried->pointer; carried++)
        add_claim(claims, (struct claim){.field = "carried", .pointer = carried->pointer});
    add_all(claims, IN_SPEC, "removed", kind->removed);
    for (const wharf_pods *pods = kind->pods; pods && pods->templates; pods++) {
        add_claim(claims, (struct claim){.field = "pods.templates", .pointer = pods->templates});
        add_all(claims, IN_SPEC, "pods.counts", pods->counts);
    }
}

static void add_status(struct claims *claims, const wharf_kind *kind) {
    const enum where where = IN_STATUS;
    for (const wharf_phase_rule *rule = kind->phases; rule && rule->pointer; rule++)
        add_claim(claims, (struct claim){.where = where, .field = "phases", .pointer = rule->pointer, .rule = rule});
    add_all(claims, where, "status_removed", kind->status_removed);
    add_claim(claims,
              (struct claim){.where = where, .field = "observed_generation", .pointer = kind->observed_generation});
    add_claim(claims, (struct claim){.where = where, .field = "finished_at", .pointer = kind->finished_at});
    if (kind->condition_time)
        add_claim(claims, (struct claim){.where = where,
                                         .field = "condition_time",
                                         .pointer = "/status/conditions",
                                         .member = kind->condition_time});
    add_changes(claims, "suspended_status", kind->suspended_status);
    add_changes(claims, "resumed_status", kind->resumed_status);
    add_changes(claims, "gave_up_status", kind->gave_up_status);
}

static const struct json *condition_of(const struct json *conditions, const char *type) {
    const struct json *item = json_is(conditions, JSON_ARRAY) ? json_first(conditions) : NULL;
    while (item && !text_equal(json_string(json_get(item, "type")), type))
        item = json_next(item);
    return item;
}

// One type may be there several times.
static bool rule_matches(const struct json *value, const wharf_phase_rule *rule) {
    if (!json_is(value, JSON_ARRAY))
        return json_is_scalar(value, rule->value);
    for (const struct json *item = json_first(value); item; item = json_next(item))
        if (text_equal(json_string(json_get(item, "type")), rule->value) &&
            text_equal(json_string(json_get(item, "status")), rule->status ? rule->status : "True") &&
            (!rule->reason || text_equal(json_string(json_get(item, "reason")), rule->reason)))
            return true;
    return false;
}

static bool has_member(const struct json *conditions, const char *member) {
    const struct json *item = json_is(conditions, JSON_ARRAY) ? json_first(conditions) : NULL;
    while (item && !json_get(item, member))
        item = json_next(item);
    return item;
}

static bool value_matches(void *ctx, const char *pointer, struct json *value) {
    (void)pointer;
    struct claim *claim = ctx;
    if (claim->rule)
        claim->seen = rule_matches(value, claim->rule);
    else if (claim->condition)
        claim->seen = condition_of(value, claim->value);
    else if (claim->member)
        claim->seen = has_member(value, claim->member);
    else
        claim->seen = !claim->value || json_is_scalar(value, claim->value);
    return !claim->seen;
}

// A field of a PodTemplateSpec that affects scheduling (WHARF_CARRIED_POD_TEMPLATE): few templates have all five.
static bool is_of_template(const char *pattern, char *parent, size_t size) {
    static const char *const fields[] = {"/metadata/labels", "/metadata/annotations", "/spec/nodeSelector",
                                         "/spec/tolerations", "/spec/schedulingGates"};
    size_t len = strlen(pattern);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        size_t tail = strlen(fields[i]);
        if (len > tail && len < size && strcmp(pattern + len - tail, fields[i]) == 0) {
            text_copy(parent, size, pattern);
            parent[len - tail] = '\0';
            return true;
        }
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
    const char *type = claim->rule ? claim->rule->value : claim->condition ? claim->value : NULL;
    const char *meant = NULL;
    if (json_is(value, JSON_ARRAY) && type && !condition_of(value, type))
        meant = nearest(value, type, true);
    else if (json_is(value, JSON_ARRAY) && claim->member && json_first(value))
        meant = nearest(json_first(value), claim->member, false);
    else if (value && claim->rule && !json_is(value, JSON_ARRAY) && json_string(value))
        meant = suggest(claim->rule->value, (const char *const[]){json_string(value)}, 1);
    else if (value && claim->value && json_string(value))
        meant = suggest(claim->value, (const char *const[]){json_string(value)}, 1);
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
        if (claim->seen || (claim->where == IN_STATUS && !status))
            continue;
        pointer_each(object, claim->pointer, value_matches, claim);
        if (!claim->seen && claim->where == IN_SPEC && is_of_template(claim->pointer, parent, sizeof(parent)))
            pointer_each(object, parent, value_matches, claim);
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

static void words_of(const struct claim *claim, char *out, size_t size) {
    const wharf_phase_rule *rule = claim->rule;
    if (rule)
        snprintf(out, size, "%s: \"%s\"%s%s%s%s at %s", claim->field, rule->value, rule->status ? " with status " : "",
                 rule->status ? rule->status : "", rule->reason ? " and reason " : "", rule->reason ? rule->reason : "",
                 rule->pointer);
    else if (claim->condition)
        snprintf(out, size, "%s: a condition \"%s\"", claim->field, claim->value);
    else if (claim->member)
        snprintf(out, size, "%s: \"%s\" in a condition", claim->field, claim->member);
    else if (claim->value)
        snprintf(out, size, "%s: \"%s\" at %s", claim->field, claim->value, claim->pointer);
    else
        snprintf(out, size, "%s: %s", claim->field, claim->pointer);
}

// A name that the kind has elsewhere is no suggestion for a typo.
static bool is_claimed(const struct claims *claims, const struct claim *claim) {
    bool any = false;
    for (size_t i = 0; i < claims->count; i++) {
        const struct claim *other = &claims->list[i];
        const char *said = other->rule ? other->rule->value : other->value ? other->value : other->pointer;
        any |= strcmp(other->field, claim->field) == 0 && strcmp(said, claim->meant) == 0;
    }
    return any;
}

static void warn(struct run *run, const struct claims *claims, const struct claim *claim) {
    char words[512];
    words_of(claim, words, sizeof(words));
    bool status = claim->where == IN_STATUS;
    bool guessed = claim->meant[0] != '\0' && !is_claimed(claims, claim);
    run_warn(run, "%s is in none of the %zu %s given%s%s%s", words, status ? claims->statuses : claims->objects,
             status ? "statuses" : "objects", guessed ? "; did you mean \"" : "", guessed ? claim->meant : "",
             guessed ? "\"?" : "");
}

void unmatched_warn(struct run *run, const struct tested *tested, const struct documents *documents) {
    struct claims claims = {.list = calloc(CLAIMS_MAX, sizeof(struct claim))};
    if (!claims.list)
        return;
    add_spec(&claims, &tested->kind.abi);
    add_status(&claims, &tested->kind.abi);
    for (size_t i = 0; i < tested->n_subjects; i++)
        if (tested->subjects[i].document)
            look_at_life(&claims, tested->subjects[i].document, documents);
    for (size_t i = 0; i < claims.count && claims.objects > 0; i++)
        if (!claims.list[i].seen && (claims.list[i].where == IN_SPEC || claims.statuses > 0))
            warn(run, &claims, &claims.list[i]);
    free(claims.list);
}
