// SPDX-License-Identifier: Apache-2.0
// The listening socket, and a thread that accepts connections and passes them on. When file descriptors run out, it
// logs that and waits, where a server that retries at once would keep a processor busy.
#pragma once

#include "core/base/error.h"

#include <stdint.h>
#include <sys/socket.h>

// A listening socket that does not block. ERROR_INVALID: `address` is no IP address with a port.
struct error *listen_open(const char *address, int *fd, uint16_t *port);

struct acceptor;
// Takes `fd`, a listening socket that does not block, also on failure. `take` gets each connection (not blocking,
// close-on-exec), on the acceptor's thread.
struct error *acceptor_start(int fd, void (*take)(void *ctx, int fd, const struct sockaddr *address, socklen_t len),
                             void *ctx, struct acceptor **out);
void acceptor_stop(struct acceptor *acceptor); // NULL is fine
