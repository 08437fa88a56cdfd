// SPDX-License-Identifier: Apache-2.0
// Passes bytes on between a client's socket and a tunnel, in both directions, through buffers of fixed size.
#ifndef WHARF_SERVE_RELAY_H
#define WHARF_SERVE_RELAY_H

#include "core/kube/tunnel.h"

// Until one side ends, or *stop. `early` was sent by the client before.
void relay_run(int client, const void *early, size_t early_len, struct tunnel *tunnel, const atomic_bool *stop);

#endif
