// SPDX-License-Identifier: Apache-2.0
// Converts an adapter's kind to the host's: copies structs and list elements of other sizes into the host's own, and
// checks everything.
#include "core/adapter/adapters.h"
#include "core/adapter/kind/kind_check.h"
#include "core/base/text.h"

#include <stdlib.h>
#include <string.h>

#define END_OF(type, field) (offsetof(type, field) + sizeof(((type *)NULL)->field))
#define KIND_SIZE_1_0 END_OF(wharf_kind, pod_sets)

// The layout of a list in an adapter.
struct kind_list {
    const char *field; // of wharf_kind
    const char *end;   // field of an element that is NULL in the last one
    size_t end_at;     // the offset
    size_t size_1_0;   // of an element in ABI 1.0
    size_t host_size;  // of the host's element
    size_t size_field; // offset of the size in wharf_kind
    size_t list_field; // offset of the list in wharf_kind
};

#define LIST(name, type, last, ending, sizes)                                                                          \
    {                                                                                                                  \
#name, #ending, offsetof(type, ending), END_OF(type, last), sizeof(type), offsetof(wharf_kind, sizes),         \
            offsetof(wharf_kind, name)                                                                                 \
    }

static const struct kind_list lists[KIND_LISTS] = {
    LIST(carried, wharf_carried, when, pointer, carried_size),
    LIST(pods, wharf_pods, counts, templates, pods_size),
    LIST(phases, wharf_phase_rule, flags, pointer, phase_rule_size),
    LIST(suspended_status, wharf_status_change, message, name, status_change_size),
    LIST(resumed_status, wharf_status_change, message, name, status_change_size),
    LIST(gave_up_status, wharf_status_change, message, name, status_change_size),
};

static struct error *check_size(const struct kind_list *list, size_t size) {
    if (size >= list->size_1_0 && size % _Alignof(void *) == 0)
        return NULL;
    return error_new(ERROR_REFUSED,
                     "%s: found elements of %zu bytes, expected at least %zu (ABI 1.0): a wharf_kind begins with "
                     "WHARF_KIND_SIZES",
                     list->field, size, list->size_1_0);
}

static struct error *count_elements(const struct kind_list *list, const char *elements, size_t size, size_t *count) {
    for (*count = 0; *count <= KIND_LIST_MAX; ++*count) {
        const void *end = NULL;
        memcpy(&end, elements + *count * size + list->end_at, sizeof(end));
        if (!end)
            return NULL;
    }
    return error_new(ERROR_INVALID,
                     "%s: found more than %d entries, expected a list that ends with one whose %s is NULL", list->field,
                     KIND_LIST_MAX, list->end);
}

// Copies a list into elements of the host's size: fields that the adapter's lack are zero.
static struct error *copy_list(const struct kind_list *list, wharf_kind *kind, void **copy) {
    const char *elements = NULL;
    uint32_t size = 0;
    size_t count = 0;
    memcpy(&elements, (char *)kind + list->list_field, sizeof(elements));
    memcpy(&size, (char *)kind + list->size_field, sizeof(size));
    if (!elements)
        return NULL;
    struct error *error = check_size(list, size);
    if (!error)
        error = count_elements(list, elements, size, &count);
    if (error)
        return error;
    char *made = calloc(count + 1, list->host_size);
    if (!made)
        return error_no_memory();
    for (size_t i = 0; i < count; i++)
        memcpy(made + i * list->host_size, elements + i * size, size < list->host_size ? size : list->host_size);
    *copy = made;
    memcpy((char *)kind + list->list_field, &made, sizeof(made));
    return NULL;
}

static struct error *copy_kind(const wharf_kind *given, struct kind *kind) {
    if (given->size < KIND_SIZE_1_0)
        return error_new(ERROR_REFUSED, "struct wharf_kind: found size %zu, expected at least %zu (ABI 1.0)",
                         given->size, KIND_SIZE_1_0);
    memcpy(&kind->abi, given, given->size < sizeof(kind->abi) ? given->size : sizeof(kind->abi));
    kind->given = given;
    struct error *error = NULL;
    for (size_t i = 0; !error && i < KIND_LISTS; i++)
        error = copy_list(&lists[i], &kind->abi, &kind->lists[i]);
    return error;
}

static struct error *check(struct kind *kind, const char *managed_by, const char *controller_name) {
    const wharf_kind *abi = &kind->abi;
    const char *value = NULL;
    struct error *error = kind_check_names(abi);
    if (!error)
        error = kind_check_managed_by(abi, managed_by, controller_name, &value);
    if (!error)
        error = kind_check_mirror(abi);
    if (!error)
        error = kind_check_status(abi);
    if (!error)
        error = kind_check_changes(abi);
    if (error)
        return error;
    kind->managed_by = strdup(value);
    kind->plural_group = abi->group[0] == '\0' ? strdup(abi->plural) : text_format("%s.%s", abi->plural, abi->group);
    return kind->managed_by && kind->plural_group ? NULL : error_no_memory();
}

struct error *kind_check(const wharf_kind *given, const char *managed_by, const char *controller_name,
                         struct kind **out) {
    struct kind *kind = calloc(1, sizeof(*kind));
    if (!kind)
        return error_no_memory();
    struct error *error = copy_kind(given, kind);
    if (!error)
        error = check(kind, managed_by, controller_name);
    if (error) {
        kind_free(kind);
        return error;
    }
    *out = kind;
    return NULL;
}

void kind_free(struct kind *kind) {
    if (!kind)
        return;
    for (size_t i = 0; i < KIND_LISTS; i++)
        free(kind->lists[i]);
    free(kind->managed_by);
    free(kind->plural_group);
    free(kind);
}
