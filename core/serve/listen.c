// SPDX-License-Identifier: Apache-2.0
#include "core/serve/listen.h"

#include "core/base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 16

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static struct error *bad_address(const char *address) {
    return error_new(ERROR_INVALID,
                     "found the address \"%s\", expected an IP address and a port, like "
                     "127.0.0.1:9440 or [::1]:9440",
                     address);
}

// RFC 3986 section 3.2.2: an IPv6 address stands in brackets before a port.
static struct error *parse(const char *address, union address *out, socklen_t *len) {
    const char *colon = strrchr(address, ':');
    int64_t port = 0;
    char host[INET6_ADDRSTRLEN];
    if (!colon || !text_to_int64(colon + 1, &port) || port > UINT16_MAX)
        return bad_address(address);
    size_t host_len = (size_t)(colon - address);
    bool brackets = host_len > 2 && address[0] == '[' && address[host_len - 1] == ']';
    if (brackets)
        host_len -= 2;
    if (host_len >= sizeof host)
        return bad_address(address);
    text_copy(host, host_len + 1, brackets ? address + 1 : address);
    *out = (union address){.v6 = {.sin6_port = htons((uint16_t)port)}};
    if (brackets && inet_pton(AF_INET6, host, &out->v6.sin6_addr) == 1) {
        out->v6.sin6_family = AF_INET6;
        *len = sizeof out->v6;
        return NULL;
    }
    *out = (union address){.v4 = {.sin_port = htons((uint16_t)port)}};
    if (!brackets && inet_pton(AF_INET, host, &out->v4.sin_addr) == 1) {
        out->v4.sin_family = AF_INET;
        *len = sizeof out->v4;
        return NULL;
    }
    return bad_address(address);
}

static struct error *failed(const char *address, int fd, int number) {
    if (fd >= 0)
        close(fd);
    if (number == EADDRINUSE)
        return error_new(ERROR_IO, "cannot listen on %s: another process does already", address);
    return error_new(ERROR_IO, "cannot listen on %s: %s", address, strerror(number));
}

struct error *listen_open(const char *address, int *fd, uint16_t *port) {
    union address name;
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
