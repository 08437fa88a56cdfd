// SPDX-License-Identifier: Apache-2.0
// Whether the memory of an adapter's kind can be read: of a list without its end, the following bytes would be taken
// for elements with texts, and reading these would end the process.
#include "core/adapter/adapters.h"
#include "core/adapter/kind/kind_check.h"
#include "core/base/memory.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE ((uintptr_t)4096) // of the smallest size
#define TEXT_LONGEST ((size_t)64 * 1024)
#define KIND_LARGEST ((size_t)64 * 1024)

// rt_sigprocmask(2) copies a set from there before it rejects the number of the operation.
static bool page_readable(uintptr_t address) {
    address &= ~(uintptr_t)7;
    return syscall(SYS_rt_sigprocmask, -1, address, NULL, sizeof(uint64_t)) == 0 || errno != EFAULT;
}

static bool is_readable(const void *memory, size_t len) {
    uintptr_t at = (uintptr_t)memory, end = at + len;
    bool readable = end >= at;
    for (; readable && at < end; at = (at / PAGE + 1) * PAGE)
        readable = page_readable(at);
    return readable;
}

static bool is_text(const char *text) {
    size_t len = 0;
    while (text && len < TEXT_LONGEST) {
        size_t part = PAGE - ((uintptr_t)text + len) % PAGE;
        if (!is_readable(text + len, part))
            return false;
        if (memchr(text + len, '\0', part))
            return true;
        len += part;
    }
    return !text;
}

static struct error *unreadable(const char *field, size_t index) {
    return kind_error(NULL, "%s: entry %zu is no readable text, expected a list that ends with NULL", field, index);
}

static struct error *check_texts(const char *field, const char *const *list) {
    for (size_t i = 0; list && i <= KIND_LIST_MAX; i++) {
        if (!is_readable(&list[i], sizeof(list[i])) || !is_text(list[i]))
            return unreadable(field, i + 1);
        if (!list[i])
            break;
    }
    return NULL;
}

// A list of structs: where the kind has the list and the size of an element, and where an element has texts and lists
// of texts. The first text is NULL in the last element. Elements of an older size lack the later texts.
struct struct_list {
    const char *field;
    size_t list_at, size_at, n_texts, texts[5], n_lists, lists[1];
};

#define AT(type, field) offsetof(type, field)
#define LIST(name, sizes) #name, offsetof(wharf_kind, name), offsetof(wharf_kind, sizes)
#define CHANGES(list)                                                                                                  \
    {                                                                                                                  \
        LIST(list, status_change_size), 4,                                                                             \
            {AT(wharf_status_change, name), AT(wharf_status_change, value), AT(wharf_status_change, reason),           \
             AT(wharf_status_change, message)},                                                                        \
            0, {                                                                                                       \
            0                                                                                                          \
        }                                                                                                              \
    }

static const struct struct_list structs[KIND_LISTS] = {
    {LIST(carried, carried_size), 2, {AT(wharf_carried, pointer), AT(wharf_carried, key)}, 0, {0}},
    {LIST(pods, pods_size), 2, {AT(wharf_pods, templates), AT(wharf_pods, fallback)}, 1, {AT(wharf_pods, counts)}},
    {LIST(phases, phase_rule_size),
     5,
     {AT(wharf_phase_rule, pointer), AT(wharf_phase_rule, value), AT(wharf_phase_rule, status),
      AT(wharf_phase_rule, reason), AT(wharf_phase_rule, key)},
     1,
     {AT(wharf_phase_rule, values)}},
    CHANGES(suspended_status),
    CHANGES(resumed_status),
    CHANGES(gave_up_status),
};

static void *pointer_at(const void *memory, size_t at) {
    void *pointer = NULL;
    memcpy(&pointer, (const char *)memory + at, sizeof(pointer));
    return pointer;
}

static struct error *check_element(const struct struct_list *list, const char *element, size_t size, size_t number) {
    for (size_t i = 0; i < list->n_texts; i++)
        if (list->texts[i] + sizeof(char *) <= size && !is_text(pointer_at(element, list->texts[i])))
            return unreadable(list->field, number);
    for (size_t i = 0; i < list->n_lists; i++)
        if (list->lists[i] + sizeof(char *) <= size)
            TRY(check_texts(list->field, pointer_at(element, list->lists[i])));
    return NULL;
}

static struct error *check_structs(const wharf_kind *kind, const struct struct_list *list) {
    uint32_t size = 0;
    const char *elements = pointer_at(kind, list->list_at);
    memcpy(&size, (const char *)kind + list->size_at, sizeof(size));
    if (size < list->texts[0] + sizeof(char *)) // refused later
        return NULL;
    for (size_t i = 1; elements && i <= KIND_LIST_MAX; i++, elements += size) {
        if (!is_readable(elements, size))
            return unreadable(list->field, i);
        if (!pointer_at(elements, list->texts[0]))
            break;
        TRY(check_element(list, elements, size, i));
    }
    return NULL;
}

#define FIELD(field)                                                                                                   \
    { #field, offsetof(wharf_kind, field) }

static const struct {
    const char *name;
    size_t at;
} texts[] = {FIELD(group),
             FIELD(kind),
             FIELD(plural),
             FIELD(managed_by),
             FIELD(managed_by_builtin),
             FIELD(managed_by_default),
             FIELD(suspend),
             FIELD(suspend_value),
             FIELD(observed_generation),
             FIELD(condition_time),
             FIELD(finished_at)},
  text_lists[] = {FIELD(versions), FIELD(managed_by_allowed), FIELD(removed), FIELD(status_removed),
                  FIELD(suspend_values)};

struct error *kind_readable(const wharf_kind *given) {
    wharf_kind own = {.size = 0}; // newer fields that the struct lacks are zero
    memcpy(&own, given, size_least(given->size, sizeof(own)));
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (!is_text(pointer_at(&own, texts[i].at)))
            return kind_error(NULL, "%s: found no readable text", texts[i].name);
    for (size_t i = 0; i < sizeof(text_lists) / sizeof(text_lists[0]); i++)
        TRY(check_texts(text_lists[i].name, pointer_at(&own, text_lists[i].at)));
    for (size_t i = 0; i < KIND_LISTS; i++)
        TRY(check_structs(&own, &structs[i]));
    return NULL;
}

bool kind_is_struct(const wharf_kind *given) {
    return is_readable(given, sizeof(given->size)) && given->size < KIND_LARGEST && is_readable(given, given->size);
}
