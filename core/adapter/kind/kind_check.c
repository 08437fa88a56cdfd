// SPDX-License-Identifier: Apache-2.0
// Shared by the checks of a kind: messages, lists, pointers.
#include "core/adapter/kind/kind_check.h"

#include "core/base/suggest.h"
#include "core/base/text.h"
#include "core/json/pointer.h"

#include <stdlib.h>
#include <string.h>

struct error *kind_missing(const char *field) {
    return error_new(ERROR_INVALID, "%s: found nothing, expected a value: it is required", field);
}

struct error *kind_error(const char *about, const char *format, ...) {
    va_list args;
    va_start(args, format);
    struct error *error = error_about(error_vnew(ERROR_INVALID, format, args), about);
    va_end(args);
    return error;
}

struct error *kind_wrong(const char *field, const char *found, const char *expected) {
    return kind_error(found, "%s: found \"%s\", expected %s", field, found, expected);
}

struct error *kind_check_list(const char *field, const char *const *list, size_t *count) {
    *count = 0;
    while (list && list[*count])
        if (++*count > KIND_LIST_MAX)
            return error_new(ERROR_INVALID, "%s: found more than %d entries, expected a list that ends with NULL",
                             field, KIND_LIST_MAX);
    for (size_t i = 1; i < *count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(list[i], list[j]) == 0)
                return kind_error(list[i], "%s: found \"%s\" a second time, expected it once in the list", field,
                                  list[i]);
    return NULL;
}

static bool has_empty_name(const char *pointer) {
    return strstr(pointer, "//") || pointer[strlen(pointer) - 1] == '/';
}

// One label or annotation.
static bool is_label(const char *pointer) {
    static const char *const maps[] = {"/metadata/labels/", "/metadata/annotations/"};
    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
        if (text_has_prefix(pointer, maps[i]))
            return pointer[strlen(maps[i])] != '\0' && !strchr(pointer + strlen(maps[i]), '/');
    return false;
}

// Names, namespace and marks are the host's; the status has separate rules.
static bool is_spec(const char *first) {
    return strcmp(first, "metadata") != 0 && strcmp(first, "status") != 0 && strcmp(first, "apiVersion") != 0 &&
           strcmp(first, "kind") != 0;
}

static struct error *check_place(const char *field, const char *pointer, unsigned places) {
    static const char *const known[] = {"spec", "status", "metadata"};
    AUTO_TEXT first = strndup(pointer + 1, strcspn(pointer + 1, "/"));
    if (!first)
        return error_no_memory();
    const char *meant = suggest(first, known, sizeof(known) / sizeof(known[0]));
    if (meant && strcmp(meant, first) != 0)
        return kind_error(pointer, "%s: found \"%s\", expected a field of an object: did you mean \"/%s%s\"?", field,
                          pointer, meant, pointer + 1 + strlen(first));
    if ((places & PLACE_STATUS) != 0 && !text_has_prefix(pointer, "/status/"))
        return kind_wrong(field, pointer, "a pointer that begins with \"/status/\"");
    if ((places & PLACE_STATUS) != 0 || ((places & PLACE_SPEC) != 0 && is_spec(first)))
        return NULL;
    if ((places & PLACE_LABELS) != 0)
        return is_label(pointer)
                   ? NULL
                   : kind_wrong(field, pointer,
                                "a field of the spec, or one label or annotation: a \"/\" in its name is written "
                                "\"~1\"");
    return kind_wrong(field, pointer,
                      "a field of the spec: labels and annotations are always carried, status and the rest of metadata "
                      "belong to the host");
}

struct error *kind_check_pointer(const char *field, const char *pointer, unsigned places) {
    bool pattern = (places & PLACE_PATTERN) != 0;
    __attribute__((cleanup(error_cleanup))) struct error *malformed = pointer_check(pointer, pattern);
    if (malformed)
        return kind_wrong(
            field, pointer,
            "a JSON pointer (RFC 6901) like /spec/suspend, in which a \"~\" in a name is written ~0, and a "
            "\"/\" ~1");
    if (pointer[0] == '\0')
        return kind_wrong(field, pointer, "a pointer to a field, not to the whole object");
    if (has_empty_name(pointer))
        return kind_wrong(field, pointer, "a pointer without empty names");
    if (!pattern && pointer_has_star(pointer))
        return kind_wrong(field, pointer, "a pointer to one field, without \"*\": no pattern is accepted here");
    return check_place(field, pointer, places);
}

struct error *kind_check_pointers(const char *field, const char *const *list, unsigned places) {
    size_t count = 0;
    struct error *error = kind_check_list(field, list, &count);
    for (size_t i = 0; !error && i < count; i++)
        error = kind_check_pointer(field, list[i], places);
    return error;
}

bool kind_covers(const char *outer, const char *inner) {
    if (!outer || !inner)
        return false;
    while (*outer == '/' && *inner == '/') {
        size_t a = strcspn(++outer, "/"), b = strcspn(++inner, "/");
        bool any = a == 1 && *outer == '*';
        if (!any && (a != b || memcmp(outer, inner, a) != 0))
            return false;
        outer += a;
        inner += b;
    }
    return !*outer;
}

const char *kind_covering(const char *const *patterns, const char *pointer) {
    while (patterns && *patterns && !kind_covers(*patterns, pointer))
        patterns++;
    return patterns ? *patterns : NULL;
}

struct error *kind_check_kept(const wharf_kind *kind, const char *field, const char *pointer) {
    const char *removed = kind_covering(kind->status_removed, pointer);
    if (!removed)
        return NULL;
    return kind_error(removed, "%s: found \"%s\", expected it not to be in status_removed, which has \"%s\"", field,
                      pointer, removed);
}

bool kind_is_condition_status(const char *text) {
    return text && (strcmp(text, "True") == 0 || strcmp(text, "False") == 0 || strcmp(text, "Unknown") == 0);
}

bool kind_has_rule(const wharf_kind *kind, wharf_phase_kind phase) {
    const wharf_phase_rule *rule = kind->phases;
    while (rule && rule->pointer && rule->phase != phase)
        rule++;
    return rule && rule->pointer;
}
