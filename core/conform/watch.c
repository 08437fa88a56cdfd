// SPDX-License-Identifier: Apache-2.0
// The functions of struct wharf_host as the kit gives them to the adapter: each notes that it was asked for, looks at
// its pointer, and calls on to the host's own.
#include "core/base/text.h"
#include "core/conform/child.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define YIELD_EVERY 3 // services, where several threads call them

// Static, since not every function of the table has a call to find it by.
static struct {
    const wharf_host *real;
    struct run *run;
    bool used[sizeof(wharf_host) / sizeof(void *)]; // by the place in the struct
} watch;

#define PLACE(field) (offsetof(wharf_host, field) / sizeof(void *))

// The host calls its own functions too, between calls.
static void note(size_t place) {
    static _Thread_local unsigned count;
    if (watch.run->crowded) {
        if (++count % YIELD_EVERY == 0)
            sched_yield();
        return;
    }
    if (watch.run->board->stage == STAGE_CALL)
        watch.used[place] = true;
}

static void check_pointer(const char *function, const char *pointer, bool pattern) {
    struct run *run = watch.run;
    if (!pointer || !run->now || run->crowded || run->board->stage != STAGE_CALL)
        return;
    bool good = pointer[0] == '\0' || pointer[0] == '/';
    for (const char *tilde = strchr(pointer, '~'); good && tilde; tilde = strchr(tilde + 1, '~'))
        good = tilde[1] == '0' || tilde[1] == '1' || (pattern && tilde[1] == '2');
    if (!good)
        run_say(run, RULE_POINTER, run->board->function, pointer, "wharf_host.%s was given \"%.200s\"", function,
                pointer);
}

#define WATCHED(type, field, parameters, arguments)                                                                    \
    static type watch_##field parameters {                                                                             \
        note(PLACE(field));                                                                                            \
        return watch.real->field arguments;                                                                            \
    }
#define WATCHED_POINTER(type, field, parameters, arguments)                                                            \
    static type watch_##field parameters {                                                                             \
        note(PLACE(field));                                                                                            \
        check_pointer(#field, pointer, false);                                                                         \
        return watch.real->field arguments;                                                                            \
    }

#define WATCHED_PATTERN(type, field, parameters, arguments)                                                            \
    static type watch_##field parameters {                                                                             \
        note(PLACE(field));                                                                                            \
        check_pointer(#field, pattern, true);                                                                          \
        watch.real->field arguments;                                                                                   \
    }

WATCHED(wharf_type, type, (const wharf_value *value), (value))
WATCHED_POINTER(const wharf_value *, find, (const wharf_value *value, const char *pointer), (value, pointer))
WATCHED_POINTER(const wharf_value *, find_where,
                (const wharf_value *value, const char *pointer, const char *key, const char *text),
                (value, pointer, key, text))
WATCHED(const char *, string, (const wharf_value *value), (value))
WATCHED(int, boolean, (const wharf_value *value, int fallback), (value, fallback))
WATCHED(int64_t, integer, (const wharf_value *value, int64_t fallback), (value, fallback))
WATCHED(double, number, (const wharf_value *value, double fallback), (value, fallback))
WATCHED(size_t, count, (const wharf_value *value), (value))
WATCHED(const wharf_value *, first, (const wharf_value *value), (value))
WATCHED(const wharf_value *, next, (const wharf_value *item), (item))
WATCHED(const char *, name, (const wharf_value *member), (member))
WATCHED(int, equal, (const wharf_value *a, const wharf_value *b), (a, b))
WATCHED(wharf_value *, new_null, (const wharf_call *call), (call))
WATCHED(wharf_value *, new_boolean, (const wharf_call *call, int value), (call, value))
WATCHED(wharf_value *, new_integer, (const wharf_call *call, int64_t value), (call, value))
WATCHED(wharf_value *, new_string, (const wharf_call *call, const char *text), (call, text))
WATCHED(wharf_value *, new_array, (const wharf_call *call), (call))
WATCHED(wharf_value *, new_object, (const wharf_call *call), (call))
WATCHED(wharf_value *, copy, (const wharf_call *call, const wharf_value *value), (call, value))
WATCHED(wharf_value *, parse, (const wharf_call *call, const char *text, size_t len), (call, text, len))
WATCHED(const char *, print, (const wharf_call *call, const wharf_value *value, size_t *len), (call, value, len))
WATCHED_POINTER(int, is, (const wharf_value *value, const char *pointer, const char *text), (value, pointer, text))
WATCHED_PATTERN(void, set, (const wharf_call *call, wharf_value *root, const char *pattern, const wharf_value *value),
                (call, root, pattern, value))
WATCHED_PATTERN(void, set_string, (const wharf_call *call, wharf_value *root, const char *pattern, const char *text),
                (call, root, pattern, text))
WATCHED_PATTERN(void, set_integer, (const wharf_call *call, wharf_value *root, const char *pattern, int64_t value),
                (call, root, pattern, value))
WATCHED_PATTERN(void, set_boolean, (const wharf_call *call, wharf_value *root, const char *pattern, int value),
                (call, root, pattern, value))
WATCHED_PATTERN(void, take, (const wharf_call *call, wharf_value *root, const wharf_value *from, const char *pattern),
                (call, root, from, pattern))
WATCHED_POINTER(wharf_value *, edit, (const wharf_call *call, wharf_value *root, const char *pointer),
                (call, root, pointer))

static size_t watch_remove(const wharf_call *call, wharf_value *root, const char *pattern) {
    note(PLACE(remove));
    check_pointer("remove", pattern, true);
    return watch.real->remove(call, root, pattern);
}

WATCHED(void *, memory, (const wharf_call *call, size_t size), (call, size))
WATCHED(int, parse_time, (const char *text, int64_t *ns), (text, ns))
WATCHED(const char *, format_time, (const wharf_call *call, int64_t ns), (call, ns))
WATCHED(const wharf_value *, condition, (const wharf_value *object, const char *type, const char *status),
        (object, type, status))
WATCHED(wharf_value *, set_condition,
        (const wharf_call *call, wharf_value *object, const char *type, const char *status, const char *reason,
         const char *message),
        (call, object, type, status, reason, message))

static const char *watch_format(const wharf_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

static const char *watch_format(const wharf_call *call, const char *format, ...) {
    va_list args;
    note(PLACE(format));
    va_start(args, format);
    AUTO_TEXT text = text_vformat(format, args);
    va_end(args);
    return text ? watch.real->format(call, "%s", text) : NULL;
}

static void watch_log(const wharf_call *call, wharf_log_level level, const char *message) {
    note(PLACE(log));
    watch.real->log(call, level, message);
}

static const struct {
    size_t place;
    const char *name;
} names[] = {
    {PLACE(type), "type"},
    {PLACE(find), "find"},
    {PLACE(find_where), "find_where"},
    {PLACE(is), "is"},
    {PLACE(string), "string"},
    {PLACE(boolean), "boolean"},
    {PLACE(integer), "integer"},
    {PLACE(number), "number"},
    {PLACE(count), "count"},
    {PLACE(first), "first"},
    {PLACE(next), "next"},
    {PLACE(name), "name"},
    {PLACE(equal), "equal"},
    {PLACE(new_null), "new_null"},
    {PLACE(new_boolean), "new_boolean"},
    {PLACE(new_integer), "new_integer"},
    {PLACE(new_string), "new_string"},
    {PLACE(new_array), "new_array"},
    {PLACE(new_object), "new_object"},
    {PLACE(copy), "copy"},
    {PLACE(parse), "parse"},
    {PLACE(print), "print"},
    {PLACE(set), "set"},
    {PLACE(remove), "remove"},
    {PLACE(set_string), "set_string"},
    {PLACE(set_integer), "set_integer"},
    {PLACE(set_boolean), "set_boolean"},
    {PLACE(take), "take"},
    {PLACE(edit), "edit"},
    {PLACE(parse_time), "parse_time"},
    {PLACE(format_time), "format_time"},
    {PLACE(memory), "memory"},
    {PLACE(condition), "condition"},
    {PLACE(set_condition), "set_condition"},
    {PLACE(format), "format"},
    {PLACE(log), "log"},
};

void watch_services(struct run *run) {
    static wharf_host table;
    watch.real = services_table();
    watch.run = run;
    table = *watch.real;
    table.type = watch_type;
    table.find = watch_find;
    table.find_where = watch_find_where;
    table.is = watch_is;
    table.string = watch_string;
    table.boolean = watch_boolean;
    table.integer = watch_integer;
    table.number = watch_number;
    table.count = watch_count;
    table.first = watch_first;
    table.next = watch_next;
    table.name = watch_name;
    table.equal = watch_equal;
    table.new_null = watch_new_null;
    table.new_boolean = watch_new_boolean;
    table.new_integer = watch_new_integer;
    table.new_string = watch_new_string;
    table.new_array = watch_new_array;
    table.new_object = watch_new_object;
    table.copy = watch_copy;
    table.parse = watch_parse;
    table.print = watch_print;
    table.set = watch_set;
    table.remove = watch_remove;
    table.set_string = watch_set_string;
    table.set_integer = watch_set_integer;
    table.set_boolean = watch_set_boolean;
    table.take = watch_take;
    table.edit = watch_edit;
    table.parse_time = watch_parse_time;
    table.format_time = watch_format_time;
    table.memory = watch_memory;
    table.condition = watch_condition;
    table.set_condition = watch_set_condition;
    table.format = watch_format;
    table.log = watch_log;
    services_replace(&table);
}

const char *watch_used(char *out, size_t size) {
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (watch.used[names[i].place] && len < size)
            len += (size_t)snprintf(out + len, size - len, "%s%s", len > 0 ? ", " : "", names[i].name);
    return len > 0 ? out : "none";
}
