// SPDX-License-Identifier: Apache-2.0
// The connections of the server, bounded. Beyond the bound, the address with most connections loses the oldest one; a
// request that takes too long ends the connection. So many or slow connections do not block other clients, nor a probe
// from the same address, with a request that comes and ends at once. Streams and sessions, which last, and requests
// that wait for the review of their token have bounds of their own, and take no place of others. The caller has a lock.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define CONNECTIONS_OPEN_MAX ((size_t)32)
#define CONNECTION_TIMEOUT_S 20 // for a request and the answer

enum connection_kind { CONNECTION_SHORT, CONNECTION_LOGS, CONNECTION_EXEC, CONNECTION_WATCH, CONNECTION_REVIEW };
#define CONNECTIONS_LOGS ((size_t)64)
#define CONNECTIONS_EXEC ((size_t)64)
#define CONNECTIONS_WATCH ((size_t)64)
#define CONNECTIONS_REVIEW ((size_t)64) // wait for the review of their token; of one network at most half
#define CONNECTIONS_STREAMS (CONNECTIONS_LOGS + CONNECTIONS_EXEC + CONNECTIONS_WATCH)
// Including those being closed.
#define CONNECTIONS_MAX (CONNECTIONS_OPEN_MAX * 2 + CONNECTIONS_STREAMS + CONNECTIONS_REVIEW)

struct served_connection {
    int fd;
    uint8_t address[16]; // IPv6, or mapped IPv4
    int64_t since_ns;    // accepted, or the last request was answered
    bool closing;        // the socket was shut down
    const char *user;    // of a stream or a session; NULL: not counted
    enum connection_kind kind;
};

struct connections {
    struct served_connection list[CONNECTIONS_MAX]; // a connection stays in the list until the end of the socket
    size_t count;
};

// IPv6, or mapped IPv4; zeros for another family, and NULL.
void connections_address(const struct sockaddr *address, uint8_t out[16]);

// Adds an accepted connection. Returns the socket to shut down in exchange; -1: none.
int connections_add(struct connections *connections, int fd, const struct sockaddr *address, int64_t now_ns);

// The request of this connection asks for something that lasts. False: there are as many of the kind as may be, or as
// many of the network as may wait for a review (for IPv6 the network is the /64).
bool connections_extend(struct connections *connections, int fd, enum connection_kind kind);
size_t connections_limit(enum connection_kind kind);

// False: the user has as many of the connection's kind as one may have, which is half of all. The name must stay valid
// until connections_served or connections_remove.
bool connections_claim(struct connections *connections, int fd, const char *user);
size_t connections_user_limit(enum connection_kind kind);

// Call after an answer to a request of this connection, or the review of the token.
void connections_served(struct connections *connections, int fd, int64_t now_ns);

// Call before closing the socket.
void connections_remove(struct connections *connections, int fd);

// The socket of a connection with a request that has timed out, to be shut down; -1: no more.
int connections_expire(struct connections *connections, int64_t now_ns);
