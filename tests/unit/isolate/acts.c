// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/isolate/acts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <locale.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

// The result is not used: the call does not return.
static void try(long result) {
    (void)result;
}

static void *nothing(void *arg) {
    return arg;
}

static void on_signal(int number) {
    (void)number;
}

static void open_socket(void) {
    try(socket(AF_INET, SOCK_STREAM, 0));
}

static void open_pair(void) {
    int ends[2];
    try(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
}

static void connect_channel(void) {
    const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/run/x"};
    try(connect(3, (const struct sockaddr *)&address, sizeof address));
}

static void open_file(void) {
    try(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
}

static void open_own_memory(void) {
    try(open("/proc/self/mem", O_RDWR | O_CLOEXEC));
}

static void open_environment(void) {
    try(open("/proc/self/environ", O_RDONLY | O_CLOEXEC));
}

static void open_by_fopen(void) {
    try((long)(intptr_t)fopen("/etc/passwd", "re"));
}

static void make_file(void) {
    try(open("/tmp/wharf-sandbox-test", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static void fork_child(void) {
    try(fork());
}

static void spawn_child(void) {
    static char name[] = "true";
    char *const arguments[] = {name, NULL};
    pid_t pid = 0;
    try(posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environ));
}

static void execute(void) {
    static char name[] = "true";
    char *const arguments[] = {name, NULL};
    try(execve("/bin/true", arguments, environ));
}

static void start_thread(void) {
    pthread_t thread;
    try(pthread_create(&thread, NULL, nothing, NULL));
    for (;;)
        ;
}

static void map_executable(void) {
    try((long)(intptr_t)mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static void map_anonymous_executable(void) {
    try((long)(intptr_t)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static void map_shared(void) {
    try((long)(intptr_t)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

static void map_file(void) {
    try((long)(intptr_t)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 3, 0));
}

static void make_executable(void) {
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    try(mprotect(page, 4096, PROT_READ | PROT_EXEC));
}

static void trace_parent(void) {
    try(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}

static void be_traced(void) {
    try(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static void signal_parent(void) {
    try(syscall(SYS_kill, 1, SIGTERM));
}

static void signal_self(void) {
    try(syscall(SYS_tgkill, getpid(), getpid(), SIGUSR1));
}

static void abort_parent(void) {
    try(syscall(SYS_tgkill, 1, 1, SIGABRT));
}

static void read_parent(void) {
    char room[16];
    const struct iovec ours = {room, sizeof room}, theirs = {room, sizeof room};
    try(process_vm_readv(1, &ours, 1, &theirs, 1, 0));
}

static void be_dumpable(void) {
    try(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
}

static void raise_limit(void) {
    const struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    try(setrlimit(RLIMIT_CPU, &limit));
}

static void sleep_a_while(void) {
    const struct timespec second = {.tv_sec = 1};
    try(nanosleep(&second, NULL));
}

static void wait_for_lock(void) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&mutex);
}

static void wait_for_descriptor(void) {
    struct pollfd wait = {.fd = 3, .events = POLLIN};
    try(poll(&wait, 1, -1));
}

static void yield_processor(void) {
    try(syscall(SYS_sched_yield));
}

static void change_personality(void) {
    try(personality(READ_IMPLIES_EXEC));
}

static void set_up_ring(void) {
    char room[256] = {0};
    try(syscall(SYS_io_uring_setup, 1, room));
}

static void make_memory_file(void) {
    try(memfd_create("x", 0));
}

static void watch_faults(void) {
    try(syscall(SYS_userfaultfd, 0));
}

static void use_keys(void) {
    try(syscall(SYS_keyctl, 0, 0, 0, 0, 0));
}

static void use_bpf(void) {
    try(syscall(SYS_bpf, 0, NULL, 0));
}

static void measure_performance(void) {
    try(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
}

static void handle_signal(void) {
    try((long)(intptr_t)signal(SIGSEGV, on_signal));
}

static void set_alarm(void) {
    const struct itimerval timer = {.it_value = {.tv_sec = 1}};
    try(setitimer(ITIMER_REAL, &timer, NULL));
}

static void close_descriptors(void) {
    for (int fd = 3; fd <= 40; fd++)
        close(fd);
}

static void duplicate(void) {
    try(dup2(3, 9));
}

static void write_elsewhere(void) {
    try(write(7, "x", 1));
}

static void send_descriptor(void) {
    struct msghdr message = {.msg_iov = NULL};
    try(sendmsg(3, &message, 0));
}

static void send_to_address(void) {
    const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/run/x"};
    try(sendto(3, "x", 1, 0, (const struct sockaddr *)&address, sizeof address));
}

static void change_folder(void) {
    try(chdir("/"));
}

static void change_mask(void) {
    try((long)umask(0));
}

static void change_locale(void) {
    try((long)(intptr_t)setlocale(LC_ALL, "C.UTF-8"));
}

static void change_user(void) {
    try(syscall(SYS_setuid, 0));
}

static void make_namespace(void) {
    try(syscall(SYS_unshare, 0x10000000));
}

static void change_priority(void) {
    try(setpriority(PRIO_PROCESS, 0, 19));
}

static void narrow_filter(void) {
    try(syscall(SYS_seccomp, 1, 0, NULL));
}

const struct forbidden forbidden_acts[] = {
    {"socket", open_socket, "socket", false},
    {"socketpair", open_pair, "socketpair", false},
    {"connect", connect_channel, "connect", false},
    {"open", open_file, "openat open", false},
    {"/proc/self/mem", open_own_memory, "openat open", false},
    {"/proc/self/environ", open_environment, "openat open", false},
    {"fopen", open_by_fopen, "openat open", false},
    {"a new file", make_file, "openat open", false},
    {"fork", fork_child, "clone fork clone3", false},
    {"posix_spawn", spawn_child, "clone clone3 vfork rt_sigaction mmap", false},
    {"execve", execute, "execve", false},
    {"a thread", start_thread, "clone clone3 rt_sigaction", false},
    {"executable memory", map_executable, "mmap mmap2", false},
    {"executable memory without write", map_anonymous_executable, "mmap mmap2", false},
    {"shared memory", map_shared, "mmap mmap2", false},
    {"a mapped file", map_file, "mmap mmap2", true},
    {"execute permission", make_executable, "mprotect", false},
    {"ptrace of the parent", trace_parent, "ptrace getppid", false},
    {"ptrace", be_traced, "ptrace", false},
    {"kill", signal_parent, "kill", false},
    {"a signal to itself", signal_self, "tgkill", false},
    {"SIGABRT to another", abort_parent, "tgkill", false},
    {"process_vm_readv", read_parent, "process_vm_readv", false},
    {"dumpable", be_dumpable, "prctl", false},
    {"setrlimit", raise_limit, "prlimit64 setrlimit", false},
    {"nanosleep", sleep_a_while, "clock_nanosleep nanosleep", false},
    {"a deadlock", wait_for_lock, "futex", false},
    {"poll", wait_for_descriptor, "poll ppoll", false},
    {"sched_yield", yield_processor, "sched_yield", false},
    {"personality", change_personality, "personality", false},
    {"io_uring", set_up_ring, "io_uring_setup", false},
    {"memfd_create", make_memory_file, "memfd_create", false},
    {"userfaultfd", watch_faults, "userfaultfd", false},
    {"keyctl", use_keys, "keyctl", false},
    {"bpf", use_bpf, "bpf", false},
    {"perf_event_open", measure_performance, "perf_event_open", false},
    {"a signal handler", handle_signal, "rt_sigaction", false},
    {"an alarm", set_alarm, "setitimer", false},
    {"close", close_descriptors, "close", true},
    {"dup2", duplicate, "dup2 dup3", false},
    {"a write elsewhere", write_elsewhere, "write", false},
    {"sendmsg", send_descriptor, "sendmsg", false},
    {"sendto an address", send_to_address, "sendto", false},
    {"chdir", change_folder, "chdir", false},
    {"umask", change_mask, "umask", false},
    {"setlocale", change_locale, "openat open", false},
    {"setuid", change_user, "setuid", false},
    {"unshare", make_namespace, "unshare", false},
    {"setpriority", change_priority, "setpriority", false},
    {"seccomp", narrow_filter, "seccomp", true},
};
const size_t forbidden_count = sizeof forbidden_acts / sizeof forbidden_acts[0];

void act_unknown_call(void) {
    try(syscall(4711));
}

// -- allowed --

static void need(bool condition, int line) {
    if (!condition)
        _exit(line % 255 + 1);
}
#define NEED(condition) need((condition), __LINE__)

static int compare(const void *a, const void *b) {
    int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

static void use_memory(void) {
    char *blocks[200];
    for (size_t i = 0; i < 200; i++) {
        size_t size = (size_t)1 << (i % 21);
        blocks[i] = realloc(calloc(1, size), 2 * size);
        NEED(blocks[i]);
        memset(blocks[i], 'x', 2 * size);
        if (i >= 20) {
            free(blocks[i - 20]);
            blocks[i - 20] = NULL;
        }
    }
    for (size_t i = 180; i < 200; i++)
        free(blocks[i]);
    char *large = realloc(malloc((size_t)8 << 20), (size_t)16 << 20);
    NEED(large);
    free(large);
}

static void use_sort(void) {
    int *numbers = calloc(100000, sizeof *numbers);
    NEED(numbers);
    for (int i = 0; i < 100000; i++)
        numbers[i] = (i * 7919) % 100003;
    qsort(numbers, 100000, sizeof *numbers, compare);
    NEED(numbers[0] <= numbers[1] && numbers[99998] <= numbers[99999]);
    free(numbers);
}

static void use_texts(void) {
    char text[64];
    char *made = NULL;
    NEED(snprintf(text, sizeof text, "%.3f %s %d", 2.5, "a", 7) > 0 && strcmp(text, "2.500 a 7") == 0);
    NEED(asprintf(&made, "%*d", 5000, 1) == 5000);
    free(made);
    NEED(strtod("2.5e3", NULL) > 2499 && strtol("-12", NULL, 10) == -12);
    NEED(strerror(ENOENT) && setlocale(LC_ALL, NULL) && !getenv("PATH"));
    NEED(printf("nowhere\n") > 0 && fflush(stdout) != 0 && errno == EBADF);
}

static void use_times(void) {
    struct tm parts;
    struct timespec now;
    struct timeval older;
    time_t moment = time(NULL);
    char text[64];
    NEED(moment > 0 && localtime_r(&moment, &parts) && mktime(&parts) == moment && gmtime(&moment));
    NEED(strftime(text, sizeof text, "%FT%T%z", &parts) > 0);
    NEED(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0 && syscall(SYS_clock_gettime, CLOCK_REALTIME, &now) == 0);
    NEED(gettimeofday(&older, NULL) == 0 && clock() != (clock_t)-1);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void first(void) {
}

static void use_locks(void) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    sigset_t all;
    uint32_t word = 0;
    char random[8];
    sigfillset(&all);
    NEED(pthread_once(&once, first) == 0 && pthread_mutex_lock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0);
    NEED(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 0);
    NEED(sigprocmask(SIG_BLOCK, &all, NULL) == 0); // without effect
    NEED(syscall(SYS_getrandom, random, sizeof random, 0) == sizeof random);
}

void act_allowed(void) {
    use_memory();
    use_sort();
    use_texts();
    use_times();
    use_locks();
}

void local_time_text(char *out, size_t size) {
    const time_t moment = 1700000000;
    struct tm parts;
    (void)localtime_r(&moment, &parts);
    (void)strftime(out, size, "%FT%T%z", &parts);
}
