// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http/net.h"

#include "core/base/clock.h"

#include <netinet/in.h>

void connections_address(const struct sockaddr *address, uint8_t out[16]) {
    memset(out, 0, 16);
    if (address && address->sa_family == AF_INET6)
        memcpy(out, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
    else if (address && address->sa_family == AF_INET) {
        out[10] = out[11] = 0xff;
        memcpy(out + 12, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    }
}

// Connections of a kind. `near`: only those whose address begins with the same `len` bytes; `user`: only the user's.
static size_t count_kind(const struct connections *connections, enum connection_kind kind,
                         const struct served_connection *near, size_t len, const char *user) {
    size_t count = 0;
    for (size_t i = 0; i < connections->count; i++) {
        const struct served_connection *other = &connections->list[i];
        count += other->kind == kind && (!near || memcmp(other->address, near->address, len) == 0) &&
                 (!user || (other->user && strcmp(other->user, user) == 0));
    }
    return count;
}

static int shut_down(struct served_connection *connection) {
    connection->kind = CONNECTION_CLOSING;
    return connection->fd;
}

// The oldest one of the address that has most.
static int make_room(struct connections *connections) {
    struct served_connection *chosen = NULL;
    size_t most = 0;
    for (size_t i = 0; i < connections->count; i++) {
        struct served_connection *connection = &connections->list[i];
        size_t count =
            connection->kind == CONNECTION_SHORT ? count_kind(connections, CONNECTION_SHORT, connection, 16, NULL) : 0;
        if (count > most || (count > 0 && count == most && connection->since_ns < chosen->since_ns)) {
            chosen = connection;
            most = count;
        }
    }
    return chosen ? shut_down(chosen) : -1;
}

int connections_add(struct connections *connections, int fd, const struct sockaddr *address, int64_t now_ns) {
    size_t n_short = count_kind(connections, CONNECTION_SHORT, NULL, 0, NULL);
    size_t n_closing = count_kind(connections, CONNECTION_CLOSING, NULL, 0, NULL);
    if (n_short + n_closing >= CONNECTIONS_OPEN_MAX * 2 || connections->count == CONNECTIONS_MAX)
        return fd; // too many are still being closed
    int away = n_short >= CONNECTIONS_OPEN_MAX ? make_room(connections) : -1;
    struct served_connection *connection = &connections->list[connections->count++];
    *connection = (struct served_connection){.fd = fd, .since_ns = now_ns};
    connections_address(address, connection->address);
    return away;
}

static struct served_connection *find_connection(struct connections *connections, int fd) {
    for (size_t i = 0; i < connections->count; i++)
        if (connections->list[i].fd == fd)
            return &connections->list[i];
    return NULL;
}

size_t connections_limit(enum connection_kind kind) {
    return kind == CONNECTION_SHORT ? CONNECTIONS_OPEN_MAX : CONNECTIONS_LASTING;
}

bool connections_extend(struct connections *connections, int fd, enum connection_kind kind) {
    struct served_connection *connection = find_connection(connections, fd);
    if (!connection || connection->kind == CONNECTION_CLOSING)
        return false;
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    size_t len = memcmp(connection->address, mapped, sizeof mapped) == 0 ? 16 : 8;
    if (count_kind(connections, kind, NULL, 0, NULL) >= connections_limit(kind) ||
        (kind == CONNECTION_REVIEW && count_kind(connections, kind, connection, len, NULL) >= CONNECTIONS_REVIEW / 2))
        return false;
    connection->kind = kind;
    return true;
}

size_t connections_user_limit(enum connection_kind kind) {
    return connections_limit(kind) / 2;
}

bool connections_claim(struct connections *connections, int fd, const char *user) {
    struct served_connection *connection = find_connection(connections, fd);
    if (!connection ||
        count_kind(connections, connection->kind, NULL, 0, user) >= connections_user_limit(connection->kind))
        return false;
    connection->user = user;
    return true;
}

void connections_served(struct connections *connections, int fd, int64_t now_ns) {
    struct served_connection *connection = find_connection(connections, fd);
    if (!connection || connection->kind == CONNECTION_CLOSING)
        return;
    connection->since_ns = now_ns;
    connection->kind = CONNECTION_SHORT;
    connection->user = NULL;
}

void connections_remove(struct connections *connections, int fd) {
    struct served_connection *connection = find_connection(connections, fd);
    if (connection)
        *connection = connections->list[--connections->count];
}

int connections_expire(struct connections *connections, int64_t now_ns) {
    for (size_t i = 0; i < connections->count; i++) {
        struct served_connection *connection = &connections->list[i];
        if (connection->kind == CONNECTION_SHORT && now_ns - connection->since_ns > CONNECTION_TIMEOUT_S * CLOCK_SECOND)
            return shut_down(connection);
    }
    return -1;
}
