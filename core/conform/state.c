// SPDX-License-Identifier: Apache-2.0
// Properties of a process that adapters must not change: in the host they are those of all adapters.
#include "core/conform/child.h"

#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#define N_SIGNALS 65
#define N_DESCRIPTORS 64
#define LAST_WORDS 200
#define FIRST_CALLS 20 // of a function in a child, after which everything is compared
#define THREAD_LOOKS 500
#define THREAD_LOOK_NS 1000000

// -- the properties, as hashes --

static uint64_t hash_bytes(const void *bytes, size_t len) {
    uint64_t hash = TEXT_HASH;
    for (size_t i = 0; i < len; i++)
        hash = hash_mix(hash, ((const unsigned char *)bytes)[i]);
    return hash;
}

static uint64_t rounding(void) {
    uint64_t hash = hash_mix((uint64_t)fegetround(), (uint64_t)fegetexcept());
#if defined(__SSE__)
    hash = hash_mix(hash, _mm_getcsr() & ~(unsigned)_MM_EXCEPT_MASK);
#endif
    return hash;
}

static uint64_t locale_names(void) {
    const char *name = setlocale(LC_ALL, NULL);
    return hash_mix(text_hash(TEXT_HASH, name ? name : ""), (uintptr_t)uselocale((locale_t)0));
}

static uint64_t environment(void) {
    uint64_t hash = TEXT_HASH;
    for (char **variable = environ; variable && *variable; variable++)
        hash = text_hash_local(hash_mix(hash, 1), *variable);
    return hash;
}

static uint64_t signal_mask(void) {
    sigset_t mask;
    uint64_t hash = TEXT_HASH;
    sigemptyset(&mask);
    sigprocmask(SIG_BLOCK, NULL, &mask);
    for (int i = 1; i < N_SIGNALS; i++)
        hash = hash_mix(hash, sigismember(&mask, i) == 1);
    return hash;
}

static uint64_t signal_stack(void) {
    stack_t stack = {.ss_size = 0};
    sigaltstack(NULL, &stack);
    return hash_mix((uintptr_t)stack.ss_sp, stack.ss_size);
}

static uint64_t directory(void) {
    char path[4096];
    return text_hash(TEXT_HASH, getcwd(path, sizeof(path)) ? path : "");
}

static uint64_t file_mode(void) {
    mode_t mask = umask(077);
    umask(mask);
    return mask;
}

static uint64_t limits(void) {
    uint64_t hash = TEXT_HASH;
    struct rlimit limit;
    for (int i = 0; i < RLIMIT_NLIMITS; i++)
        if (getrlimit((__rlimit_resource_t)i, &limit) == 0)
            hash = hash_mix(hash_mix(hash, limit.rlim_cur), limit.rlim_max);
    return hash;
}

static uint64_t priority(void) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    sched_getaffinity(0, sizeof(cpus), &cpus);
    return hash_mix(hash_mix((uint64_t)getpriority(PRIO_PROCESS, 0), (uint64_t)sched_getscheduler(0)),
                    hash_bytes(&cpus, sizeof(cpus)));
}

static uint64_t flags(void) {
    int parent = 0;
    char name[16] = "";
    prctl(PR_GET_PDEATHSIG, &parent);
    prctl(PR_GET_NAME, name);
    uint64_t hash = hash_mix((uint64_t)parent, text_hash(TEXT_HASH, name));
    static const int asked[] = {PR_GET_DUMPABLE,   PR_GET_KEEPCAPS,    PR_GET_NO_NEW_PRIVS,
                                PR_GET_TIMERSLACK, PR_GET_THP_DISABLE, PR_GET_SECCOMP};
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
        hash = hash_mix(hash, (uint64_t)prctl(asked[i], 0, 0, 0, 0));
    return hash;
}

static uint64_t timers(void) {
    static const __itimer_which_t all[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};
    uint64_t hash = TEXT_HASH;
    struct itimerval timer;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (getitimer(all[i], &timer) == 0)
            hash = hash_mix(hash, timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0);
    return hash;
}

static uint64_t user(void) {
    return hash_mix(hash_mix(geteuid(), getegid()), hash_mix(getuid(), getgid()));
}

static uint64_t services(void) {
    const wharf_host *table = services_table();
    return hash_bytes(table, sizeof(*table));
}

// 1: there are processes that this one has to wait for.
static uint64_t processes(void) {
    siginfo_t info = {.si_pid = 0};
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static const struct {
    const char *name;
    uint64_t (*read)(void);
    enum rule rule;
    enum state_depth depth; // from which on it is compared
} properties[] = {
    {"the rounding mode or the traps of floating-point numbers", rounding, RULE_STATE, STATE_OUTPUT},
    {"the locale", locale_names, RULE_STATE, STATE_OUTPUT},
    {"the environment", environment, RULE_STATE, STATE_CALL},
    {"the table of services, which is the host's", services, RULE_DATA, STATE_CALL},
    {"the signal mask", signal_mask, RULE_STATE, STATE_ALL},
    {"the stack for signal handlers", signal_stack, RULE_STATE, STATE_ALL},
    {"the working directory", directory, RULE_STATE, STATE_ALL},
    {"the umask", file_mode, RULE_STATE, STATE_ALL},
    {"a resource limit", limits, RULE_STATE, STATE_ALL},
    {"the priority or the set of processors", priority, RULE_STATE, STATE_ALL},
    {"a flag of prctl(2)", flags, RULE_STATE, STATE_ALL},
    {"a timer", timers, RULE_STATE, STATE_ALL},
    {"the user or the group", user, RULE_STATE, STATE_ALL},
    {"the set of child processes", processes, RULE_THREADS, STATE_ALL},
};

#define N_PROPERTIES (sizeof(properties) / sizeof(properties[0]))

// The last state; static, since too large for the stack.
static struct {
    uint64_t values[N_PROPERTIES];
    struct sigaction actions[N_SIGNALS];
    uint64_t descriptors[N_DESCRIPTORS]; // 0: closed
    uint64_t out;                        // the descriptor for findings
    size_t threads;
    int lowest_free; // descriptor
    off_t written;   // bytes, to standard output and error
    size_t calls[N_FUNCTIONS];
    bool known; // state_note is over
} last;

static void check_properties(struct run *run, enum function function, enum state_depth depth) {
    for (size_t i = 0; i < N_PROPERTIES; i++) {
        if (properties[i].depth > depth)
            continue;
        uint64_t before = last.values[i], now = last.values[i] = properties[i].read();
        if (now != before && last.known)
            run_report(run, properties[i].rule, function, properties[i].name, "%s is another one after the call",
                       properties[i].name);
    }
}

static void check_handlers(struct run *run, enum function function) {
    for (int i = 1; i < N_SIGNALS; i++) {
        struct sigaction before = last.actions[i];
        if (sigaction(i, NULL, &last.actions[i]) == 0 && last.known && last.actions[i].sa_handler != before.sa_handler)
            run_report(run, RULE_THREADS, function, "signal", "the handler of signal %d (%s) is another one", i,
                       strsignal(i));
    }
}

// -- threads, descriptors, output --

static size_t thread_count(void) {
    struct stat info;
    return stat("/proc/self/task", &info) == 0 ? (size_t)info.st_nlink : 0; // a folder each, and two more
}

// The final number of threads: a joined thread may still be in /proc for a moment.
static size_t lasting_threads(size_t before) {
    size_t count = thread_count();
    for (int i = 0; i < THREAD_LOOKS && count > before; i++, count = thread_count())
        nanosleep(&(struct timespec){.tv_nsec = THREAD_LOOK_NS}, NULL);
    return count;
}

static int lowest_free(void) {
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd;
}

static uint64_t identity(int fd) {
    struct stat info;
    return fstat(fd, &info) == 0 ? hash_mix(hash_mix(TEXT_HASH, info.st_dev), info.st_ino) : 0;
}

static void check_descriptors(struct run *run, enum function function) {
    for (int fd = 0; fd < N_DESCRIPTORS; fd++) {
        uint64_t before = last.descriptors[fd], now = last.descriptors[fd] = identity(fd);
        // The load itself keeps the adapter's file open.
        if (now == before || !last.known || (function == CALL_LOAD && before == 0))
            continue;
        const char *did = before == 0 ? "left a file or socket open"
                          : now == 0  ? "closed a file or socket of the host"
                                      : "replaced a file or socket of the host";
        run_report(run, RULE_IO, function, "descriptor", "%s: descriptor %d", did, fd);
    }
}

// Without its descriptor the child cannot report: the kit sees this on the board.
static void check_severed(const struct run *run) {
    if (identity(run->out) == last.out)
        return;
    run->board->severed = true;
    _exit(EXIT_FAILURE);
}

static off_t written(void) {
    struct stat info;
    return fstat(STDOUT_FILENO, &info) == 0 ? info.st_size : 0;
}

static void check_output(struct run *run, enum function function) {
    char words[LAST_WORDS + 1];
    off_t before = last.written, now = last.written = written();
    size_t size = now - before < LAST_WORDS ? (size_t)(now - before) : LAST_WORDS;
    ssize_t len = now > before ? pread(STDOUT_FILENO, words, size, before) : 0;
    words[len > 0 ? len : 0] = '\0';
    if (len > 0)
        run_report(run, RULE_IO, function, "output", "wrote to standard output or error: \"%s\"", words);
}

static void check_threads(struct run *run, enum function function) {
    size_t before = last.threads;
    last.threads = lasting_threads(before);
    if (last.threads > before)
        run_report(run, RULE_THREADS, function, "thread", "started %zu threads that still run", last.threads - before);
}

void state_note(struct run *run) {
    last.known = false;
    last.out = identity(run->out);
    last.threads = thread_count();
    last.lowest_free = lowest_free();
    last.written = written();
    check_properties(run, CALL_LOAD, STATE_ALL);
    check_handlers(run, CALL_LOAD);
    check_descriptors(run, CALL_LOAD);
    last.known = true;
}

void state_check(struct run *run, enum function function, enum state_depth depth) {
    if (depth == STATE_CALL && last.calls[function]++ < FIRST_CALLS)
        depth = STATE_ALL;
    if (run->confined) {
        check_properties(run, function, depth < STATE_ALL ? depth : STATE_CALL);
        return;
    }
    check_severed(run);
    check_output(run, function);
    check_properties(run, function, depth);
    if (depth == STATE_OUTPUT)
        return;
    check_threads(run, function);
    int free_before = last.lowest_free;
    last.lowest_free = lowest_free();
    if (depth == STATE_ALL || last.lowest_free != free_before)
        check_descriptors(run, function);
    if (depth == STATE_ALL)
        check_handlers(run, function);
}
