// SPDX-License-Identifier: Apache-2.0
#include "tests/support/wharf_child.h"
#include "core/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOG_MAX ((size_t)64 << 20)

// Between fork and exec, in a process that has had threads: async-signal-safe calls only.
static _Noreturn void become(const char *program, char *const arguments[], int log, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || dup2(log, STDERR_FILENO) < 0 || dup2(log, STDOUT_FILENO) < 0)
        _exit(127);
    close_range(3, ~0U, 0);
    setpgid(0, 0); // Ctrl-C is for the parent, which stops this process
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execv(program, arguments);
    _exit(127);
}

struct error *wharf_start_with_log(struct scene *scene, int log) {
    AUTO_TEXT program = scene->wharf ? text_format("%s", scene->wharf) : built_path("wharf");
    AUTO_TEXT config = text_format("%s/wharf.yaml", scene->directory);
    char run[] = "run", option[] = "--config";
    if (!program || !config)
        return error_new(ERROR_NOT_FOUND, "wharf was not built where this program is");
    if (setenv("STATE_DIRECTORY", scene->directory, 1) != 0)
        return error_no_memory();
    char *arguments[] = {program, run, option, config, NULL};
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0)
        become(program, arguments, log, parent);
    if (child < 0)
        return error_new(ERROR_IO, "cannot start %s: %s", program, strerror(errno));
    scene->child = child;
    return NULL;
}

struct error *wharf_start(struct scene *scene) {
    AUTO_TEXT path = text_format("%s/wharf.log", scene->directory);
    int log = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (log < 0)
        return error_new(ERROR_IO, "cannot write the log: %s", strerror(errno));
    struct error *error = wharf_start_with_log(scene, log);
    close(log);
    return error;
}

bool wharf_runs(struct scene *scene) {
    if (scene->child && waitpid(scene->child, &scene->child_status, WNOHANG) == scene->child)
        scene->child = 0;
    return scene->child != 0;
}

bool wharf_end(struct scene *scene, int signal, int64_t within_ns) {
    if (scene->child)
        kill(scene->child, signal);
    int64_t until_ns = clock_now().mono_ns + within_ns;
    while (wharf_runs(scene) && clock_now().mono_ns < until_ns)
        usleep(5000);
    return scene->child == 0;
}

int wharf_exit_code(const struct scene *scene) {
    return WIFEXITED(scene->child_status) ? WEXITSTATUS(scene->child_status) : -1;
}

static void read_log(const struct scene *scene, struct buffer *log) {
    AUTO_TEXT path = text_format("%s/wharf.log", scene->directory);
    buffer_init(log, LOG_MAX);
    error_free(path ? text_read_file(path, LOG_MAX, log) : error_no_memory());
}

void wharf_print_log(const struct scene *scene, size_t lines, FILE *out) {
    struct buffer log __attribute__((cleanup(buffer_free)));
    read_log(scene, &log);
    size_t at = log.len > 0 ? log.len - 1 : 0; // the last line's own end does not count
    while (at > 0 && (log.data[at - 1] != '\n' || --lines > 0))
        at--;
    fputs(log.data ? log.data + at : "", out);
}

size_t wharf_logged(const struct scene *scene, const char *text) {
    struct buffer log __attribute__((cleanup(buffer_free)));
    read_log(scene, &log);
    size_t count = 0;
    for (const char *line = log.data; line && *line;) {
        const char *end = strchrnul(line, '\n');
        count += memmem(line, (size_t)(end - line), text, strlen(text)) ? 1 : 0;
        line = *end ? end + 1 : end;
    }
    return count;
}
