// SPDX-License-Identifier: Apache-2.0
// The kit's versions of the functions in struct wharf_host: each records the use, checks the pointer, and calls the
// host's function.
#include "core/base/text.h"
#include "core/conform/child.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define YIELD_EVERY 3 // services, in a test with several threads

// Static, since not every function of the table has a call as an argument.
static struct {
    const wharf_host *real;
    struct run *run;
    bool used[sizeof(wharf_host) / sizeof(void *)]; // by the place in the struct
} watch;

#define PLACE(field) (offsetof(wharf_host, field) / sizeof(void *))

// The host calls its functions between calls, too.
static void record_use(size_t place) {
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
        run_report(run, RULE_POINTER, run->board->function, pointer, "wharf_host.%s got \"%.200s\"", function, pointer);
}

// The services, in the order of the report: the check of an argument, the type of the result, the name, parameters,
// arguments. `format` has variable arguments and stands alone below.
#define SERVICES(X)                                                                                                    \
    X(UNCHECKED, wharf_type, type, (const wharf_value *value), (value))                                                \
    X(AS_POINTER, const wharf_value *, find, (const wharf_value *value, const char *pointer), (value, pointer))        \
    X(AS_POINTER, const wharf_value *, find_where,                                                                     \
      (const wharf_value *value, const char *pointer, const char *key, const char *text), (value, pointer, key, text)) \
    X(AS_POINTER, int, is, (const wharf_value *value, const char *pointer, const char *text), (value, pointer, text))  \
    X(UNCHECKED, const char *, string, (const wharf_value *value), (value))                                            \
    X(UNCHECKED, int, boolean, (const wharf_value *value, int fallback), (value, fallback))                            \
    X(UNCHECKED, int64_t, integer, (const wharf_value *value, int64_t fallback), (value, fallback))                    \
    X(UNCHECKED, double, number, (const wharf_value *value, double fallback), (value, fallback))                       \
    X(UNCHECKED, size_t, count, (const wharf_value *value), (value))                                                   \
    X(UNCHECKED, const wharf_value *, first, (const wharf_value *value), (value))                                      \
    X(UNCHECKED, const wharf_value *, next, (const wharf_value *item), (item))                                         \
    X(UNCHECKED, const char *, name, (const wharf_value *member), (member))                                            \
    X(UNCHECKED, int, equal, (const wharf_value *a, const wharf_value *b), (a, b))                                     \
    X(UNCHECKED, wharf_value *, new_null, (const wharf_call *call), (call))                                            \
    X(UNCHECKED, wharf_value *, new_boolean, (const wharf_call *call, int value), (call, value))                       \
    X(UNCHECKED, wharf_value *, new_integer, (const wharf_call *call, int64_t value), (call, value))                   \
    X(UNCHECKED, wharf_value *, new_string, (const wharf_call *call, const char *text), (call, text))                  \
    X(UNCHECKED, wharf_value *, new_array, (const wharf_call *call), (call))                                           \
    X(UNCHECKED, wharf_value *, new_object, (const wharf_call *call), (call))                                          \
    X(UNCHECKED, wharf_value *, copy, (const wharf_call *call, const wharf_value *value), (call, value))               \
    X(UNCHECKED, wharf_value *, parse, (const wharf_call *call, const char *text, size_t len), (call, text, len))      \
    X(UNCHECKED, const char *, print, (const wharf_call *call, const wharf_value *value, size_t *len),                 \
      (call, value, len))                                                                                              \
    X(AS_PATTERN, void, set,                                                                                           \
      (const wharf_call *call, wharf_value *root, const char *pattern, const wharf_value *value),                      \
      (call, root, pattern, value))                                                                                    \
    X(AS_PATTERN, size_t, remove, (const wharf_call *call, wharf_value *root, const char *pattern),                    \
      (call, root, pattern))                                                                                           \
    X(AS_PATTERN, void, set_string,                                                                                    \
      (const wharf_call *call, wharf_value *root, const char *pattern, const char *text), (call, root, pattern, text)) \
    X(AS_PATTERN, void, set_integer, (const wharf_call *call, wharf_value *root, const char *pattern, int64_t value),  \
      (call, root, pattern, value))                                                                                    \
    X(AS_PATTERN, void, set_boolean, (const wharf_call *call, wharf_value *root, const char *pattern, int value),      \
      (call, root, pattern, value))                                                                                    \
    X(AS_PATTERN, void, take,                                                                                          \
      (const wharf_call *call, wharf_value *root, const wharf_value *from, const char *pattern),                       \
      (call, root, from, pattern))                                                                                     \
    X(AS_POINTER, wharf_value *, edit, (const wharf_call *call, wharf_value *root, const char *pointer),               \
      (call, root, pointer))                                                                                           \
    X(UNCHECKED, int, parse_time, (const char *text, int64_t *ns), (text, ns))                                         \
    X(UNCHECKED, const char *, format_time, (const wharf_call *call, int64_t ns), (call, ns))                          \
    X(UNCHECKED, void *, memory, (const wharf_call *call, size_t size), (call, size))                                  \
    X(UNCHECKED, const wharf_value *, condition, (const wharf_value *object, const char *type, const char *status),    \
      (object, type, status))                                                                                          \
    X(UNCHECKED, wharf_value *, set_condition,                                                                         \
      (const wharf_call *call, wharf_value *object, const char *type, const char *status, const char *reason,          \
       const char *message),                                                                                           \
      (call, object, type, status, reason, message))                                                                   \
    X(UNCHECKED, void, log, (const wharf_call *call, wharf_log_level level, const char *message),                      \
      (call, level, message))

#define UNCHECKED(field)
#define AS_POINTER(field) check_pointer(#field, pointer, false);
#define AS_PATTERN(field) check_pointer(#field, pattern, true);

#define WATCHED(check, type, field, parameters, arguments)                                                             \
    static type watch_##field parameters {                                                                             \
        record_use(PLACE(field));                                                                                      \
        check(field) return watch.real->field arguments;                                                               \
    }

SERVICES(WATCHED)

static const char *watch_format(const wharf_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

static const char *watch_format(const wharf_call *call, const char *format, ...) {
    va_list args;
    record_use(PLACE(format));
    va_start(args, format);
    AUTO_TEXT text = text_vformat(format, args);
    va_end(args);
    return text ? watch.real->format(call, "%s", text) : NULL;
}

#define NAMED(check, type, field, parameters, arguments) {PLACE(field), #field},

static const struct {
    size_t place;
    const char *name;
} names[] = {SERVICES(NAMED){PLACE(format), "format"}};

void watch_services(struct run *run) {
    static wharf_host table;
    watch.real = services_table();
    watch.run = run;
    table = *watch.real;
#define REPLACED(check, type, field, parameters, arguments) table.field = watch_##field;
    SERVICES(REPLACED)
    table.format = watch_format;
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
