// SPDX-License-Identifier: Apache-2.0
// What an adapter does besides its answers: the services it calls, and calls into libc.
#include "core/conform/child.h"

#include "core/json/pointer.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <sched.h>

// -- services: the kit's versions of the functions in struct wharf_host record the use, check the pointer, and call the
// host's function --

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
    struct error *error = pointer_check(pointer, pattern);
    if (error)
        run_report(run, RULE_POINTER, run->board->function, pointer, "wharf_host.%s got \"%.200s\"", function, pointer);
    error_free(error);
}

// The services, in the order of the report: the check of an argument, the type of the result, the name, parameters,
// arguments. `format` has variable arguments and stands alone below.
#define CALL const wharf_call *call
#define VALUE const wharf_value *value
#define ROOT wharf_value *root
#define POINTER const char *pointer
#define PATTERN const char *pattern
#define TEXT const char *text
#define SERVICES(X)                                                                                                    \
    X(UNCHECKED, wharf_type, type, (VALUE), (value))                                                                   \
    X(AS_POINTER, const wharf_value *, find, (VALUE, POINTER), (value, pointer))                                       \
    X(AS_POINTER, const wharf_value *, find_where, (VALUE, POINTER, const char *key, TEXT),                            \
      (value, pointer, key, text))                                                                                     \
    X(AS_POINTER, int, is, (VALUE, POINTER, TEXT), (value, pointer, text))                                             \
    X(UNCHECKED, const char *, string, (VALUE), (value))                                                               \
    X(UNCHECKED, int, boolean, (VALUE, int fallback), (value, fallback))                                               \
    X(UNCHECKED, int64_t, integer, (VALUE, int64_t fallback), (value, fallback))                                       \
    X(UNCHECKED, double, number, (VALUE, double fallback), (value, fallback))                                          \
    X(UNCHECKED, size_t, count, (VALUE), (value))                                                                      \
    X(UNCHECKED, const wharf_value *, first, (VALUE), (value))                                                         \
    X(UNCHECKED, const wharf_value *, next, (const wharf_value *item), (item))                                         \
    X(UNCHECKED, const char *, name, (const wharf_value *member), (member))                                            \
    X(UNCHECKED, int, equal, (const wharf_value *a, const wharf_value *b), (a, b))                                     \
    X(UNCHECKED, wharf_value *, new_null, (CALL), (call))                                                              \
    X(UNCHECKED, wharf_value *, new_boolean, (CALL, int value), (call, value))                                         \
    X(UNCHECKED, wharf_value *, new_integer, (CALL, int64_t value), (call, value))                                     \
    X(UNCHECKED, wharf_value *, new_string, (CALL, TEXT), (call, text))                                                \
    X(UNCHECKED, wharf_value *, new_array, (CALL), (call))                                                             \
    X(UNCHECKED, wharf_value *, new_object, (CALL), (call))                                                            \
    X(UNCHECKED, wharf_value *, copy, (CALL, VALUE), (call, value))                                                    \
    X(UNCHECKED, wharf_value *, parse, (CALL, TEXT, size_t len), (call, text, len))                                    \
    X(UNCHECKED, const char *, print, (CALL, VALUE, size_t * len), (call, value, len))                                 \
    X(AS_PATTERN, void, set, (CALL, ROOT, PATTERN, VALUE), (call, root, pattern, value))                               \
    X(AS_PATTERN, size_t, remove, (CALL, ROOT, PATTERN), (call, root, pattern))                                        \
    X(AS_PATTERN, void, set_string, (CALL, ROOT, PATTERN, TEXT), (call, root, pattern, text))                          \
    X(AS_PATTERN, void, set_integer, (CALL, ROOT, PATTERN, int64_t value), (call, root, pattern, value))               \
    X(AS_PATTERN, void, set_boolean, (CALL, ROOT, PATTERN, int value), (call, root, pattern, value))                   \
    X(AS_PATTERN, void, take, (CALL, ROOT, const wharf_value *from, PATTERN), (call, root, from, pattern))             \
    X(AS_POINTER, wharf_value *, edit, (CALL, ROOT, POINTER), (call, root, pointer))                                   \
    X(UNCHECKED, int, parse_time, (TEXT, int64_t * ns), (text, ns))                                                    \
    X(UNCHECKED, const char *, format_time, (CALL, int64_t ns), (call, ns))                                            \
    X(UNCHECKED, void *, memory, (CALL, size_t size), (call, size))                                                    \
    X(UNCHECKED, const wharf_value *, condition, (VALUE, const char *type, const char *status), (value, type, status)) \
    X(UNCHECKED, wharf_value *, set_condition,                                                                         \
      (CALL, wharf_value * object, const char *type, const char *status, const char *reason, const char *message),     \
      (call, object, type, status, reason, message))                                                                   \
    X(COUNTED, void, log, (CALL, wharf_log_level level, const char *message), (call, level, message))

#define UNCHECKED(field)
#define COUNTED(field)                                                                                                 \
    watch.run->logged += watch.run->crowded ? 0 : 1;                                                                   \
    if (watch.run->confined)                                                                                           \
        return; // the log is a file
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
    asked_services(run, &table);
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

bool watch_newer(void) {
    bool any = false;
    for (size_t i = PLACE(log) + 1; i < sizeof(watch.used) / sizeof(watch.used[0]); i++)
        any |= watch.used[i];
    return any;
}

// -- calls into libc by which an adapter opens files, starts threads or processes, which the sandbox ends with the name
// of a system call, or reads a clock, which the sandbox allows. The program's symbols take precedence over those of
// libc, so such a call arrives here first: the kit reports the call together with the adapter's function, and then
// passes the call on, but starts no process --

#define OBJECTS_MAX 64
#define SAID_MAX 50

struct range {
    uintptr_t start, end;
};

// Static, since the functions of libc have no argument for the state.
static struct {
    struct run *run;
    struct range own[OBJECTS_MAX]; // of the program and its libraries
    size_t n_own;
    const struct tested *now; // the kind that the counts are of
    size_t said[N_FUNCTIONS]; // reports of each function, of this kind
} state;

static int note_object(struct dl_phdr_info *info, size_t size, void *ctx) {
    (void)size;
    (void)ctx;
    struct range range = {UINTPTR_MAX, 0};
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD)
            continue;
        range.start = start < range.start ? start : range.start;
        range.end = start + part->p_memsz > range.end ? start + part->p_memsz : range.end;
    }
    if (state.n_own < OBJECTS_MAX)
        state.own[state.n_own++] = range;
    return 0;
}

void intercept_start(struct run *run) {
    dl_iterate_phdr(note_object, NULL);
    state.run = run;
}

static bool is_foreign(const void *address) {
    for (size_t i = 0; i < state.n_own; i++)
        if ((uintptr_t)address >= state.own[i].start && (uintptr_t)address < state.own[i].end)
            return false;
    return state.run;
}

enum what { READS_CLOCK, DRAWS_RANDOM, OPENS, OPENS_AT, STARTS_THREAD, STARTS_PROCESS, STARTS_PIPE };

static const struct {
    enum rule rule;
    const char *words;
    size_t path; // number of the argument; 0: none
} kinds_of_calls[] = {
    [READS_CLOCK] = {RULE_CLOCK, "reads a clock", 0},
    [DRAWS_RANDOM] = {RULE_CLOCK, "draws a random number", 0},
    [OPENS] = {RULE_IO, "opens a file", 1},
    [OPENS_AT] = {RULE_IO, "opens a file", 2},
    [STARTS_THREAD] = {RULE_THREADS, "starts a thread", 0},
    [STARTS_PROCESS] = {RULE_THREADS, "starts a process", 0},
    [STARTS_PIPE] = {RULE_THREADS, "starts a process", 0},
};

// All arguments of these functions are integers and pointers, which can be passed on in any number.
typedef long word;
typedef word any_function(word a, word b, word c, word d, word e, word f);

static void report(enum what what, const char *name, word a, word b) {
    struct run *run = state.run;
    const char *path = (const char *)(const word[]){0, a, b}[kinds_of_calls[what].path];
    if (run->crowded)
        return; // reported often enough
    if (state.now != run->now)
        memset(state.said, 0, sizeof(state.said));
    state.now = run->now;
    if (state.said[run->board->function]++ >= SAID_MAX)
        return;
    run_report(run, kinds_of_calls[what].rule, run->board->function, name, "the adapter %s: %s(%s%.200s%s)",
               kinds_of_calls[what].words, name, path ? "\"" : "", path ? path : "", path ? "\"" : "");
}

static any_function *next_one(const char *name, any_function **known) {
    if (!*known) {
        void *found = dlsym(RTLD_NEXT, name);
        *known = (any_function *)found;
    }
    return *known;
}

// Other names avoid conflicts with the declarations in libc's headers.
#define INTERCEPTED(symbol, what)                                                                                      \
    __attribute__((visibility("default")))                                                                             \
    word intercept_##symbol(word a, word b, word c, word d, word e, word f) __asm__(#symbol);                          \
    word intercept_##symbol(word a, word b, word c, word d, word e, word f) {                                          \
        static any_function *known;                                                                                    \
        bool foreign = is_foreign(__builtin_return_address(0));                                                        \
        if (foreign)                                                                                                   \
            report(what, #symbol, a, b);                                                                               \
        if (foreign && ((what) == STARTS_PROCESS || (what) == STARTS_PIPE)) {                                          \
            errno = EPERM;                                                                                             \
            return (what) == STARTS_PROCESS ? -1 : 0;                                                                  \
        }                                                                                                              \
        any_function *next = next_one(#symbol, &known);                                                                \
        return next ? next(a, b, c, d, e, f) : -1;                                                                     \
    }

INTERCEPTED(time, READS_CLOCK)
INTERCEPTED(clock, READS_CLOCK)
INTERCEPTED(clock_gettime, READS_CLOCK)
INTERCEPTED(gettimeofday, READS_CLOCK)
INTERCEPTED(rand, DRAWS_RANDOM)
INTERCEPTED(random, DRAWS_RANDOM)
INTERCEPTED(getrandom, DRAWS_RANDOM)
INTERCEPTED(getentropy, DRAWS_RANDOM)
INTERCEPTED(open, OPENS)
INTERCEPTED(open64, OPENS)
INTERCEPTED(__open_2, OPENS)
INTERCEPTED(__open64_2, OPENS)
INTERCEPTED(openat, OPENS_AT)
INTERCEPTED(openat64, OPENS_AT)
INTERCEPTED(__openat_2, OPENS_AT)
INTERCEPTED(__openat64_2, OPENS_AT)
INTERCEPTED(creat, OPENS)
INTERCEPTED(creat64, OPENS)
INTERCEPTED(fopen, OPENS)
INTERCEPTED(fopen64, OPENS)
INTERCEPTED(freopen, OPENS)
INTERCEPTED(freopen64, OPENS)
INTERCEPTED(opendir, OPENS)
INTERCEPTED(pthread_create, STARTS_THREAD)
INTERCEPTED(fork, STARTS_PROCESS)
INTERCEPTED(system, STARTS_PROCESS)
INTERCEPTED(popen, STARTS_PIPE)
INTERCEPTED(execv, STARTS_PROCESS)
INTERCEPTED(execve, STARTS_PROCESS)
INTERCEPTED(execvp, STARTS_PROCESS)
INTERCEPTED(posix_spawn, STARTS_PROCESS)
INTERCEPTED(posix_spawnp, STARTS_PROCESS)
