// SPDX-License-Identifier: Apache-2.0
// The checks of a kind's data about further attempts of its own: progress, continuity.
#include "core/adapter/kind/kind_check.h"
#include "core/base/text.h"

#define VALUES_MAX 16 // each up to 4 KiB of an annotation
#define VALUE_NAME_MAX 40

static struct error *check_progress(const wharf_kind *kind) {
    if (kind->progress && !kind->suspend)
        return error_new(ERROR_INVALID, "progress: found it in a kind without suspend, expected suspend: progress is "
                                        "given to a suspended mirror");
    if (kind->progress && (kind->flags & WHARF_KIND_NO_STATUS_SUBRESOURCE) != 0)
        return error_new(ERROR_INVALID, "progress: found it with WHARF_KIND_NO_STATUS_SUBRESOURCE, expected a status "
                                        "subresource: progress is given there");
    return NULL;
}

static bool is_value_name(const char *name) {
    return *name && text_is_within(name, VALUE_NAME_MAX) &&
           name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == '\0';
}

static struct error *check_value(const wharf_kind *kind, const wharf_continuity *value) {
    TRY(kind_check_pointer("continuity.pointer", value->pointer, PLACE_STATUS));
    const char *removed = kind_covering(kind->status_removed, value->pointer);
    if (removed)
        return kind_error(removed,
                          "continuity.pointer: found \"%s\", expected it not to be in status_removed, which has \"%s\"",
                          value->pointer, removed);
    if (!value->name)
        return kind_missing("continuity.name");
    if (!is_value_name(value->name))
        return kind_wrong("continuity.name", value->name,
                          "at most 40 upper-case letters, digits and \"_\", like \"CHECKPOINT\"");
    for (const wharf_continuity *earlier = kind->continuity; earlier < value; earlier++)
        if (strcmp(earlier->name, value->name) == 0)
            return kind_wrong("continuity.name", value->name, "it once in the list");
    return NULL;
}

struct error *kind_check_continuity(const wharf_kind *kind) {
    size_t count = 0;
    TRY(check_progress(kind));
    for (const wharf_continuity *value = kind->continuity; value && value->pointer; value++, count++)
        TRY(check_value(kind, value));
    if (count > VALUES_MAX)
        return error_new(ERROR_LIMIT, "continuity: found %zu values, expected at most %d", count, VALUES_MAX);
    return NULL;
}
