// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/process/process_parts.h"
#include "core/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GRACE_NS (200 * CLOCK_MS) // from the end of the channel to that of the process
#define LOOK_NS (CLOCK_MS / 5)

// Where the program is, relative to the folder of this one: as built, and as installed.
static const char *const places[] = {"wharf-adapter", "../libexec/wharf/wharf-adapter"};

static int open_program(const char *path) {
    int fd = open(path, O_PATH | O_CLOEXEC);
    int high = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, PROCESS_FD_MIN) : -1;
    if (fd >= 0)
        close(fd);
    return high;
}

struct error *child_program(const char *given, int *out) {
    AUTO_TEXT folder = given ? NULL : text_own_folder();
    *out = given ? open_program(given) : -1;
    if (given && *out < 0)
        return error_new(ERROR_NOT_FOUND, "%s: %s", given, strerror(errno));
    for (size_t i = 0; *out < 0 && folder && i < sizeof places / sizeof *places; i++) {
        AUTO_TEXT path = text_format("%s/%s", folder, places[i]);
        *out = path ? open_program(path) : -1;
    }
    if (*out >= 0)
        return NULL;
    return error_new(ERROR_NOT_FOUND,
                     "the program for isolated adapters is missing: found neither %s/%s nor %s/%s; `make` builds it, "
                     "`make install` installs it",
                     folder ? folder : "", places[0], folder ? folder : "", places[1]);
}

static int spawn(int program, int channel, int file, pid_t *pid) {
    char path[64];
    char *const argv[] = {(char *)"wharf-adapter", NULL}, *const environment[] = {NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t how;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    snprintf(path, sizeof path, "/proc/self/fd/%d", program);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&how);
    // A session of its own: signals of a terminal are for this process alone, and where the kernel shares processor
    // time between sessions (sched_autogroup), an adapter that never returns takes none from the host.
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &all);
    int failed = 0; // 0 to 2 are the file, which cannot be written: a container may have no /dev/null
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, file, fd);
    failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, channel, CHANNEL_FD);
    failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, file, CHANNEL_FILE_FD);
    failed = failed ? failed : posix_spawn(pid, path, &actions, &how, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&how);
    return failed;
}

struct error *child_start(int program, int file, struct process_child *out) {
    int ends[2];
    *out = (struct process_child){.channel = -1, .watch = -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return error_new(ERROR_IO, "no socket pair: %s", strerror(errno));
    int theirs = fcntl(ends[1], F_DUPFD_CLOEXEC, PROCESS_FD_MIN), error = errno;
    close(ends[1]);
    if (theirs >= 0) {
        error = spawn(program, theirs, file, &out->pid);
        close(theirs);
    }
    if (theirs < 0 || error) {
        close(ends[0]);
        out->pid = 0;
        return error_new(ERROR_IO, "wharf-adapter cannot be started: %s", strerror(error));
    }
    // An answer is awaited by one system call instead of two.
    const struct timeval wait = {.tv_usec = PROCESS_WAIT_NS / 1000};
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    out->channel = ends[0];
    out->watch = (int)syscall(SYS_pidfd_open, out->pid, 0);
    return NULL;
}

static void describe(int status, char reason[CALL_TROUBLE_MAX]) {
    if (WIFSIGNALED(status)) {
        const char *name = strsignal(WTERMSIG(status));
        snprintf(reason, CALL_TROUBLE_MAX, "signal %d (%s)", WTERMSIG(status), name ? name : "unknown");
    } else {
        snprintf(reason, CALL_TROUBLE_MAX, "exit with status %d", WEXITSTATUS(status));
    }
}

// Waits for the end for a while. False: it did not end.
static bool has_ended(pid_t pid, int *status) {
    int64_t until_ns = clock_ticks() + GRACE_NS;
    for (;;) {
        pid_t found = waitpid(pid, status, WNOHANG);
        if (found != 0 && (found == pid || errno != EINTR))
            return found == pid;
        if (clock_ticks() >= until_ns)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
}

void child_kill(const struct process_child *child) {
    if (child->pid != 0)
        kill(child->pid, SIGKILL);
}

void child_end(struct process_child *child, bool grace, char reason[CALL_TROUBLE_MAX]) {
    int status = 0;
    snprintf(reason, CALL_TROUBLE_MAX, "it closed its channel");
    if (child->pid == 0)
        return;
    bool ended = grace && has_ended(child->pid, &status);
    if (ended)
        describe(status, reason);
    else
        kill(child->pid, SIGKILL);
    while (!ended && waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(child->channel);
    if (child->watch >= 0)
        close(child->watch);
    *child = (struct process_child){.channel = -1, .watch = -1};
}
