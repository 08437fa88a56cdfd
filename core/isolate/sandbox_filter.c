// SPDX-License-Identifier: Apache-2.0
// The system calls of each phase: what is not allowed is a SIGSYS, whose handler reports the name. Both filters are
// made before the first applies, since making one needs more than the first allows; the second narrows the first.
#include "core/isolate/sandbox.h"

#include "core/base/text.h"
#include "core/isolate/sandbox_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef SYS_SECCOMP
#define SYS_SECCOMP 1 // si_code
#endif
#ifndef SECCOMP_FILTER_FLAG_SPEC_ALLOW
#define SECCOMP_FILTER_FLAG_SPEC_ALLOW 4UL
#endif

#define CALLS_MAX 512 // more have no name
#define PROGRAM_MAX 4096
#define FUTEX_WAKE_COMMAND 1
#define FUTEX_COMMANDS 127

static struct {
    struct sock_fprog calls; // the filter of the second phase; len 0: none
    unsigned flags;          // of seccomp(2)
    const char *path;        // opened as a duplicate of `file`; NULL: as the kernel opens it
    int file;
    char *names[CALLS_MAX];
    void (*report)(const char *name);
} filter;

// -- architectures --

// The arguments of the system call in the context of the signal, and its result.
#if defined(__x86_64__)
#define CAN_EMULATE true
static const int argument_places[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10};
#define ARGUMENT(context, n) ((uintptr_t)(context)->uc_mcontext.gregs[argument_places[n]])
#define RESULT(context) ((context)->uc_mcontext.gregs[REG_RAX])
#elif defined(__aarch64__)
#define CAN_EMULATE true
#define ARGUMENT(context, n) ((uintptr_t)(context)->uc_mcontext.regs[n])
#define RESULT(context) ((context)->uc_mcontext.regs[0])
#else
#define CAN_EMULATE false
#define ARGUMENT(context, n) ((void)(context), (uintptr_t)0)
#endif

// -- rules --

struct rules {
    scmp_filter_ctx context;
    int failure; // the first error number
};

// Conditions on argument `n`.
#define IS(n, value)                                                                                                   \
    { .arg = (n), .op = SCMP_CMP_EQ, .datum_a = (uint64_t)(value) }
#define UP_TO(n, value)                                                                                                \
    { .arg = (n), .op = SCMP_CMP_LE, .datum_a = (uint64_t)(value) }
#define ABOVE(n, value)                                                                                                \
    { .arg = (n), .op = SCMP_CMP_GT, .datum_a = (uint64_t)(value) }
#define BITS(n, mask, value)                                                                                           \
    { .arg = (n), .op = SCMP_CMP_MASKED_EQ, .datum_a = (uint64_t)(mask), .datum_b = (uint64_t)(value) }
#define RULE(rules, action, call, ...)                                                                                 \
    add((rules), (action), (call), (const struct scmp_arg_cmp[]){__VA_ARGS__},                                         \
        sizeof(const struct scmp_arg_cmp[]){__VA_ARGS__} / sizeof(struct scmp_arg_cmp))

// Negative numbers are system calls that this architecture does not have.
static void add(struct rules *rules, uint32_t action, int call, const struct scmp_arg_cmp *conditions, size_t count) {
    if (call < 0 || rules->failure != 0)
        return;
    rules->failure = -seccomp_rule_add_array(rules->context, action, call, (unsigned)count, conditions);
}

static void add_always(struct rules *rules, const int *calls, size_t count) {
    for (size_t i = 0; i < count; i++)
        add(rules, SCMP_ACT_ALLOW, calls[i], NULL, 0);
}

static void add_channel(struct rules *rules, int channel) {
    static const int calls[] = {SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(readv), SCMP_SYS(writev), SCMP_SYS(recvfrom)};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        RULE(rules, SCMP_ACT_ALLOW, calls[i], IS(0, channel));
        if (calls[i] >= 0)
            (void)seccomp_syscall_priority(rules->context, calls[i], UINT8_MAX);
    }
    RULE(rules, SCMP_ACT_ALLOW, SCMP_SYS(sendto), IS(0, channel), IS(4, 0));
}

// printf and assert() find their descriptors closed. A negative descriptor is a large number here.
static void add_standard_descriptors(struct rules *rules) {
    static const int calls[] = {SCMP_SYS(read),    SCMP_SYS(write),   SCMP_SYS(writev), SCMP_SYS(ioctl),
                                SCMP_SYS(lseek),   SCMP_SYS(_llseek), SCMP_SYS(fstat),  SCMP_SYS(newfstatat),
                                SCMP_SYS(fstat64), SCMP_SYS(statx)};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        RULE(rules, SCMP_ACT_ERRNO(EBADF), calls[i], UP_TO(0, STDERR_FILENO));
}

static void add_memory(struct rules *rules) {
    static const int calls[] = {SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise)};
    const int maps[] = {SCMP_SYS(mmap), SCMP_SYS(mmap2)};
    add_always(rules, calls, sizeof calls / sizeof calls[0]);
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++)
        RULE(rules, SCMP_ACT_ALLOW, maps[i], BITS(2, PROT_EXEC, 0),
             BITS(3, MAP_ANONYMOUS | MAP_PRIVATE, MAP_ANONYMOUS | MAP_PRIVATE));
    RULE(rules, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), BITS(2, PROT_EXEC, 0));
}

// abort() and failed assertions: SIGABRT to this process; abort() unblocks the signal first.
static void add_abort(struct rules *rules) {
    RULE(rules, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), IS(0, getpid()), IS(2, SIGABRT));
    RULE(rules, SCMP_ACT_ALLOW, SCMP_SYS(tkill), IS(0, syscall(SYS_gettid)), IS(1, SIGABRT));
    add(rules, SCMP_ACT_ERRNO(0), SCMP_SYS(rt_sigprocmask), NULL, 0);
}

// In both phases. A lock that is free needs no system call, and whoever frees one may wake; only a deadlock waits.
static void add_common(struct rules *rules, int channel) {
    static const int calls[] = {SCMP_SYS(exit),
                                SCMP_SYS(exit_group),
                                SCMP_SYS(rt_sigreturn),
                                SCMP_SYS(sigreturn),
                                SCMP_SYS(restart_syscall),
                                SCMP_SYS(clock_gettime),
                                SCMP_SYS(clock_gettime64),
                                SCMP_SYS(gettimeofday),
                                SCMP_SYS(time),
                                SCMP_SYS(getrandom),
                                SCMP_SYS(getpid),
                                SCMP_SYS(gettid)};
    add_always(rules, calls, sizeof calls / sizeof calls[0]);
    add_channel(rules, channel);
    add_standard_descriptors(rules);
    add_memory(rules);
    add_abort(rules);
    RULE(rules, SCMP_ACT_ALLOW, SCMP_SYS(futex), BITS(1, FUTEX_COMMANDS, FUTEX_WAKE_COMMAND));
    RULE(rules, SCMP_ACT_ALLOW, SCMP_SYS(futex_time64), BITS(1, FUTEX_COMMANDS, FUTEX_WAKE_COMMAND));
}

// Where the handler opens nothing: to read only. Without Landlock the adapter could then read files while it loads.
static void add_open(struct rules *rules) {
    const unsigned kept = O_ACCMODE | O_CREAT | O_TRUNC;
    RULE(rules, SCMP_ACT_ALLOW, SCMP_SYS(open), BITS(1, kept, O_RDONLY));
    RULE(rules, SCMP_ACT_ALLOW, SCMP_SYS(openat), BITS(2, kept, O_RDONLY));
    RULE(rules, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), ABOVE(0, STDERR_FILENO));
    RULE(rules, SCMP_ACT_ALLOW, SCMP_SYS(fstatat64), ABOVE(0, STDERR_FILENO));
}

// The dynamic linker with a file, and the second phase. Memory with execute permission is a file's, and not writable.
static void add_load(struct rules *rules) {
    static const int calls[] = {SCMP_SYS(pread64), SCMP_SYS(close)};
    static const int descriptors[] = {SCMP_SYS(read), SCMP_SYS(lseek), SCMP_SYS(_llseek), SCMP_SYS(fstat),
                                      SCMP_SYS(fstat64)};
    const int maps[] = {SCMP_SYS(mmap), SCMP_SYS(mmap2)};
    add_always(rules, calls, sizeof calls / sizeof calls[0]);
    for (size_t i = 0; i < sizeof descriptors / sizeof descriptors[0]; i++)
        RULE(rules, SCMP_ACT_ALLOW, descriptors[i], ABOVE(0, STDERR_FILENO));
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        RULE(rules, SCMP_ACT_ALLOW, maps[i], BITS(2, PROT_EXEC, 0), BITS(3, MAP_PRIVATE, MAP_PRIVATE));
        RULE(rules, SCMP_ACT_ALLOW, maps[i], BITS(2, PROT_WRITE, 0), BITS(3, MAP_ANONYMOUS | MAP_PRIVATE, MAP_PRIVATE));
    }
    if (CAN_EMULATE)
        RULE(rules, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), IS(1, F_DUPFD_CLOEXEC));
    else
        add_open(rules);
    RULE(rules, SCMP_ACT_ALLOW, SCMP_SYS(prctl), IS(0, PR_SET_DUMPABLE), IS(1, 0));
    RULE(rules, SCMP_ACT_ALLOW, SCMP_SYS(seccomp), IS(0, SECCOMP_SET_MODE_FILTER));
}

// -- programs --

static struct error *read_program(int fd, struct sock_fprog *out) {
    struct sock_filter *program = calloc(PROGRAM_MAX, sizeof *program);
    size_t len = 0, size = PROGRAM_MAX * sizeof *program;
    ssize_t got = 1;
    if (!program)
        return error_no_memory();
    while (got > 0 && len < size) {
        got = read(fd, (char *)program + len, size - len);
        len += got > 0 ? (size_t)got : 0;
    }
    *out = (struct sock_fprog){.len = (unsigned short)(len / sizeof *program), .filter = program};
    return got == 0 && len > 0 ? NULL : error_new(ERROR_INTERNAL, "the filter of system calls is too long");
}

// Through a pipe, which holds more than a filter has.
static struct error *export(struct rules *rules, struct sock_fprog *out) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_new(ERROR_IO, "cannot make a pipe: %s", strerror(errno));
    int failure = rules->failure != 0 ? rules->failure : -seccomp_export_bpf(rules->context, ends[1]);
    close(ends[1]);
    struct error *error =
        failure == 0 ? read_program(ends[0], out)
                     : error_new(ERROR_INTERNAL, "cannot make the filter of system calls: %s", strerror(failure));
    close(ends[0]);
    return error;
}

static struct error *make_program(int channel, bool load, struct sock_fprog *out) {
    struct rules rules = {.context = seccomp_init(SCMP_ACT_TRAP)};
    if (!rules.context)
        return error_no_memory();
    add_common(&rules, channel);
    if (load)
        add_load(&rules);
    struct error *error = export(&rules, out);
    seccomp_release(rules.context);
    return error;
}

// For all threads. Without SPEC_ALLOW earlier kernels slow the process down to keep its secrets, of which it has none.
static bool install(const struct sock_fprog *program) {
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, filter.flags, program) == 0;
}

// -- the handler --

void sandbox_on_forbidden(void (*report)(const char *name)) {
    filter.report = report;
}

#if CAN_EMULATE
static long result_of(long returned) {
    return returned < 0 ? -errno : returned;
}

static bool is_our_path(const ucontext_t *context, size_t argument) {
    return filter.path && strcmp((const char *)ARGUMENT(context, argument), filter.path) == 0;
}

// What the dynamic linker does with the file, while it loads: an open, and a stat of a descriptor in its newer form.
static bool emulate(int call, ucontext_t *context) {
    if ((call == SCMP_SYS(openat) && is_our_path(context, 1)) || (call == SCMP_SYS(open) && is_our_path(context, 0)))
        RESULT(context) = result_of(fcntl(filter.file, F_DUPFD_CLOEXEC, 0));
    else if (call == SCMP_SYS(newfstatat) && filter.path && *(const char *)ARGUMENT(context, 1) == '\0')
        RESULT(context) = result_of(syscall(SYS_fstat, ARGUMENT(context, 0), ARGUMENT(context, 2)));
    else
        return false;
    return true;
}
#else
static bool emulate(int call, ucontext_t *context) {
    (void)call, (void)context;
    return false;
}
#endif

static const char *name_of(int call, char *room, size_t size) {
    if (call >= 0 && call < CALLS_MAX && filter.names[call])
        return filter.names[call];
    char digits[16], *at = digits + sizeof digits;
    unsigned number = (unsigned)call;
    *--at = '\0';
    do
        *--at = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    text_copy(room, size, "system call ");
    text_copy(room + strlen(room), size - strlen(room), at);
    return room;
}

static void on_forbidden(int number, siginfo_t *info, void *context) {
    char room[64];
    int kept = errno;
    (void)number;
    if (info->si_code == SYS_SECCOMP && emulate(info->si_syscall, context)) {
        errno = kept;
        return;
    }
    if (filter.report)
        filter.report(info->si_code == SYS_SECCOMP ? name_of(info->si_syscall, room, sizeof room) : "SIGSYS");
    // A SIGSYS while SIGSYS is blocked, as it is here, ends the process.
    (void)syscall(SYS_getppid);
    _exit(128 + SIGSYS);
}

static struct error *prepare_handler(void) {
    struct sigaction action = {.sa_sigaction = on_forbidden, .sa_flags = SA_SIGINFO};
    for (int call = 0; call < CALLS_MAX; call++)
        filter.names[call] = seccomp_syscall_resolve_num_arch(seccomp_arch_native(), call);
    if (sigaction(SIGSYS, &action, NULL) != 0)
        return error_new(ERROR_IO, "cannot handle SIGSYS: %s", strerror(errno));
    return NULL;
}

// -- phases --

static bool install_first(const struct sock_fprog *program) {
    filter.flags = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    if (install(program))
        return true;
    filter.flags = SECCOMP_FILTER_FLAG_TSYNC;
    return errno == EINVAL && install(program);
}

struct error *sandbox_filter_load(int file, const char *path, int channel, struct problems *missing, bool *opens) {
    struct sock_fprog load = {0};
    if (SANDBOX_SANITIZED) {
        problems_add(missing, "seccomp: not in a build with sanitizers");
        return NULL;
    }
    TRY(prepare_handler());
    TRY(make_program(channel, true, &load));
    TRY(make_program(channel, false, &filter.calls));
    filter.file = file;
    filter.path = CAN_EMULATE ? path : NULL;
    if (install_first(&load)) {
        *opens = CAN_EMULATE;
    } else {
        problems_add(missing, "seccomp: refused by this kernel or container (%s)", strerror(errno));
        filter.calls.len = 0;
    }
    free(load.filter);
    return NULL;
}

struct error *sandbox_filter_calls(void) {
    filter.path = NULL;
    if (filter.calls.len > 0 && !install(&filter.calls))
        return error_new(ERROR_IO, "cannot restrict system calls further: %s", strerror(errno));
    return NULL;
}
