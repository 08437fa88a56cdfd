// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http/net.h"

#include "core/base/log.h"
#include "core/base/text.h"
#include "core/base/thread.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SCARCE_MS 1000 // between retries while no file descriptor is available
#define STACK ((size_t)128 * 1024)
#define BACKLOG 16

union socket_name {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static struct error *parse_address(const char *text, union socket_name *out, socklen_t *len) {
    struct address address;
    if (!address_parse_port(text, &address))
        return error_new(ERROR_INVALID,
                         "found the address \"%s\", expected an IP address and a port, like "
                         "127.0.0.1:9440 or [::1]:9440",
                         text);
    *out = (union socket_name){0};
    if (address.family == AF_INET6) {
        out->v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(address.port)};
        memcpy(&out->v6.sin6_addr, address.bytes, sizeof out->v6.sin6_addr);
        *len = sizeof out->v6;
    } else {
        out->v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(address.port)};
        memcpy(&out->v4.sin_addr, address.bytes, sizeof out->v4.sin_addr);
        *len = sizeof out->v4;
    }
    return NULL;
}

struct error *listen_open(const char *address, int *fd, uint16_t *port) {
    union socket_name name;
    socklen_t len = 0;
    TRY(parse_address(address, &name, &len));
    const int one = 1;
    bool six = name.any.sa_family == AF_INET6;
    int socket_fd = socket(name.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    // [::] is IPv6 alone for any default of the system, so that 0.0.0.0 remains available.
    if (socket_fd < 0 || setsockopt(socket_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
        (six && setsockopt(socket_fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one) < 0) ||
        bind(socket_fd, &name.any, len) < 0 || listen(socket_fd, BACKLOG) < 0 ||
        getsockname(socket_fd, &name.any, &len) < 0) {
        const char *problem = errno == EADDRINUSE ? "another process does already" : strerror(errno);
        if (socket_fd >= 0)
            close(socket_fd);
        return error_new(ERROR_IO, "cannot listen on %s: %s", address, problem);
    }
    *fd = socket_fd;
    *port = ntohs(six ? name.v6.sin6_port : name.v4.sin_port);
    return NULL;
}

static bool is_scarce(int number) {
    return number == EMFILE || number == ENFILE || number == ENOBUFS || number == ENOMEM;
}

// A client that vanished without a word would hold a stream or a session for ever.
static void keep_alive(int fd) {
    static const struct {
        int level, name, value;
    } options[] = {{SOL_SOCKET, SO_KEEPALIVE, 1},
                   {IPPROTO_TCP, TCP_KEEPIDLE, 30},
                   {IPPROTO_TCP, TCP_KEEPINTVL, 10},
                   {IPPROTO_TCP, TCP_KEEPCNT, 3}};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        (void)setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof options[i].value);
}

// Passes on all pending connections; libmicrohttpd closes a rejected socket. Returns the error number at the end.
static int accept_all(const struct acceptor *acceptor) {
    for (;;) {
        struct sockaddr_storage address;
        socklen_t len = sizeof address;
        int fd = accept4(acceptor->fd, (struct sockaddr *)&address, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return errno;
        keep_alive(fd);
        (void)MHD_add_connection(acceptor->daemon, fd, (struct sockaddr *)&address, len);
    }
}

static void *accept_connections(void *arg) {
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

struct error *acceptor_start(struct acceptor *acceptor, struct MHD_Daemon *daemon) {
    acceptor->daemon = daemon;
    acceptor->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int code =
        acceptor->stop_fd < 0 ? errno : thread_start("accept", STACK, accept_connections, acceptor, &acceptor->thread);
    acceptor->running = code == 0;
    return code == 0 ? NULL : error_new(ERROR_IO, "cannot accept connections: %s", strerror(code));
}

void acceptor_stop(struct acceptor *acceptor) {
    if (acceptor->running) {
        (void)eventfd_write(acceptor->stop_fd, 1);
        pthread_join(acceptor->thread, NULL);
    }
    close(acceptor->fd);
    if (acceptor->stop_fd >= 0)
        close(acceptor->stop_fd);
}
