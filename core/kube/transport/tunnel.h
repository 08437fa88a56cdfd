// SPDX-License-Identifier: Apache-2.0
// A connection to a server after an upgrade of the protocol (RFC 9110 section 7.8): bytes in both directions.
#pragma once

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/kube/transport/transport.h"

#include <stdatomic.h>

struct tunnel;

struct tunnel_answer {  // to the upgrade
    int status;         // 101: accepted
    char *headers;      // lines, with their ends; see tunnel_header
    struct buffer body; // of another status
};
void tunnel_answer_clear(struct tunnel_answer *answer);
// The value of a header, free(); NULL: absent.
char *tunnel_header(const struct tunnel_answer *answer, const char *name);

// Connects with the address, credentials and trust of `transport`, which is from curl_transport_new, has no other
// poller, and stays open as long as the tunnel. `headers` are the lines of the upgrade, each with its end. Blocks;
// *stop ends the wait. On success *out is NULL unless the status is 101. `answer` is filled on success.
struct error *tunnel_open(struct transport *transport, const char *path, const char *headers, const atomic_bool *stop,
                          struct tunnel **out, struct tunnel_answer *answer);
void tunnel_close(struct tunnel *tunnel); // NULL is fine

int tunnel_socket(const struct tunnel *tunnel);
// Bytes read or written; 0: none now; -1: the connection is over. poll(2) does not see bytes that were already read:
// read until 0 first.
ptrdiff_t tunnel_read(struct tunnel *tunnel, void *bytes, size_t len);
ptrdiff_t tunnel_write(struct tunnel *tunnel, const void *bytes, size_t len);
