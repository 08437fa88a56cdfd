// SPDX-License-Identifier: Apache-2.0
// A kind's data about mirrors: the suspend field, carried fields, removed fields, and pods.
#include "core/adapter/kind/kind_check.h"
#include "core/base/text.h"

#include <stdlib.h>
#include <string.h>

static struct error *check_suspend(const wharf_kind *kind) {
    if (!kind->suspend)
        return kind->suspend_value ? kind_wrong("suspend_value", kind->suspend_value, "nothing, as there is no suspend")
                                   : NULL;
    struct error *error = kind_check_pointer("suspend", kind->suspend, PLACE_SPEC);
    if (error)
        return error;
    if (kind->suspend_value && kind->suspend_value[0] == '\0')
        return kind_wrong("suspend_value", "", "a value, or NULL for true");
    if (kind_covers(kind->suspend, kind->managed_by) || kind_covers(kind->managed_by, kind->suspend))
        return kind_wrong("suspend", kind->suspend, "a field apart from managed_by");
    const wharf_carried *carried = kind->carried;
    while (carried && carried->pointer && !kind_covers(carried->pointer, kind->suspend))
        carried++;
    if (!carried || !carried->pointer)
        return error_new(ERROR_INVALID,
                         "carried: found no \"%s\", expected the field of suspend in it: a workload that is suspended "
                         "suspends its mirror",
                         kind->suspend);
    if (carried->when == WHARF_CARRY_WHILE_SUSPENDED)
        return kind_wrong("carried", carried->pointer, "WHARF_CARRY_ALWAYS for the field of suspend");
    return NULL;
}

static struct error *check_one_carried(const wharf_kind *kind, const wharf_carried *carried) {
    struct error *error = kind_check_pointer("carried", carried->pointer, PLACE_SPEC | PLACE_PATTERN);
    if (error)
        return error;
    if (kind_covers(carried->pointer, kind->managed_by) || kind_covers(kind->managed_by, carried->pointer))
        return kind_wrong("carried", carried->pointer, "another field: managed_by is never carried, nor what holds it");
    if (carried->when != WHARF_CARRY_ALWAYS && carried->when != WHARF_CARRY_WHILE_SUSPENDED)
        return error_new(ERROR_REFUSED, "carried: %s: found %u for when, expected %d or %d", carried->pointer,
                         carried->when, WHARF_CARRY_ALWAYS, WHARF_CARRY_WHILE_SUSPENDED);
    if (carried->when == WHARF_CARRY_WHILE_SUSPENDED && !kind->suspend)
        return kind_wrong("carried", carried->pointer, "no WHARF_CARRY_WHILE_SUSPENDED in a kind without suspend");
    if (carried->key && (carried->key[0] == '\0' || !strstr(carried->pointer, "/*")))
        return kind_error(carried->key, "carried: %s: found \"%s\" for key, expected %s", carried->pointer,
                          carried->key,
                          carried->key[0] ? "none, as the pointer has no \"*\"" : "the name of a member, or NULL");
    const char *removed = kind_covering(kind->removed, carried->pointer);
    if (removed)
        return kind_error(carried->pointer,
                          "carried: found \"%s\", expected it not to be in removed too, which has \"%s\"",
                          carried->pointer, removed);
    for (const wharf_carried *other = kind->carried; other < carried; other++)
        if (strcmp(other->pointer, carried->pointer) == 0)
            return kind_wrong("carried", carried->pointer, "it once in the list");
    return NULL;
}

// Length of a pattern up to and with the last "*" segment; 0 without one.
static size_t starred_length(const char *pattern) {
    size_t length = 0;
    for (size_t i = 0; pattern[i] != '\0'; i++)
        if (pattern[i] == '*' && i > 0 && pattern[i - 1] == '/' && (pattern[i + 1] == '/' || pattern[i + 1] == '\0'))
            length = i + 1;
    return length;
}

static struct error *check_pods(const wharf_kind *kind, const wharf_pods *pods) {
    struct error *error = kind_check_pointer("pods.templates", pods->templates, PLACE_SPEC | PLACE_PATTERN);
    for (const wharf_pods *other = kind->pods; !error && other < pods; other++)
        if (strcmp(other->templates, pods->templates) == 0)
            error = kind_wrong("pods.templates", pods->templates, "it once in the list");
    if (!error)
        error = kind_check_pointers("pods.counts", pods->counts, PLACE_SPEC | PLACE_PATTERN);
    for (const char *const *count = pods->counts; !error && count && *count; count++) {
        size_t starred = starred_length(*count);
        if (starred > 0 && (strncmp(*count, pods->templates, starred) != 0 ||
                            (pods->templates[starred] != '/' && pods->templates[starred] != '\0')))
            error = kind_error(*count,
                               "pods.counts: found \"%s\", expected the same path up to the last \"*\" as in \"%s\"",
                               *count, pods->templates);
    }
    return error;
}

struct error *kind_check_mirror(const wharf_kind *kind) {
    struct error *error = kind_check_pointers("removed", kind->removed, PLACE_SPEC | PLACE_LABELS | PLACE_PATTERN);
    for (const wharf_carried *carried = kind->carried; !error && carried && carried->pointer; carried++)
        error = check_one_carried(kind, carried);
    if (!error)
        error = check_suspend(kind);
    for (const wharf_pods *pods = kind->pods; !error && pods && pods->templates; pods++)
        error = check_pods(kind, pods);
    return error;
}
