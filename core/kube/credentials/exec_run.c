// SPDX-License-Identifier: Apache-2.0
// One run of a credential plugin (credentials.h): a separate process group, with pipes for the output.
#include "core/kube/credentials/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_MAX ((size_t)256 * 1024)
#define CHUNKS 128 // more than a pipe and OUTPUT_MAX hold
#define CHUNK 4096
#define STDERR_KEPT ((size_t)4096)
#define LINE_MAX_LEN ((size_t)511)
#define STEP_MS 50                     // between checks of a process without a pidfd
#define KILLED_WAIT (2 * CLOCK_SECOND) // a killed process that hangs in the kernel is left behind then

struct plugin_run {
    const struct exec_plugin *plugin;
    pid_t pid;          // 0: not started, or reaped
    int exit_fd;        // readable once the process has ended; -1: poll the process
    int out[2], err[2]; // pipes: read end, write end; -1: closed
    int status;         // of waitpid
    struct buffer output;
    struct buffer tail; // the end of stderr
};

static void close_fd(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void run_cleanup(struct plugin_run *run) {
    close_fd(&run->exit_fd);
    for (size_t i = 0; i < 2; i++) {
        close_fd(&run->out[i]);
        close_fd(&run->err[i]);
    }
    if (run->output.data)
        explicit_bzero(run->output.data, run->output.len);
    buffer_free(&run->output);
    buffer_free(&run->tail);
}

// Whether the variable that `entry` sets ("NAME=value") is in the list.
static bool is_set(char *const *list, size_t count, const char *entry) {
    size_t len = strcspn(entry, "=") + 1;
    for (size_t i = 0; i < count; i++)
        if (strncmp(list[i], entry, len) == 0)
            return true;
    return false;
}

// KUBERNETES_EXEC_INFO, then the plugin's variables (of several of one name the last), then the environment of this
// process, each name once. The texts are borrowed.
static char **make_environment(const struct exec_plugin *plugin, char *info) {
    size_t own = 0, more = 0, count = 0;
    while (environ[own])
        own++;
    while (plugin->env[more])
        more++;
    char **list = calloc(own + more + 2, sizeof *list);
    if (!list)
        return NULL;
    list[count++] = info;
    for (size_t i = more; i-- > 0;)
        if (!is_set(list, count, plugin->env[i]))
            list[count++] = plugin->env[i];
    for (size_t i = 0; i < own; i++)
        if (!is_set(list, count, environ[i]))
            list[count++] = environ[i];
    return list;
}

// Empty stdin, and no other file of this process.
static int add_files(posix_spawn_file_actions_t *actions, const struct plugin_run *run) {
    int code = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (code == 0)
        code = posix_spawn_file_actions_adddup2(actions, run->out[1], STDOUT_FILENO);
    if (code == 0)
        code = posix_spawn_file_actions_adddup2(actions, run->err[1], STDERR_FILENO);
    return code == 0 ? posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1) : code;
}

// With no blocked or ignored signal. Attributes and empty lists do not allocate: these calls do not fail.
static int spawn(struct plugin_run *run, const char *path, char **environment) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    int code = add_files(&actions, run);
    if (code == 0)
        code = posix_spawn(&run->pid, path, &actions, &attributes, run->plugin->args, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

// The write ends are above 2, so that moving them to 1 and 2 in the new process replaces no descriptor in use.
static bool open_pipe(int ends[2]) {
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    for (size_t i = 0; i < 2; i++) {
        int high = ends[i] > STDERR_FILENO ? ends[i] : fcntl(ends[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        if (high < 0)
            return false;
        if (high != ends[i])
            close(ends[i]);
        ends[i] = high;
    }
    return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

static struct error *start(struct plugin_run *run, const char *path) {
    AUTO_TEXT info = text_format("KUBERNETES_EXEC_INFO=%s", run->plugin->info);
    char **environment = info ? make_environment(run->plugin, info) : NULL;
    if (!environment)
        return error_no_memory();
    int code = open_pipe(run->out) && open_pipe(run->err) ? 0 : errno;
    if (code == 0)
        code = spawn(run, path, environment);
    free(environment);
    if (code != 0) {
        run->pid = 0;
        return error_new(ERROR_IO, "%s: cannot be run: %s", path, strerror(code));
    }
    close_fd(&run->out[1]);
    close_fd(&run->err[1]);
    run->exit_fd = (int)syscall(SYS_pidfd_open, run->pid, 0);
    if (run->exit_fd >= 0)
        (void)fcntl(run->exit_fd, F_SETFD, FD_CLOEXEC);
    return NULL;
}

static bool is_over(struct plugin_run *run) {
    if (run->pid != 0 && waitpid(run->pid, &run->status, WNOHANG) == run->pid)
        run->pid = 0;
    return run->pid == 0;
}

static void stop(struct plugin_run *run) {
    int64_t until_ns = clock_now().mono_ns + KILLED_WAIT;
    kill(-run->pid, SIGKILL);
    kill(run->pid, SIGKILL); // in case it left its group
    while (!is_over(run) && clock_now().mono_ns < until_ns)
        (void)poll(NULL, 0, 5);
}

// Reads available output, at most CHUNKS times. False if there is too much output.
static bool drain(struct plugin_run *run, int *fd, bool output) {
    char bytes[CHUNK];
    for (size_t i = 0; *fd >= 0 && i < CHUNKS; i++) {
        ssize_t len = read(*fd, bytes, sizeof bytes);
        if (len < 0 && (errno == EAGAIN || errno == EINTR))
            return true;
        if (len <= 0)
            close_fd(fd);
        else if (!buffer_append(output ? &run->output : &run->tail, bytes, (size_t)len) && output)
            return false;
        if (run->tail.len > STDERR_KEPT)
            buffer_consume(&run->tail, run->tail.len - STDERR_KEPT);
    }
    return true;
}

static struct error *wait_for_end(struct plugin_run *run, int64_t timeout_ns, int cancel_fd) {
    int64_t until_ns = clock_now().mono_ns + timeout_ns;
    for (;;) {
        bool over = is_over(run);
        if (!drain(run, &run->out[0], true))
            return error_new(ERROR_LIMIT, "it printed more than %zu bytes", OUTPUT_MAX);
        (void)drain(run, &run->err[0], false);
        if (over)
            return NULL;
        int64_t left_ns = until_ns - clock_now().mono_ns;
        if (left_ns <= 0)
            return error_new(ERROR_LIMIT, "it was killed after %lld s", (long long)(timeout_ns / CLOCK_SECOND));
        struct pollfd fds[] = {{.fd = run->exit_fd, .events = POLLIN},
                               {.fd = run->out[0], .events = POLLIN},
                               {.fd = run->err[0], .events = POLLIN},
                               {.fd = cancel_fd, .events = POLLIN}};
        int64_t wait_ms = left_ns / CLOCK_MS + 1;
        if (run->exit_fd < 0 && wait_ms > STEP_MS)
            wait_ms = STEP_MS;
        if (poll(fds, 4, wait_ms > 60000 ? 60000 : (int)wait_ms) > 0 && fds[3].revents)
            return error_new(ERROR_STOPPED, "it was stopped");
    }
}

// The last line of stderr that is not empty, as one safe line.
static void last_line(const struct plugin_run *run, struct buffer *out) {
    const char *tail = run->tail.data;
    size_t end = run->tail.len;
    while (end > 0 && strchr(" \t\r\n", tail[end - 1]))
        end--;
    size_t begin = end;
    while (begin > 0 && tail[begin - 1] != '\n' && tail[begin - 1] != '\0')
        begin--;
    AUTO_TEXT line = strndup(end > begin ? tail + begin : "", size_least(end - begin, LINE_MAX_LEN));
    if (line)
        text_show(out, line);
}

static struct error *judge(const struct plugin_run *run) {
    if (WIFEXITED(run->status) && WEXITSTATUS(run->status) == 0)
        return NULL;
    if (WIFEXITED(run->status))
        return error_new(ERROR_IO, "it exited with %d", WEXITSTATUS(run->status));
    return error_new(ERROR_IO, "it was ended by signal %d", WTERMSIG(run->status));
}

static struct error *add_stderr(const struct plugin_run *run, struct error *error) {
    AUTO_BUFFER(line, 2048);
    if (error->code == ERROR_STOPPED || error->code == ERROR_NO_MEMORY)
        return error;
    last_line(run, &line);
    if (line.len == 0)
        return error;
    struct error *longer = error_new(error->code, "%s: %s", error_text(error), line.data);
    error_free(error);
    return longer;
}

struct error *exec_plugin_run(const struct exec_plugin *plugin, int64_t timeout_ns, int cancel_fd,
                              struct exec_credential *out) {
    *out = (struct exec_credential){.expires_ns = CLOCK_NEVER};
    AUTO_TEXT path = NULL;
    TRY(exec_plugin_find(plugin, &path));
    __attribute__((cleanup(run_cleanup))) struct plugin_run run = {
        .plugin = plugin,
        .exit_fd = -1,
        .out = {-1, -1},
        .err = {-1, -1},
        .output = {.max = OUTPUT_MAX},
        .tail = {.max = STDERR_KEPT + CHUNK},
    };
    TRY(error_wrap(start(&run, path), "%s", plugin->where));
    struct error *error = wait_for_end(&run, timeout_ns, cancel_fd);
    if (run.pid != 0)
        stop(&run);
    if (!error)
        error = judge(&run);
    if (!error)
        error = exec_credential_read(plugin, run.output.data ? run.output.data : "", run.output.len, out);
    return error ? error_wrap(add_stderr(&run, error), "%s: the credential plugin %s", plugin->where, plugin->command)
                 : NULL;
}
