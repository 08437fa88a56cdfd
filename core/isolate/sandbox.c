// SPDX-License-Identifier: Apache-2.0
#include "core/isolate/sandbox.h"

#include "core/isolate/sandbox_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65 // Linux 6.3
#endif
#ifndef PR_MDWE_REFUSE_EXEC_GAIN
#define PR_MDWE_REFUSE_EXEC_GAIN 1UL
#endif

#define DESCRIPTORS 16
#define STACK_MAX ((rlim_t)8 << 20)
#define MAPPED_UNKNOWN ((rlim_t)256 << 20) // where /proc cannot be read

// -- limits --

#ifdef __GLIBC__
typedef __rlimit_resource_t limit_kind; // an enum
#else
typedef int limit_kind;
#endif

static struct error *limit_to(limit_kind resource, const char *name, rlim_t value) {
    struct rlimit now;
    if (getrlimit(resource, &now) == 0 && now.rlim_max < value)
        value = now.rlim_max;
    if (setrlimit(resource, &(struct rlimit){value, value}) == 0)
        return NULL;
    return error_new(ERROR_IO, "cannot limit %s: %s", name, strerror(errno));
}

// Bytes of mapped memory. The first number of statm is pages (proc_pid_statm(5)).
static rlim_t mapped_bytes(void) {
    char text[256];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[len > 0 ? len : 0] = '\0';
    rlim_t pages = strtoul(text, NULL, 10);
    return pages > 0 ? pages * (rlim_t)sysconf(_SC_PAGESIZE) : MAPPED_UNKNOWN;
}

static struct error *limit_memory(size_t bytes, struct problems *missing) {
    if (SANDBOX_SANITIZED) {
        problems_add(missing, "limit of memory: not in a build with sanitizers");
        return NULL;
    }
    rlim_t limit = mapped_bytes() + bytes;
    TRY(limit_to(RLIMIT_AS, "the address space", limit));
    return limit_to(RLIMIT_DATA, "memory", limit);
}

// SIGXCPU at the soft limit ends the process, since no handler or mask can be set later. The parent moves the soft
// limit on; the hard one stays, since only a privileged parent could raise it.
static struct error *limit_cpu(unsigned seconds) {
    struct rlimit limit;
    if (seconds == 0)
        return NULL;
    if (getrlimit(RLIMIT_CPU, &limit) != 0)
        return error_new(ERROR_IO, "cannot read the limit of processor time: %s", strerror(errno));
    limit.rlim_cur = seconds < limit.rlim_max ? seconds : limit.rlim_max;
    if (setrlimit(RLIMIT_CPU, &limit) != 0)
        return error_new(ERROR_IO, "cannot limit processor time: %s", strerror(errno));
    return NULL;
}

// -- the process --

// The parent's threads block signals, and the parent may ignore some; a new program inherits both. The signals of a
// broken call end the process.
static void reset_signals(void) {
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGXCPU, SIGXFSZ};
    sigset_t none;
    for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++)
        (void)signal(deadly[i], SIG_DFL);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void drop_capabilities(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    (void)syscall(SYS_capset, &header, none);
}

static int compare_bytes(const void *a, const void *b) {
    return *(const char *)a - *(const char *)b;
}

// Has the C library read its files now: the time zone (without TZ glibc reads it at each use), and the size of the
// memory (glibc before 2.37 needs the size to sort).
static struct error *prepare_libc(void) {
    char letters[4096];
    if (clearenv() != 0 || setenv("TZ", ":/etc/localtime", 1) != 0)
        return error_no_memory();
    tzset();
    memset(letters, 'a', sizeof letters);
    qsort(letters, sizeof letters, 1, compare_bytes);
    return NULL;
}

struct error *sandbox_limits(const struct sandbox_limits *limits, struct problems *missing) {
    reset_signals();
    TRY(prepare_libc());
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return error_new(ERROR_IO, "cannot give up new privileges: %s", strerror(errno));
    TRY(limit_to(RLIMIT_CORE, "core dumps", 0));
    if (!SANDBOX_SANITIZED) // a sanitizer's report may go to a file
        TRY(limit_to(RLIMIT_FSIZE, "the size of files", 0));
    TRY(limit_to(RLIMIT_NPROC, "processes", 0));
    TRY(limit_to(RLIMIT_MEMLOCK, "locked memory", 0));
    TRY(limit_to(RLIMIT_NOFILE, "descriptors", DESCRIPTORS));
    TRY(limit_to(RLIMIT_STACK, "the stack", STACK_MAX));
    TRY(limit_cpu(limits->cpu_s));
    TRY(limit_memory(limits->memory, missing));
    drop_capabilities();
    return NULL;
}

// -- phases --

// Other processes of the user cannot trace one that is not dumpable, and its /proc/self belongs to root.
static struct error *set_dumpable(bool dumpable) {
    if (prctl(PR_SET_DUMPABLE, dumpable ? 1 : 0, 0, 0, 0) != 0)
        return error_new(ERROR_IO, "cannot forbid dumps: %s", strerror(errno));
    return NULL;
}

struct error *sandbox_for_load(int file, const char *path, int channel, struct problems *missing) {
    bool opens = false;
    TRY(sandbox_load_libraries(file));
    if (lseek(file, 0, SEEK_SET) != 0) // the dynamic linker reads on from there
        return error_new(ERROR_IO, "cannot read the adapter: %s", strerror(errno));
    (void)prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0); // counts where the filter is refused
    sandbox_landlock(missing);
    TRY(set_dumpable(false));
    TRY(sandbox_filter_load(file, path, channel, missing, &opens));
    return opens ? NULL : set_dumpable(true); // the kernel has to open the path in /proc/self
}

struct error *sandbox_for_calls(void) {
    TRY(set_dumpable(false));
    return sandbox_filter_calls();
}
