// SPDX-License-Identifier: Apache-2.0
#include "tests/sandbox/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int wait_for(pid_t child, int status_fd) {
    char ready = 0;
    ssize_t got;
    while ((got = read(status_fd, &ready, 1)) < 0 && errno == EINTR)
        continue;
    close(status_fd);
    if (got == 1)
        return EXIT_SUCCESS;
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) && WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : EXIT_FAILURE;
}

bool detach_begin(struct detach *detach, int *code) {
    int fds[2];
    *code = EXIT_FAILURE;
    fflush(stdout);
    if (pipe2(fds, O_CLOEXEC) != 0) {
        perror("error: cannot make a pipe");
        return true;
    }
    pid_t child = fork();
    if (child < 0)
        perror("error: cannot start a process");
    if (child == 0) {
        close(fds[0]);
        detach->status_fd = fds[1];
        setsid();
        return false;
    }
    close(fds[1]);
    if (child > 0)
        *code = wait_for(child, fds[0]);
    return true;
}

void detach_ready(struct detach *detach) {
    if (detach->status_fd < 0)
        return;
    fflush(stdout);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; null >= 0 && fd < 3; fd++)
        dup2(null, fd);
    if (null >= 0)
        close(null);
    if (write(detach->status_fd, "+", 1) != 1)
        _exit(EXIT_FAILURE); // the parent is gone
    close(detach->status_fd);
}
