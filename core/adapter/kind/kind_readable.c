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

// A list of structs: where the kind has the list and the size of an element, and where an element has texts. The first
// text is NULL in the last element.
struct struct_list {
    const char *field;
    size_t list_at, size_at, n_texts, texts[4];
};

#define TEXT(type, field) offsetof(type, field)
#define LIST(name, sizes, count, ...)                                                                                  \
    {                                                                                                                  \
#name, offsetof(wharf_kind, name), offsetof(wharf_kind, sizes), count, {                                       \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }
#define CHANGES(list)                                                                                                  \
    LIST(list, status_change_size, 4, TEXT(wharf_status_change, name), TEXT(wharf_status_change, value),               \
         TEXT(wharf_status_change, reason), TEXT(wharf_status_change, message))

static const struct struct_list structs[KIND_LISTS] = {
    LIST(carried, carried_size, 2, TEXT(wharf_carried, pointer), TEXT(wharf_carried, key)),
    LIST(pods, pods_size, 1, TEXT(wharf_pods, templates)),
    LIST(phases, phase_rule_size, 4, TEXT(wharf_phase_rule, pointer), TEXT(wharf_phase_rule, value),
         TEXT(wharf_phase_rule, status), TEXT(wharf_phase_rule, reason)),
    CHANGES(suspended_status),
    CHANGES(resumed_status),
    CHANGES(gave_up_status),
};

static const char *text_at(const char *memory, size_t at) {
    const char *text = NULL;
    memcpy(&text, memory + at, sizeof(text));
    return text;
}

static struct error *check_structs(const wharf_kind *kind, const struct struct_list *list) {
    uint32_t size = 0;
    const char *elements = text_at((const char *)kind, list->list_at);
    memcpy(&size, (const char *)kind + list->size_at, sizeof(size));
    for (size_t i = 0; elements && i <= KIND_LIST_MAX; i++, elements += size) {
        if (!is_readable(elements, size))
            return unreadable(list->field, i + 1);
        if (!text_at(elements, list->texts[0]))
            break;
        for (size_t t = 0; t < list->n_texts; t++)
            if (!is_text(text_at(elements, list->texts[t])))
                return unreadable(list->field, i + 1);
    }
    return NULL;
}

struct error *kind_readable(const wharf_kind *given) {
    static const struct {
        const char *name;
        size_t at;
    } texts[] = {{"group", offsetof(wharf_kind, group)},
                 {"kind", offsetof(wharf_kind, kind)},
                 {"plural", offsetof(wharf_kind, plural)},
                 {"managed_by", offsetof(wharf_kind, managed_by)},
                 {"managed_by_builtin", offsetof(wharf_kind, managed_by_builtin)},
                 {"managed_by_default", offsetof(wharf_kind, managed_by_default)},
                 {"suspend", offsetof(wharf_kind, suspend)},
                 {"suspend_value", offsetof(wharf_kind, suspend_value)},
                 {"observed_generation", offsetof(wharf_kind, observed_generation)},
                 {"condition_time", offsetof(wharf_kind, condition_time)},
                 {"finished_at", offsetof(wharf_kind, finished_at)}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (!is_text(text_at((const char *)given, texts[i].at)))
            return kind_error(NULL, "%s: found no readable text", texts[i].name);
    TRY(check_texts("versions", given->versions));
    TRY(check_texts("managed_by_allowed", given->managed_by_allowed));
    TRY(check_texts("removed", given->removed));
    TRY(check_texts("status_removed", given->status_removed));
    wharf_kind own = {.size = 0}; // newer fields that the struct lacks are zero
    memcpy(&own, given, size_least(given->size, sizeof(own)));
    for (size_t i = 0; i < KIND_LISTS; i++)
        TRY(check_structs(&own, &structs[i]));
    return NULL;
}

bool kind_is_struct(const wharf_kind *given) {
    return is_readable(given, sizeof(given->size)) && given->size < KIND_LARGEST && is_readable(given, given->size);
}
