// SPDX-License-Identifier: Apache-2.0
// Passes bytes on between a client's socket and a tunnel, in both directions, through buffers of fixed size.
#pragma once

#include "core/kube/transport/tunnel.h"
#include "core/serve/access/grants.h"

struct relay {
    int client;
    struct tunnel *tunnel;
    const void *early; // sent by the client before
    size_t early_len;
    const atomic_bool *stop;
    const struct grant *grant; // NULL: none is needed
};
// Until one side ends, *stop, or the grant is lost: the client gets the reason as a WebSocket's close then.
void relay_run(const struct relay *relay);
