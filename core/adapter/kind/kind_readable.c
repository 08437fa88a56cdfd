// SPDX-License-Identifier: Apache-2.0
// Whether the memory of an adapter's kind can be read: of a list without its end, the following bytes would be taken
// for elements with texts, and reading these would end the process.
#include "core/adapter/adapters.h"
#include "core/adapter/kind/kind_check.h"
#include "core/adapter/kind/kind_fields.h"
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

// Elements of an older size lack the later texts.
static struct error *check_element(const struct kind_field *list, const char *element, size_t size, size_t number) {
    for (const struct kind_field *field = list->list->fields; field->name; field++) {
        bool has = field->at + sizeof(char *) <= size;
        if (has && field->type == FIELD_TEXT && !is_text(kind_pointer_at(element, field->at)))
            return unreadable(list->name, number);
        if (has && field->type == FIELD_TEXTS)
            TRY(check_texts(list->name, kind_pointer_at(element, field->at)));
    }
    return NULL;
}

static struct error *check_structs(const wharf_kind *kind, const struct kind_field *list) {
    uint32_t size = 0;
    const char *elements = kind_pointer_at(kind, list->at);
    memcpy(&size, (const char *)kind + list->list->size_at, sizeof(size));
    if (size < list->list->end_at + sizeof(char *)) // refused later
        return NULL;
    for (size_t i = 1; elements && i <= KIND_LIST_MAX; i++, elements += size) {
        if (!is_readable(elements, size))
            return unreadable(list->name, i);
        if (!kind_pointer_at(elements, list->list->end_at))
            break;
        TRY(check_element(list, elements, size, i));
    }
    return NULL;
}

static struct error *check_field(const wharf_kind *kind, const struct kind_field *field) {
    const void *pointer = kind_pointer_at(kind, field->at);
    if (field->type == FIELD_TEXT && !is_text(pointer))
        return kind_error(NULL, "%s: found no readable text", field->name);
    if (field->type == FIELD_TEXTS)
        return check_texts(field->name, pointer);
    return field->type == FIELD_LIST ? check_structs(kind, field) : NULL;
}

struct error *kind_readable(const wharf_kind *given) {
    wharf_kind own = {.size = 0}; // newer fields that the struct lacks are zero
    memcpy(&own, given, size_least(given->size, sizeof(own)));
    for (const struct kind_field *field = kind_fields; field->name; field++)
        TRY(check_field(&own, field));
    return NULL;
}

bool kind_is_struct(const wharf_kind *given) {
    return is_readable(given, sizeof(given->size)) && given->size < KIND_LARGEST && is_readable(given, given->size);
}
