// SPDX-License-Identifier: Apache-2.0
// The connections of the server. There is room for a few; when that is used up, or one has kept its request for too
// long, whoever has the most of them loses the oldest one. So slow or many connections of some keep nobody else out,
// a probe from the same address included: its request comes at once, and is answered before its turn to go. Used on
// the server's thread only.
#ifndef WHARF_SERVE_GUESTS_H
#define WHARF_SERVE_GUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define GUESTS_MAX ((size_t)32)
#define GUEST_S 20 // for a request and its answer

struct guest {
    int fd;
    uint8_t address[16]; // IPv6, or IPv4 mapped into it
    int64_t since_ns;    // it came, or its last request was answered
    bool leaving;        // its socket was shut down
};

struct guests {
    struct guest list[GUESTS_MAX * 2]; // those that leave are counted until their socket is closed
    size_t count;
};

// A connection was accepted. Returns the socket of one that has to go for it, to be shut down; -1: none.
int guests_come(struct guests *guests, int fd, const struct sockaddr *address, int64_t now_ns);

// A request of this connection was answered.
void guests_served(struct guests *guests, int fd, int64_t now_ns);

// Its socket is about to be closed.
void guests_gone(struct guests *guests, int fd);

// The socket of a connection that has had its time, to be shut down; -1: none (any more).
int guests_late(struct guests *guests, int64_t now_ns);

#endif
