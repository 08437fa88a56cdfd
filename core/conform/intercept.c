// SPDX-License-Identifier: Apache-2.0
#include "core/conform/child.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

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

enum what {
    READS_CLOCK,
    DRAWS_RANDOM,
    OPENS,
    OPENS_AT,
    CONNECTS,
    WAITS,
    STARTS_THREAD,
    STARTS_PROCESS,
    STARTS_PIPE,
    SETS_SIGNAL,
    SETS_ACTION
};

static const struct {
    enum rule rule;
    const char *words;
} kinds_of_calls[] = {
    [READS_CLOCK] = {RULE_CLOCK, "reads a clock"},
    [DRAWS_RANDOM] = {RULE_CLOCK, "draws a random number"},
    [OPENS] = {RULE_IO, "opens a file"},
    [OPENS_AT] = {RULE_IO, "opens a file"},
    [CONNECTS] = {RULE_IO, "uses the network"},
    [WAITS] = {RULE_IO, "waits"},
    [STARTS_THREAD] = {RULE_THREADS, "starts a thread"},
    [STARTS_PROCESS] = {RULE_THREADS, "starts a process"},
    [STARTS_PIPE] = {RULE_THREADS, "starts a process"},
    [SETS_SIGNAL] = {RULE_THREADS, "sets a signal handler"},
    [SETS_ACTION] = {RULE_THREADS, "sets a signal handler"},
};

static void report(enum what what, const char *name, const char *path) {
    struct run *run = state.run;
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

// All arguments of these functions are integers and pointers, which can be passed on in any number.
typedef long word;
typedef word any_function(word a, word b, word c, word d, word e, word f);

static any_function *next_one(const char *name, any_function **known) {
    if (!*known) {
        void *found = dlsym(RTLD_NEXT, name);
        *known = (any_function *)found;
    }
    return *known;
}

static const char *path_of(enum what what, word a, word b) {
    return what == OPENS ? (const char *)a : what == OPENS_AT ? (const char *)b : NULL;
}

// Other names avoid conflicts with the declarations in libc's headers.
#define INTERCEPTED(symbol, what)                                                                                      \
    __attribute__((visibility("default")))                                                                             \
    word intercept_##symbol(word a, word b, word c, word d, word e, word f) __asm__(#symbol);                          \
    word intercept_##symbol(word a, word b, word c, word d, word e, word f) {                                          \
        static any_function *known;                                                                                    \
        bool foreign = is_foreign(__builtin_return_address(0));                                                        \
        if (foreign && ((what) != SETS_ACTION || b != 0))                                                              \
            report(what, #symbol, path_of(what, a, b));                                                                \
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
INTERCEPTED(socket, CONNECTS)
INTERCEPTED(getaddrinfo, CONNECTS)
INTERCEPTED(sleep, WAITS)
INTERCEPTED(usleep, WAITS)
INTERCEPTED(nanosleep, WAITS)
INTERCEPTED(clock_nanosleep, WAITS)
INTERCEPTED(pthread_create, STARTS_THREAD)
INTERCEPTED(fork, STARTS_PROCESS)
INTERCEPTED(system, STARTS_PROCESS)
INTERCEPTED(popen, STARTS_PIPE)
INTERCEPTED(execv, STARTS_PROCESS)
INTERCEPTED(execve, STARTS_PROCESS)
INTERCEPTED(execvp, STARTS_PROCESS)
INTERCEPTED(posix_spawn, STARTS_PROCESS)
INTERCEPTED(posix_spawnp, STARTS_PROCESS)
INTERCEPTED(signal, SETS_SIGNAL)
INTERCEPTED(sigaction, SETS_ACTION)
