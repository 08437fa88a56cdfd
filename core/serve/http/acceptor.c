// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http/acceptor.h"

#include "core/base/log.h"
#include "core/base/thread.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SCARCE_MS 1000 // between retries while no file descriptor is available
#define STACK ((size_t)128 * 1024)

struct acceptor {
    int fd, stop_fd;
    void (*take)(void *ctx, int fd, const struct sockaddr *address, socklen_t len);
    void *ctx;
    pthread_t thread;
};

static bool is_scarce(int number) {
    return number == EMFILE || number == ENFILE || number == ENOBUFS || number == ENOMEM;
}

// Accepts all pending connections. Returns the error number that ended it.
static int accept_all(const struct acceptor *acceptor) {
    for (;;) {
        struct sockaddr_storage address;
        socklen_t len = sizeof address;
        int fd = accept4(acceptor->fd, (struct sockaddr *)&address, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return errno;
        acceptor->take(acceptor->ctx, fd, (struct sockaddr *)&address, len);
    }
}

static void *run(void *arg) {
    const struct acceptor *acceptor = arg;
    bool scarce = false;
    for (;;) {
        struct pollfd fds[] = {{.fd = acceptor->stop_fd, .events = POLLIN}, {.fd = acceptor->fd, .events = POLLIN}};
        (void)poll(fds, scarce ? 1 : 2, scarce ? SCARCE_MS : -1);
        if (fds[0].revents != 0)
            return NULL;
        int number = accept_all(acceptor);
        if (is_scarce(number) && !scarce)
            log_fields(LOG_WARN,
                       "connections to the served address wait: file descriptors or memory ran out; raise the limit of "
                       "open files (ulimit -n, LimitNOFILE)",
                       {"error", strerror(number)});
        scarce = is_scarce(number);
    }
}

static void release(struct acceptor *acceptor) {
    close(acceptor->fd);
    if (acceptor->stop_fd >= 0)
        close(acceptor->stop_fd);
    free(acceptor);
}

struct error *acceptor_start(int fd, void (*take)(void *ctx, int fd, const struct sockaddr *address, socklen_t len),
                             void *ctx, struct acceptor **out) {
    struct acceptor *acceptor = malloc(sizeof *acceptor);
    if (!acceptor) {
        close(fd);
        return error_no_memory();
    }
    *acceptor = (struct acceptor){.fd = fd, .take = take, .ctx = ctx};
    acceptor->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int code = acceptor->stop_fd < 0 ? errno : thread_start("accept", STACK, run, acceptor, &acceptor->thread);
    if (code != 0) {
        release(acceptor);
        return error_new(ERROR_IO, "cannot accept connections: %s", strerror(code));
    }
    *out = acceptor;
    return NULL;
}

void acceptor_stop(struct acceptor *acceptor) {
    if (!acceptor)
        return;
    (void)eventfd_write(acceptor->stop_fd, 1);
    pthread_join(acceptor->thread, NULL);
    release(acceptor);
}
