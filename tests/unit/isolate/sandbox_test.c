// SPDX-License-Identifier: Apache-2.0
// Children in the sandbox, each of which tries one thing.
#include "core/isolate/sandbox.h"

#include "core/base/text.h"
#include "core/isolate/sandbox_parts.h"
#include "tests/support/built.h"
#include "tests/unit/isolate/acts.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MEMORY ((size_t)64 << 20)
#define DONE "done"
#define FILE_MAX ((size_t)16 << 20)

enum phase { IN_LOAD, IN_CALLS };

struct child {
    enum phase phase;
    void (*act)(void);
    void (*before)(void); // ahead of the sandbox, or NULL
    unsigned cpu_s;
    // Filled by run_child.
    int status;
    char said[1024]; // on the channel
};

static int channel = -1;
static char *adapter_path;

static void say(const char *text) {
    if (write(channel, text, strlen(text)) < 0)
        _exit(1);
}

static void need(struct error *error) {
    if (!error)
        return;
    say(error_text(error));
    _exit(1);
}

// -- children --

static void live(const struct child *child, int file) {
    struct problems missing = {0};
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (child->before)
        child->before();
    sandbox_on_forbidden(say);
    need(sandbox_limits(&(struct sandbox_limits){MEMORY, child->cpu_s}, &missing));
    need(sandbox_for_load(file, path, channel, &missing));
    if (child->phase == IN_CALLS) {
        void *adapter = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!adapter || !dlsym(adapter, "wharf_module_v1"))
            need(error_new(ERROR_IO, "%s", dlerror()));
        close(file);
        need(sandbox_for_calls());
    }
    for (size_t i = 0; i < missing.count; i++)
        say(missing.list[i]);
    child->act();
    say(DONE);
    exit(0);
}

// In memory, as the loader has it.
static int file_of(const struct buffer *content) {
    int fd = memfd_create("adapter", MFD_CLOEXEC);
    assert_true(fd >= 0 && text_write_fd(fd, content->data, content->len));
    return fd;
}

// With this content of the adapter's file.
static void run_child_with(struct child *child, const struct buffer *content) {
    int file = file_of(content);
    int ends[2];
    size_t len = 0;
    ssize_t got = 0;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(ends[0]);
        channel = ends[1];
        live(child, file);
    }
    close(ends[1]);
    while ((got = read(ends[0], child->said + len, sizeof child->said - 1 - len)) > 0)
        len += (size_t)got;
    child->said[len] = '\0';
    close(ends[0]);
    close(file);
    assert_int_equal(waitpid(pid, &child->status, 0), pid);
}

static void read_adapter(struct buffer *out) {
    assert_null(text_read_file(adapter_path, FILE_MAX, out));
}

static void run_child(struct child *child) {
    AUTO_BUFFER(content, FILE_MAX);
    read_adapter(&content);
    run_child_with(child, &content);
}

static bool ended_by(const struct child *child, int number) {
    return WIFSIGNALED(child->status) && WTERMSIG(child->status) == number;
}

// Both make system calls that programs do not make.
static void skip_in_tools(void) {
    const char *preloaded = getenv("LD_PRELOAD");
    if (!SANDBOX_SANITIZED && !(preloaded && strstr(preloaded, "valgrind")))
        return;
    print_message("The sandbox is not complete in a build with sanitizers, or under valgrind.\n");
    skip();
}

// -- forbidden --

static void run_forbidden(enum phase phase) {
    skip_in_tools();
    for (size_t i = 0; i < forbidden_count; i++) {
        const struct forbidden *forbidden = &forbidden_acts[i];
        struct child child = {.phase = phase, .act = forbidden->act};
        if (phase == IN_LOAD && forbidden->calls_only)
            continue;
        run_child(&child);
        if (child.said[0] == '\0' || !strstr(forbidden->names, child.said) || !ended_by(&child, SIGSYS))
            fail_msg("%s: found \"%s\" and status 0x%x, expected SIGSYS and one of \"%s\"", forbidden->what, child.said,
                     (unsigned)child.status, forbidden->names);
    }
}

static void a_forbidden_system_call_ends_the_process_and_is_named(void **state) {
    (void)state;
    run_forbidden(IN_CALLS);
}

static void a_forbidden_system_call_while_loading_ends_the_process_and_is_named(void **state) {
    (void)state;
    run_forbidden(IN_LOAD);
}

static void a_system_call_without_a_name_has_a_number(void **state) {
    (void)state;
    struct child child = {.phase = IN_CALLS, .act = act_unknown_call};
    skip_in_tools();
    run_child(&child);
    assert_string_equal(child.said, "system call 4711");
    assert_true(ended_by(&child, SIGSYS));
}

// A number with this bit is a system call of the x32 ABI; other architectures do not know the number.
static void call_another_way(void) {
    (void)syscall(0x40000000L + SYS_socket, AF_INET, SOCK_STREAM, 0);
}

static void system_calls_of_another_abi_are_no_way_around(void **state) {
    (void)state;
    struct child child = {.phase = IN_CALLS, .act = call_another_way};
    skip_in_tools();
    run_child(&child);
    assert_true(ended_by(&child, SIGSYS));
}

// -- allowed --

static void memory_texts_numbers_and_times_work_in_calls(void **state) {
    (void)state;
    struct child child = {.phase = IN_CALLS, .act = act_allowed};
    skip_in_tools();
    run_child(&child);
    assert_string_equal(child.said, DONE);
    assert_int_equal(child.status, 0);
}

static void say_local_time(void) {
    char text[64] = "";
    local_time_text(text, sizeof text);
    say(text);
}

static void the_time_zone_is_that_of_the_machine(void **state) {
    (void)state;
    struct child child = {.phase = IN_CALLS, .act = say_local_time};
    char here[80] = "";
    skip_in_tools();
    unsetenv("TZ");
    local_time_text(here, sizeof here - sizeof DONE);
    run_child(&child);
    text_copy(here + strlen(here), sizeof DONE, DONE);
    assert_string_equal(child.said, here);
}

static void end_abnormally(void) {
    abort();
}

static void exit_with_three(void) {
    exit(3);
}

static void overflow(void) {
    volatile char page[4096];
    page[0] = 1;
    if (page[0] == 1)
        overflow();
    page[1] = page[0]; // not the last call of the function
}

static void spin(void) {
    for (volatile int i = 0;; i++)
        ;
}

static void the_parent_sees_how_a_process_ended(void **state) {
    (void)state;
    struct child aborts = {.phase = IN_CALLS, .act = end_abnormally};
    struct child exits = {.phase = IN_CALLS, .act = exit_with_three};
    struct child recurses = {.phase = IN_CALLS, .act = overflow};
    struct child spins = {.phase = IN_CALLS, .act = spin, .cpu_s = 1};
    skip_in_tools();
    run_child(&aborts);
    assert_true(ended_by(&aborts, SIGABRT));
    run_child(&exits);
    assert_true(WIFEXITED(exits.status) && WEXITSTATUS(exits.status) == 3);
    run_child(&recurses);
    assert_true(ended_by(&recurses, SIGSEGV));
    run_child(&spins);
    assert_true(ended_by(&spins, SIGXCPU));
    assert_string_equal(spins.said, "");
}

// -- limits --

static void say_memory(void) {
    char *fits = malloc(MEMORY / 2), *too_large = malloc(2 * MEMORY);
    say(fits ? "fits " : "no memory ");
    say(too_large ? "unlimited " : "");
    free(fits);
    free(too_large);
}

static void memory_is_limited(void **state) {
    (void)state;
    struct child child = {.phase = IN_CALLS, .act = say_memory};
    skip_in_tools();
    run_child(&child);
    assert_string_equal(child.said, "fits " DONE);
}

// The parent's environment has a secret, its threads block signals, and SIGXCPU is ignored.
static void inherit(void) {
    sigset_t all;
    sigfillset(&all);
    (void)setenv("WHARF_SECRET", "x", 1);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    (void)signal(SIGXCPU, SIG_IGN);
}

static bool is_clean(void) {
    sigset_t blocked;
    struct sigaction action;
    return !environ[1] && strncmp(environ[0], "TZ=", 3) == 0 && sigprocmask(SIG_BLOCK, NULL, &blocked) == 0 &&
           sigisemptyset(&blocked) == 1 && sigaction(SIGXCPU, NULL, &action) == 0 && action.sa_handler == SIG_DFL;
}

static void nothing_of_the_parent_is_inherited(void **state) {
    (void)state;
    skip_in_tools();
    struct problems missing = {0};
    pid_t pid = fork();
    int status = 0;
    if (pid == 0) {
        inherit();
        AUTO_ERROR error = sandbox_limits(&(struct sandbox_limits){MEMORY, 0}, &missing);
        struct rlimit core, file, processes;
        bool limited = getrlimit(RLIMIT_CORE, &core) == 0 && getrlimit(RLIMIT_FSIZE, &file) == 0 &&
                       getrlimit(RLIMIT_NPROC, &processes) == 0 &&
                       core.rlim_max + file.rlim_max + processes.rlim_max == 0;
        _exit(!error && limited && is_clean() && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

// -- kernels and containers --

// As a container's profile does: answers a system call with an error number.
static void refuse_calls(const long *calls, size_t count, unsigned answer) {
    for (size_t i = 0; i < count; i++) {
        struct sock_filter code[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | answer),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
            _exit(2);
    }
}

static void refuse_landlock(void) {
    refuse_calls((const long[]){444}, 1, ENOSYS);
}

static void refuse_seccomp(void) {
    refuse_calls((const long[]){SYS_seccomp}, 1, EPERM);
}

static void refuse_both(void) {
    refuse_landlock();
    refuse_seccomp();
}

static void do_nothing(void) {
}

#define NO_LANDLOCK "Landlock: not supported by this kernel or container"
#define NO_SECCOMP "seccomp: refused by this kernel or container (Operation not permitted)"

static void a_missing_layer_is_told_and_the_process_runs(void **state) {
    (void)state;
    struct child landlock = {.phase = IN_CALLS, .before = refuse_landlock, .act = do_nothing};
    struct child both = {.phase = IN_CALLS, .before = refuse_both, .act = do_nothing};
    skip_in_tools();
    run_child(&landlock);
    assert_string_equal(landlock.said, NO_LANDLOCK DONE);
    run_child(&both);
    assert_string_equal(both.said, NO_LANDLOCK NO_SECCOMP DONE);
}

static void seccomp_remains_without_landlock(void **state) {
    (void)state;
    struct child child = {.phase = IN_CALLS, .before = refuse_landlock, .act = act_unknown_call};
    skip_in_tools();
    run_child(&child);
    assert_string_equal(child.said, NO_LANDLOCK "system call 4711");
}

static void limits_remain_without_seccomp(void **state) {
    (void)state;
    struct child child = {.phase = IN_CALLS, .before = refuse_both, .act = say_memory};
    skip_in_tools();
    run_child(&child);
    assert_string_equal(child.said, NO_LANDLOCK NO_SECCOMP "fits " DONE);
}

static void say_reach(void) {
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(9), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int file = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    say(file < 0 && errno == EACCES ? " no file" : " a file");
    int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool refused = connect(tcp, (const struct sockaddr *)&address, sizeof address) != 0 && errno == EACCES;
    say(refused ? " no network" : " network");
    say(kill(getppid(), SIGCONT) == 0 ? " a signal " : " no signal ");
}

static void landlock_remains_without_seccomp(void **state) {
    (void)state;
    struct child child = {.phase = IN_CALLS, .before = refuse_seccomp, .act = say_reach};
    skip_in_tools();
    long version = syscall(444, NULL, 0, 1); // landlock_create_ruleset, LANDLOCK_CREATE_RULESET_VERSION
    if (version < 1) {
        print_message("This kernel has no Landlock.\n");
        skip();
    }
    AUTO_TEXT wanted = text_format(NO_SECCOMP " no file%s%s" DONE, version >= 4 ? " no network" : " network",
                                   version >= 6 ? " no signal " : " a signal ");
    run_child(&child);
    assert_string_equal(child.said, wanted);
}

// -- the adapter's file --

// The child with the adapter in which the name of a library is another one.
static void run_with_library(const char *name, struct child *child) {
    AUTO_BUFFER(content, FILE_MAX);
    read_adapter(&content);
    char *at = memmem(content.data, content.len, "libc.so.6", sizeof "libc.so.6");
    assert_non_null(at);
    memcpy(at, name, strlen(name) + 1);
    run_child_with(child, &content);
}

static void a_library_by_path_or_missing_is_an_error(void **state) {
    (void)state;
    struct child by_path = {.phase = IN_LOAD, .act = do_nothing}, missing = by_path;
    run_with_library("/x.so", &by_path);
    assert_string_equal(by_path.said, "found the shared library /x.so by its path, expected libraries of the system");
    run_with_library("libq.so.6", &missing);
    assert_non_null(strstr(missing.said, "a shared library that the adapter needs: libq.so.6: "));
    assert_true(WIFEXITED(missing.status) && WEXITSTATUS(missing.status) == 1);
}

static void a_damaged_file_is_an_error_and_no_crash(void **state) {
    (void)state;
    AUTO_BUFFER(whole, FILE_MAX);
    skip_in_tools();
    read_adapter(&whole);
    for (size_t i = 0; i < 60; i++) {
        AUTO_BUFFER(content, FILE_MAX);
        struct child child = {.phase = IN_LOAD, .act = do_nothing};
        size_t len = i < 30 ? whole.len * i / 30 : whole.len;
        assert_true(buffer_append(&content, whole.data, len));
        for (size_t at = 40 + i % 3; i >= 30 && at < len && at < 4096; at += i)
            content.data[at] = (char)(0x80 + i);
        run_child_with(&child, &content);
        assert_true(WIFEXITED(child.status));
    }
}

static int find_adapter(void **state) {
    (void)state;
    adapter_path = built_path("adapters/job.so");
    return adapter_path ? 0 : -1;
}

static int free_path(void **state) {
    (void)state;
    free(adapter_path);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_forbidden_system_call_ends_the_process_and_is_named),
        cmocka_unit_test(a_forbidden_system_call_while_loading_ends_the_process_and_is_named),
        cmocka_unit_test(a_system_call_without_a_name_has_a_number),
        cmocka_unit_test(system_calls_of_another_abi_are_no_way_around),
        cmocka_unit_test(memory_texts_numbers_and_times_work_in_calls),
        cmocka_unit_test(the_time_zone_is_that_of_the_machine),
        cmocka_unit_test(the_parent_sees_how_a_process_ended),
        cmocka_unit_test(memory_is_limited),
        cmocka_unit_test(nothing_of_the_parent_is_inherited),
        cmocka_unit_test(a_missing_layer_is_told_and_the_process_runs),
        cmocka_unit_test(seccomp_remains_without_landlock),
        cmocka_unit_test(limits_remain_without_seccomp),
        cmocka_unit_test(landlock_remains_without_seccomp),
        cmocka_unit_test(a_library_by_path_or_missing_is_an_error),
        cmocka_unit_test(a_damaged_file_is_an_error_and_no_crash),
    };
    return cmocka_run_group_tests(tests, find_adapter, free_path);
}
