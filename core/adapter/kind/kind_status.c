// SPDX-License-Identifier: Apache-2.0
// A kind's data about statuses: the phase of an object, and the copied fields.
#include "core/adapter/kind/kind_check.h"
#include "core/adapter/phase.h"
#include "core/base/text.h"

#include <stdlib.h>
#include <string.h>

#define KNOWN_RULE_FLAGS WHARF_RULE_WHILE_SUSPENDED

static struct error *check_read(const wharf_kind *kind, const char *field, const char *pointer) {
    if (!pointer)
        return NULL;
    struct error *error = kind_check_pointer(field, pointer, PLACE_STATUS);
    return error ? error : kind_check_kept(kind, field, pointer);
}

// Members of the conditions that the rule reads.
static struct error *check_members(const wharf_kind *kind, const wharf_phase_rule *rule) {
    const char *const members[] = {"type", "status", rule->reason ? "reason" : NULL};
    struct error *error = kind_check_kept(kind, "phases", rule->pointer);
    for (size_t i = 0; !error && i < sizeof members / sizeof members[0] && members[i]; i++) {
        AUTO_TEXT member = text_format("%s/*/%s", rule->pointer, members[i]);
        error = member ? kind_check_kept(kind, "phases", member) : error_no_memory();
    }
    return error;
}

static struct error *check_rule(const wharf_kind *kind, const wharf_phase_rule *rule) {
    struct error *error = kind_check_pointer("phases", rule->pointer, PLACE_STATUS);
    if (error)
        return error;
    bool final = phase_is_final(rule->phase);
    if (!rule->value || rule->value[0] == '\0')
        return kind_wrong("phases", rule->pointer, "a value with it: the type of a condition, or a scalar");
    if (rule->status && !kind_is_condition_status(rule->status))
        return kind_error(rule->status, "phases: %s %s: found status \"%s\", expected True, False or Unknown",
                          rule->pointer, rule->value, rule->status);
    if (rule->phase > WHARF_FAILED)
        return error_new(ERROR_REFUSED, "phases: %s %s: found phase %u, expected one of %d to %d", rule->pointer,
                         rule->value, rule->phase, WHARF_PENDING, WHARF_FAILED);
    if ((rule->flags & ~KNOWN_RULE_FLAGS) != 0)
        return error_new(ERROR_REFUSED, "phases: %s %s: found unknown flags 0x%x, expected only 0x%x", rule->pointer,
                         rule->value, rule->flags & ~KNOWN_RULE_FLAGS, KNOWN_RULE_FLAGS);
    if ((rule->flags & WHARF_RULE_WHILE_SUSPENDED) != 0 && (!kind->suspend || final))
        return kind_error(rule->value, "phases: %s %s: found WHARF_RULE_WHILE_SUSPENDED, expected it only %s",
                          rule->pointer, rule->value,
                          final ? "with a phase that is not final" : "in a kind with suspend");
    if (final && (kind->flags & WHARF_KIND_NEVER_FINISHES) != 0)
        return kind_error(rule->value,
                          "phases: %s %s: found a final phase, expected none with WHARF_KIND_NEVER_FINISHES",
                          rule->pointer, rule->value);
    return check_members(kind, rule);
}

// Whether `rule` never matches because `earlier` does first.
static bool is_shadowed(const wharf_phase_rule *earlier, const wharf_phase_rule *rule) {
    return strcmp(earlier->pointer, rule->pointer) == 0 && strcmp(earlier->value, rule->value) == 0 &&
           strcmp(earlier->status ? earlier->status : "True", rule->status ? rule->status : "True") == 0 &&
           (!earlier->reason || text_equal(earlier->reason, rule->reason)) &&
           ((earlier->flags & WHARF_RULE_WHILE_SUSPENDED) == 0 || (rule->flags & WHARF_RULE_WHILE_SUSPENDED) != 0);
}

static struct error *check_order(const wharf_kind *kind) {
    for (const wharf_phase_rule *rule = kind->phases; rule && rule->pointer; rule++)
        for (const wharf_phase_rule *earlier = kind->phases; earlier < rule; earlier++)
            if (is_shadowed(earlier, rule))
                return kind_error(
                    rule->value,
                    "phases: found a second rule for %s \"%s\" (%zu), expected one: the earlier one (%zu) "
                    "always matches first",
                    rule->pointer, rule->value, (size_t)(rule - kind->phases) + 1,
                    (size_t)(earlier - kind->phases) + 1);
    return NULL;
}

static struct error *check_phases(const wharf_kind *kind) {
    bool endless = (kind->flags & WHARF_KIND_NEVER_FINISHES) != 0;
    struct error *error = NULL;
    if (!kind->phase && !endless && (!kind->phases || !kind->phases[0].pointer))
        return error_new(ERROR_INVALID, "phase: found neither the function nor rules in phases, expected one of both");
    for (const wharf_phase_rule *rule = kind->phases; !error && rule && rule->pointer; rule++)
        error = check_rule(kind, rule);
    if (!error)
        error = check_order(kind);
    if (!error && !kind->phase && !endless && !kind_has_rule(kind, WHARF_SUCCEEDED) &&
        !kind_has_rule(kind, WHARF_FAILED))
        error = error_new(ERROR_INVALID, "phases: found no rule for WHARF_SUCCEEDED or WHARF_FAILED, expected one, or "
                                         "WHARF_KIND_NEVER_FINISHES");
    return error;
}

static struct error *check_condition_time(const char *name) {
    static const char *const others[] = {"lastTransitionTime", "type", "status", "reason", "message"};
    bool wrong = name && (name[0] == '\0' || strchr(name, '/'));
    for (size_t i = 0; name && i < sizeof others / sizeof others[0]; i++)
        wrong |= strcmp(name, others[i]) == 0;
    return wrong ? kind_wrong("condition_time", name, "the name of another member of a condition, like lastUpdateTime")
                 : NULL;
}

struct error *kind_check_status(const wharf_kind *kind) {
    struct error *error = kind_check_pointers("status_removed", kind->status_removed, PLACE_STATUS | PLACE_PATTERN);
    if (!error)
        error = check_read(kind, "observed_generation", kind->observed_generation);
    if (!error && kind->observed_generation && (kind->flags & WHARF_KIND_NO_STATUS_SUBRESOURCE) != 0)
        error = kind_wrong("observed_generation", kind->observed_generation,
                           "NULL with WHARF_KIND_NO_STATUS_SUBRESOURCE: each write of the status is a new generation");
    if (!error)
        error = check_read(kind, "finished_at", kind->finished_at);
    if (!error && kind->finished_at && (kind->flags & WHARF_KIND_NEVER_FINISHES) != 0)
        error = kind_wrong("finished_at", kind->finished_at, "NULL with WHARF_KIND_NEVER_FINISHES");
    if (!error)
        error = check_condition_time(kind->condition_time);
    return error ? error : check_phases(kind);
}
