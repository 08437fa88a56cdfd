// SPDX-License-Identifier: Apache-2.0
// The status of workloads without a mirror: suspended_status, resumed_status and gave_up_status.
#include "core/adapter/kind/kind_check.h"
#include "core/base/text.h"

#include <string.h>

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
    if (!kind_is_condition_status(change->value))
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
    struct error *error = check_text(field, change->reason);
    return error ? error : check_text(field, change->message);
}

static struct error *check_field(const wharf_kind *kind, const char *field, const wharf_status_change *change) {
    bool text = change->change == WHARF_SET_TEXT;
    struct error *error = kind_check_pointer(field, change->name, PLACE_STATUS | (text ? 0 : PLACE_PATTERN));
    if (error)
        return error;
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
    return kind_check_kept(kind, field, change->name);
}

static bool is_same(const wharf_status_change *a, const wharf_status_change *b) {
    return strcmp(a->name, b->name) == 0 && (a->when == b->when || a->when == WHARF_ALWAYS || b->when == WHARF_ALWAYS);
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
    for (size_t i = 0; i < at; i++)
        if (is_same(&list[i], change))
            return kind_wrong(field, change->name, "it once in the list");
    return change->change == WHARF_SET_CONDITION ? check_condition(kind, field, change)
                                                 : check_field(kind, field, change);
}

static struct error *check_list(const wharf_kind *kind, const char *field, const wharf_status_change *list) {
    struct error *error = NULL;
    if (list && !kind->suspend && !is_gave_up(field))
        return kind_error(list[0].name, "%s: found a change, expected none in a kind without suspend", field);
    for (size_t i = 0; !error && list && list[i].name; i++)
        error = check_change(kind, field, list, i);
    return error;
}

struct error *kind_check_changes(const wharf_kind *kind) {
    struct error *error = check_list(kind, "suspended_status", kind->suspended_status);
    if (!error)
        error = check_list(kind, "resumed_status", kind->resumed_status);
    if (!error && kind->resumed_status && !kind_has_rule(kind, WHARF_SUSPENDED))
        error = kind_error(kind->resumed_status[0].name,
                           "resumed_status: found a change, expected a rule for WHARF_SUSPENDED in phases: "
                           "nothing else triggers it");
    if (!error && kind->gave_up_status && (kind->flags & WHARF_KIND_NEVER_FINISHES) != 0)
        error = error_new(ERROR_REFUSED,
                          "gave_up_status: found a change, expected none with WHARF_KIND_NEVER_FINISHES: such a "
                          "workload does not fail");
    return error ? error : check_list(kind, "gave_up_status", kind->gave_up_status);
}
