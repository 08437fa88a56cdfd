// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http/listen.h"

#include "core/base/address.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 16

union socket_name {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static struct error *parse(const char *text, union socket_name *out, socklen_t *len) {
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

static struct error *failed(const char *address, int fd, int number) {
    if (fd >= 0)
        close(fd);
    if (number == EADDRINUSE)
        return error_new(ERROR_IO, "cannot listen on %s: another process does already", address);
    return error_new(ERROR_IO, "cannot listen on %s: %s", address, strerror(number));
}

struct error *listen_open(const char *address, int *fd, uint16_t *port) {
    union socket_name name;
    socklen_t len = 0;
    struct error *error = parse(address, &name, &len);
    if (error)
        return error;
    int one = 1;
    int socket_fd = socket(name.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket_fd < 0)
        return failed(address, -1, errno);
    if (setsockopt(socket_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0)
        return failed(address, socket_fd, errno);
    // [::] is IPv6 alone, whatever the system's default is, so that 0.0.0.0 can be served beside it.
    if (name.any.sa_family == AF_INET6 && setsockopt(socket_fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one) < 0)
        return failed(address, socket_fd, errno);
    if (bind(socket_fd, &name.any, len) < 0 || listen(socket_fd, BACKLOG) < 0 ||
        getsockname(socket_fd, &name.any, &len) < 0)
        return failed(address, socket_fd, errno);
    *fd = socket_fd;
    *port = ntohs(name.any.sa_family == AF_INET6 ? name.v6.sin6_port : name.v4.sin_port);
    return NULL;
}
