// SPDX-License-Identifier: Apache-2.0
// A kind's data about statuses: the phase of an object, the copied fields, and the changes of workloads without a
// mirror (suspended_status, resumed_status and gave_up_status).
#include "core/adapter/adapters.h"
#include "core/adapter/kind/kind_check.h"
#include "core/adapter/phase.h"
#include "core/base/text.h"

#define KNOWN_RULE_FLAGS (WHARF_RULE_WHILE_SUSPENDED | WHARF_RULE_EXISTS | WHARF_RULE_AND)

// That status_removed, which removes fields from every copied status, does not cover a field that is read or written.
static struct error *check_kept(const wharf_kind *kind, const char *field, const char *pointer) {
    const char *removed = kind_covering(kind->status_removed, pointer);
    if (!removed)
        return NULL;
    return kind_error(removed, "%s: found \"%s\", expected it not to be in status_removed, which has \"%s\"", field,
                      pointer, removed);
}

static bool is_condition_status(const char *text) {
    return text && kind_list_has((const char *const[]){"True", "False", "Unknown", NULL}, text);
}

static bool has_rule(const wharf_kind *kind, wharf_phase_kind phase) {
    const wharf_phase_rule *rule = kind->phases;
    while (rule && rule->pointer && (rule->phase != phase || (rule->flags & WHARF_RULE_AND) != 0))
        rule++;
    return rule && rule->pointer;
}

static struct error *check_read(const wharf_kind *kind, const char *field, const char *pointer) {
    if (!pointer)
        return NULL;
    TRY(kind_check_pointer(field, pointer, PLACE_STATUS));
    return check_kept(kind, field, pointer);
}

// Members of the conditions that the rule reads.
static struct error *check_members(const wharf_kind *kind, const wharf_phase_rule *rule) {
    const char *const members[] = {rule->key ? rule->key : "type",
                                   (rule->flags & WHARF_RULE_EXISTS) == 0 ? "status" : NULL,
                                   rule->reason ? "reason" : NULL};
    TRY(check_kept(kind, "phases", rule->pointer));
    for (size_t i = 0; i < sizeof members / sizeof members[0] && phase_rule_has_value(rule); i++) {
        AUTO_TEXT member = members[i] ? text_format("%s/*/%s", rule->pointer, members[i]) : NULL;
        TRY(member || !members[i] ? check_kept(kind, "phases", member) : error_no_memory());
    }
    return NULL;
}

// The rule, for messages: its value, which names the setting as well.
static const char *name_of(const wharf_phase_rule *rule) {
    return rule->value ? rule->value : phase_rule_has_value(rule) ? rule->values[0] : rule->pointer;
}

static struct error *wrong_rule(const wharf_phase_rule *rule, const char *about, const char *sentence) {
    return kind_error(about ? about : name_of(rule), "phases: %s %s: %s", rule->pointer,
                      phase_rule_has_value(rule) ? name_of(rule) : "exists", sentence);
}

static struct error *check_values(const wharf_phase_rule *rule) {
    size_t count = 0;
    bool exists = (rule->flags & WHARF_RULE_EXISTS) != 0;
    TRY(kind_check_list("phases.values", rule->values, &count));
    if (exists ? rule->value && !*rule->value : !phase_rule_has_value(rule) || (rule->value && !*rule->value))
        return kind_wrong("phases", rule->pointer, "a value with it: the type of a condition, or a scalar");
    for (size_t i = 0; i < count; i++)
        if (rule->values[i][0] == '\0' || text_equal(rule->values[i], rule->value))
            return wrong_rule(rule, rule->values[i],
                              rule->values[i][0] ? "found its value among more values, expected other ones"
                                                 : "found an empty value, expected a text");
    return NULL;
}

static struct error *check_condition_rule(const wharf_phase_rule *rule) {
    bool exists = (rule->flags & WHARF_RULE_EXISTS) != 0;
    if (rule->status && exists)
        return wrong_rule(rule, rule->status, "found status with WHARF_RULE_EXISTS, expected none: any status matches");
    if (rule->status && !is_condition_status(rule->status))
        return kind_error(rule->status, "phases: %s %s: found status \"%s\", expected True, False or Unknown",
                          rule->pointer, name_of(rule), rule->status);
    if (!phase_rule_has_value(rule) && (rule->key || rule->reason))
        return wrong_rule(rule, rule->key ? rule->key : rule->reason,
                          "found key or reason, expected them with the value of a condition only");
    if (rule->key && (rule->key[0] == '\0' || strchr(rule->key, '/')))
        return wrong_rule(rule, rule->key, "found no name in key, expected that of a member of a condition");
    if (text_equal(rule->key, "status") && !exists)
        return wrong_rule(rule, rule->key, "found key \"status\", expected WHARF_RULE_EXISTS with it");
    return NULL;
}

static struct error *check_flags(const wharf_phase_rule *rule) {
    if ((rule->flags & ~KNOWN_RULE_FLAGS) != 0)
        return error_new(ERROR_REFUSED, "phases: %s %s: found unknown flags 0x%x, expected only 0x%x", rule->pointer,
                         name_of(rule), rule->flags & ~KNOWN_RULE_FLAGS, KNOWN_RULE_FLAGS);
    if ((rule->flags & WHARF_RULE_AND) != 0 && !rule[1].pointer)
        return wrong_rule(rule, NULL, "found WHARF_RULE_AND in the last rule, expected another rule after it");
    wharf_phase_kind phase = (rule->flags & WHARF_RULE_AND) != 0 ? WHARF_PENDING : rule->phase;
    if (rule->phase != phase)
        return wrong_rule(rule, NULL, "found a phase with WHARF_RULE_AND, expected the phase in the last of the rules");
    return NULL;
}

static struct error *check_phase(const wharf_kind *kind, const wharf_phase_rule *rule) {
    bool final = phase_is_final(phase_rule_last(rule)->phase);
    if (rule->phase > WHARF_FAILED)
        return error_new(ERROR_REFUSED, "phases: %s %s: found phase %u, expected one of %d to %d", rule->pointer,
                         name_of(rule), rule->phase, WHARF_PENDING, WHARF_FAILED);
    if ((rule->flags & WHARF_RULE_WHILE_SUSPENDED) != 0 && (!kind->suspend || final))
        return kind_error(name_of(rule), "phases: %s %s: found WHARF_RULE_WHILE_SUSPENDED, expected it only %s",
                          rule->pointer, name_of(rule),
                          final ? "with a phase that is not final" : "in a kind with suspend");
    if (final && (kind->flags & WHARF_KIND_NEVER_FINISHES) != 0)
        return kind_error(name_of(rule),
                          "phases: %s %s: found a final phase, expected none with WHARF_KIND_NEVER_FINISHES",
                          rule->pointer, name_of(rule));
    return NULL;
}

static struct error *check_rule(const wharf_kind *kind, const wharf_phase_rule *rule) {
    TRY(kind_check_pointer("phases", rule->pointer, PLACE_STATUS));
    TRY(check_values(rule));
    TRY(check_condition_rule(rule));
    TRY(check_flags(rule));
    return check_members(kind, rule);
}

static bool has_values(const wharf_phase_rule *rule, const wharf_phase_rule *of) {
    bool all = !of->value || text_equal(rule->value, of->value) || kind_list_has(rule->values, of->value);
    for (const char *const *value = of->values; all && value && *value; value++)
        all = text_equal(rule->value, *value) || kind_list_has(rule->values, *value);
    return all;
}

static const char *or_text(const char *text, const char *otherwise) {
    return text ? text : otherwise;
}

// Whether `rule` matches only where `earlier` does.
static bool is_narrower(const wharf_phase_rule *rule, const wharf_phase_rule *earlier) {
    if (!text_equal(earlier->pointer, rule->pointer) ||
        ((earlier->flags & WHARF_RULE_WHILE_SUSPENDED) != 0 && (rule->flags & WHARF_RULE_WHILE_SUSPENDED) == 0))
        return false;
    if (!phase_rule_has_value(earlier) || !phase_rule_has_value(rule))
        return !phase_rule_has_value(earlier);
    bool any = (earlier->flags & WHARF_RULE_EXISTS) != 0, same = (rule->flags & WHARF_RULE_EXISTS) == 0;
    same = same && strcmp(or_text(earlier->status, "True"), or_text(rule->status, "True")) == 0;
    return has_values(earlier, rule) && strcmp(or_text(earlier->key, "type"), or_text(rule->key, "type")) == 0 &&
           (any || same) && (!earlier->reason || text_equal(earlier->reason, rule->reason));
}

// Whether `rule` never matches because `earlier` does first; each may be the first one of several in a row.
static bool is_shadowed(const wharf_phase_rule *earlier, const wharf_phase_rule *rule) {
    for (const wharf_phase_rule *of = earlier; of <= phase_rule_last(earlier); of++) {
        const wharf_phase_rule *narrower = rule, *last = phase_rule_last(rule);
        while (narrower <= last && !is_narrower(narrower, of))
            narrower++;
        if (narrower > last)
            return false;
    }
    return true;
}

// The numbers in the message count rules in a row as one.
static struct error *check_order(const wharf_kind *kind) {
    size_t number = 1;
    for (const wharf_phase_rule *rule = kind->phases; rule && rule->pointer;
         rule = phase_rule_last(rule) + 1, number++) {
        size_t of = 1;
        for (const wharf_phase_rule *earlier = kind->phases; earlier < rule;
             earlier = phase_rule_last(earlier) + 1, of++)
            if (is_shadowed(earlier, rule))
                return kind_error(name_of(rule),
                                  "phases: found a second rule for %s \"%s\" (%zu), expected one: the earlier one "
                                  "(%zu) always matches first",
                                  rule->pointer, name_of(rule), number, of);
    }
    return NULL;
}

static struct error *check_phases(const wharf_kind *kind) {
    bool endless = (kind->flags & WHARF_KIND_NEVER_FINISHES) != 0;
    if (!kind->phase && !endless && (!kind->phases || !kind->phases[0].pointer))
        return error_new(ERROR_INVALID, "phase: found neither the function nor rules in phases, expected one of both");
    for (const wharf_phase_rule *rule = kind->phases; rule && rule->pointer; rule++)
        TRY(check_rule(kind, rule));
    for (const wharf_phase_rule *rule = kind->phases; rule && rule->pointer; rule++)
        TRY(check_phase(kind, rule));
    TRY(check_order(kind));
    if (!kind->phase && !endless && !has_rule(kind, WHARF_SUCCEEDED) && !has_rule(kind, WHARF_FAILED))
        return error_new(
            ERROR_INVALID,
            "phases: found no rule for WHARF_SUCCEEDED or WHARF_FAILED, expected one, or WHARF_KIND_NEVER_FINISHES");
    return NULL;
}

static struct error *check_condition_time(const char *name) {
    static const char *const others[] = {"lastTransitionTime", "type", "status", "reason", "message", NULL};
    bool wrong = name && (name[0] == '\0' || strchr(name, '/') || kind_list_has(others, name));
    return wrong ? kind_wrong("condition_time", name, "the name of another member of a condition, like lastUpdateTime")
                 : NULL;
}

struct error *kind_check_status(const wharf_kind *kind) {
    TRY(kind_check_pointers("status_removed", kind->status_removed, PLACE_STATUS | PLACE_PATTERN));
    TRY(check_read(kind, "observed_generation", kind->observed_generation));
    if (kind->observed_generation && (kind->flags & WHARF_KIND_NO_STATUS_SUBRESOURCE) != 0)
        return kind_wrong("observed_generation", kind->observed_generation,
                          "NULL with WHARF_KIND_NO_STATUS_SUBRESOURCE: each write of the status is a new generation");
    TRY(check_read(kind, "finished_at", kind->finished_at));
    if (kind->finished_at && (kind->flags & WHARF_KIND_NEVER_FINISHES) != 0)
        return kind_wrong("finished_at", kind->finished_at, "NULL with WHARF_KIND_NEVER_FINISHES");
    TRY(check_condition_time(kind->condition_time));
    return check_phases(kind);
}

// Changes of statuses ---------------------------------------------------------------------------------------------

static bool is_gave_up(const char *field) {
    return strcmp(field, "gave_up_status") == 0;
}

// Words in braces are the workload's kind, namespace and name, and in gave_up_status the reason.
static struct error *check_text(const char *field, const char *text) {
    static const char *const known[] = {"{kind}", "{namespace}", "{name}", "{message}"};
    size_t n_known = is_gave_up(field) ? 4 : 3;
    for (const char *at = text ? strchr(text, '{') : NULL; at; at = strchr(at + 1, '{')) {
        size_t len = 1 + strspn(at + 1, "abcdefghijklmnopqrstuvwxyz");
        bool word = len > 1 && at[len] == '}', found = false;
        for (size_t i = 0; word && i < n_known; i++)
            found |= text_has_prefix(at, known[i]);
        if (word && !found)
            return kind_wrong(field, text,
                              is_gave_up(field) ? "no words in braces but {kind}, {namespace}, {name} and {message}"
                                                : "no words in braces but {kind}, {namespace} and {name}");
    }
    return NULL;
}

static struct error *check_condition(const wharf_kind *kind, const char *field, const wharf_status_change *change) {
    if (change->name[0] == '/' || change->name[0] == '\0')
        return kind_wrong(field, change->name, "the type of a condition, not a pointer");
    if (!is_condition_status(change->value))
        return kind_error(change->value ? change->value : change->name,
                          "%s: %s: found value \"%s\", expected True, False or Unknown", field, change->name,
                          change->value ? change->value : "");
    if (change->reason && change->reason[0] == '\0')
        return kind_error(change->reason, "%s: %s: found an empty reason, expected a CamelCase word or NULL", field,
                          change->name);
    const char *removed = kind_covering(kind->status_removed, "/status/conditions");
    if (removed)
        return kind_error(removed, "%s: %s: found a condition, expected /status/conditions not to be in status_removed",
                          field, change->name);
    TRY(check_text(field, change->reason));
    return check_text(field, change->message);
}

static struct error *check_field(const wharf_kind *kind, const char *field, const wharf_status_change *change) {
    bool text = change->change == WHARF_SET_TEXT;
    TRY(kind_check_pointer(field, change->name, PLACE_STATUS | (text ? 0 : PLACE_PATTERN)));
    if (text != !!change->value)
        return kind_error(change->name, "%s: %s: found %s value, expected %s", field, change->name,
                          change->value ? "a" : "no", text ? "the text" : "none");
    if (change->reason || change->message)
        return kind_error(change->name, "%s: %s: found reason or message, expected them with a condition only", field,
                          change->name);
    if (change->when == WHARF_IF_TRUE || (!text && change->when == WHARF_IF_ABSENT))
        return kind_error(change->name, "%s: %s: found %s, expected %s", field, change->name,
                          change->when == WHARF_IF_TRUE ? "WHARF_IF_TRUE" : "WHARF_IF_ABSENT",
                          change->when == WHARF_IF_TRUE ? "it with a condition only" : "it with what is set only");
    return check_kept(kind, field, change->name);
}

static struct error *check_change(const wharf_kind *kind, const char *field, const wharf_status_change *list,
                                  size_t at) {
    const wharf_status_change *change = &list[at];
    if (change->change > WHARF_REMOVE)
        return error_new(ERROR_REFUSED, "%s: %s: found change %u, expected one of %d to %d", field, change->name,
                         change->change, WHARF_SET_CONDITION, WHARF_REMOVE);
    if (change->when > WHARF_IF_ABSENT)
        return error_new(ERROR_REFUSED, "%s: %s: found %u for when, expected one of %d to %d", field, change->name,
                         change->when, WHARF_ALWAYS, WHARF_IF_ABSENT);
    for (const wharf_status_change *other = list; other < change; other++)
        if (strcmp(other->name, change->name) == 0 &&
            (other->when == change->when || other->when == WHARF_ALWAYS || change->when == WHARF_ALWAYS))
            return kind_wrong(field, change->name, "it once in the list");
    return change->change == WHARF_SET_CONDITION ? check_condition(kind, field, change)
                                                 : check_field(kind, field, change);
}

static struct error *check_list(const wharf_kind *kind, const char *field, const wharf_status_change *list) {
    if (list && !kind->suspend && !is_gave_up(field))
        return kind_error(list[0].name, "%s: found a change, expected none in a kind without suspend", field);
    for (size_t i = 0; list && list[i].name; i++)
        TRY(check_change(kind, field, list, i));
    return NULL;
}

struct error *kind_check_changes(const wharf_kind *kind) {
    TRY(check_list(kind, "suspended_status", kind->suspended_status));
    TRY(check_list(kind, "resumed_status", kind->resumed_status));
    if (kind->resumed_status && !has_rule(kind, WHARF_SUSPENDED))
        return kind_error(
            kind->resumed_status[0].name,
            "resumed_status: found a change, expected a rule for WHARF_SUSPENDED in phases: nothing else triggers it");
    if (kind->gave_up_status && (kind->flags & WHARF_KIND_NEVER_FINISHES) != 0)
        return error_new(ERROR_REFUSED, "gave_up_status: found a change, expected none with WHARF_KIND_NEVER_FINISHES: "
                                        "such a workload does not fail");
    return check_list(kind, "gave_up_status", kind->gave_up_status);
}
