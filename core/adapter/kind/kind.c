// SPDX-License-Identifier: Apache-2.0
// Converts an adapter's kind to the host's: copies structs and list elements of other sizes into the host's own, and
// checks everything. The messages, lists and pointers of the checks.
#include "core/adapter/adapters.h"
#include "core/adapter/kind/kind_check.h"
#include "core/adapter/kind/kind_fields.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/json/pointer.h"

#include <assert.h>

#define END_OF(type, field) (offsetof(type, field) + sizeof(((type *)NULL)->field))
#define KIND_SIZE_1_0 END_OF(wharf_kind, pod_sets)

static struct error *check_size(const struct kind_field *field, size_t size) {
    const struct kind_list *list = field->list;
    if (size >= list->size_first && size % _Alignof(void *) == 0)
        return NULL;
    return error_new(ERROR_REFUSED, "%s: found elements of %zu bytes, expected at least %zu (ABI %s): %s", field->name,
                     size, list->size_first, list->first, list->set_by);
}

static struct error *count_elements(const struct kind_field *field, const char *elements, size_t size, size_t *count) {
    for (*count = 0; *count <= KIND_LIST_MAX; ++*count)
        if (!kind_pointer_at(elements + *count * size, field->list->end_at))
            return NULL;
    return error_new(ERROR_INVALID,
                     "%s: found more than %d entries, expected a list that ends with one whose %s is NULL", field->name,
                     KIND_LIST_MAX, field->list->end);
}

// Copies a list into elements of the host's size: fields that the adapter's lack are zero.
static struct error *copy_list(const struct kind_field *field, wharf_kind *kind, void **copy) {
    const char *elements = kind_pointer_at(kind, field->at);
    size_t own = field->list->size, count = 0;
    uint32_t size = 0;
    memcpy(&size, (char *)kind + field->list->size_at, sizeof(size));
    if (!elements)
        return NULL;
    TRY(check_size(field, size));
    TRY(count_elements(field, elements, size, &count));
    char *made = calloc(count + 1, own);
    if (!made)
        return error_no_memory();
    for (size_t i = 0; i < count; i++)
        memcpy(made + i * own, elements + i * size, size_least(size, own));
    *copy = made;
    memcpy((char *)kind + field->at, &made, sizeof(made));
    return NULL;
}

static struct error *copy_lists(struct kind *kind) {
    size_t n_lists = 0;
    for (const struct kind_field *field = kind_fields; field->name; field++)
        if (field->type == FIELD_LIST)
            TRY(copy_list(field, &kind->abi, &kind->lists[n_lists++]));
    assert(n_lists == KIND_LISTS);
    return NULL;
}

static struct error *copy_kind(const wharf_kind *given, struct kind *kind) {
    if (!kind_is_struct(given))
        return error_new(ERROR_REFUSED,
                         "struct wharf_kind: found no readable memory, expected a list that ends with NULL");
    if (given->size < KIND_SIZE_1_0)
        return error_new(ERROR_REFUSED, "struct wharf_kind: found size %zu, expected at least %zu (ABI 1.0)",
                         given->size, KIND_SIZE_1_0);
    TRY(kind_readable(given));
    memcpy(&kind->abi, given, size_least(given->size, sizeof(kind->abi)));
    kind->given = given;
    return copy_lists(kind);
}

static struct error *check(struct kind *kind, const char *managed_by, const char *controller_name) {
    const wharf_kind *abi = &kind->abi;
    const char *value = NULL;
    TRY(kind_check_names(abi));
    TRY(kind_check_managed_by(abi, managed_by, controller_name, &value));
    TRY(kind_check_mirror(abi));
    TRY(kind_check_status(abi));
    TRY(kind_check_continuity(abi));
    TRY(kind_check_changes(abi));
    TRY(kind_check_references(abi));
    TRY(kind_check_children(abi));
    kind->managed_by = strdup(value);
    kind->plural_group = abi->group[0] == '\0' ? strdup(abi->plural) : text_format("%s.%s", abi->plural, abi->group);
    if (!kind->managed_by || !kind->plural_group)
        return error_no_memory();
    kind->doubted_until = kind_doubted_until(kind);
    return NULL;
}

struct error *kind_copy(const wharf_kind *given, struct kind **out) {
    struct kind *kind = calloc(1, sizeof(*kind));
    struct error *error = kind ? copy_kind(given, kind) : error_no_memory();
    if (error)
        kind_free(TAKE(kind));
    *out = kind;
    return error;
}

struct error *kind_check(const wharf_kind *given, const char *managed_by, const char *controller_name,
                         struct kind **out) {
    TRY(kind_copy(given, out));
    struct error *error = check(*out, managed_by, controller_name);
    if (error)
        kind_free(TAKE(*out));
    return error;
}

bool kind_list_has(const char *const *list, const char *text) {
    while (list && *list && strcmp(*list, text) != 0)
        list++;
    return list && *list;
}

void kind_free(struct kind *kind) {
    if (!kind)
        return;
    for (size_t i = 0; i < KIND_LISTS; i++)
        free(kind->lists[i]);
    free(kind->managed_by);
    free(kind->owned.memory);
    free(kind->plural_group);
    free(kind);
}

// Shared by the checks --------------------------------------------------------------------------------------------

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

struct error *kind_missing(const char *field) {
    return error_new(ERROR_INVALID, "%s: found nothing, expected a value: it is required", field);
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

// One label or annotation.
static bool is_label(const char *pointer) {
    static const char *const maps[] = {"/metadata/labels/", "/metadata/annotations/"};
    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
        if (text_has_prefix(pointer, maps[i]))
            return pointer[strlen(maps[i])] != '\0' && !strchr(pointer + strlen(maps[i]), '/');
    return false;
}

static struct error *check_place(const char *field, const char *pointer, unsigned places) {
    static const char *const known[] = {"spec", "status", "metadata"};
    // Names, namespace and marks are the host's; the status has separate rules.
    static const char *const hosts[] = {"metadata", "status", "apiVersion", "kind", NULL};
    AUTO_TEXT first = strndup(pointer + 1, strcspn(pointer + 1, "/"));
    if (!first)
        return error_no_memory();
    const char *meant = suggest(first, known, sizeof(known) / sizeof(known[0]));
    if (meant && strcmp(meant, first) != 0)
        return kind_error(pointer, "%s: found \"%s\", expected a field of an object: did you mean \"/%s%s\"?", field,
                          pointer, meant, pointer + 1 + strlen(first));
    if ((places & PLACE_STATUS) != 0 && !text_has_prefix(pointer, "/status/"))
        return kind_wrong(field, pointer, "a pointer that begins with \"/status/\"");
    if ((places & PLACE_STATUS) != 0 || ((places & PLACE_SPEC) != 0 && !kind_list_has(hosts, first)))
        return NULL;
    if ((places & PLACE_LABELS) != 0)
        return is_label(pointer)
                   ? NULL
                   : kind_wrong(
                         field, pointer,
                         "a field of the spec, or one label or annotation: a \"/\" in its name is written \"~1\"");
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
            "a JSON pointer (RFC 6901) like /spec/suspend, in which a \"~\" in a name is written ~0, and a \"/\" ~1");
    if (pointer[0] == '\0')
        return kind_wrong(field, pointer, "a pointer to a field, not to the whole object");
    if (strstr(pointer, "//") || pointer[strlen(pointer) - 1] == '/')
        return kind_wrong(field, pointer, "a pointer without empty names");
    if (!pattern && pointer_has_star(pointer))
        return kind_wrong(field, pointer, "a pointer to one field, without \"*\": no pattern is accepted here");
    return check_place(field, pointer, places);
}

struct error *kind_check_pointers(const char *field, const char *const *list, unsigned places) {
    size_t count = 0;
    TRY(kind_check_list(field, list, &count));
    for (size_t i = 0; i < count; i++)
        TRY(kind_check_pointer(field, list[i], places));
    return NULL;
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

// Length of a pattern up to and with the last "*" segment; 0 without one.
static size_t starred_length(const char *pattern) {
    size_t length = 0;
    for (size_t i = 0; pattern[i] != '\0'; i++)
        if (pattern[i] == '*' && i > 0 && pattern[i - 1] == '/' && (pattern[i + 1] == '/' || pattern[i + 1] == '\0'))
            length = i + 1;
    return length;
}

struct error *kind_check_path(const char *field, const char *pattern, const char *like, const char *until) {
    size_t starred = starred_length(until);
    if (starred == 0 || (strncmp(pattern, like, starred) == 0 && (like[starred] == '/' || like[starred] == '\0') &&
                         (pattern[starred] == '/' || pattern[starred] == '\0')))
        return NULL;
    return kind_error(pattern, "%s: found \"%s\", expected the same path up to the last \"*\" as in \"%s\"", field,
                      pattern, like);
}
