// SPDX-License-Identifier: Apache-2.0
// `wharf cordon`, `uncordon`, `drain` and `retry`: what operators ask of a running host. It is written to the
// management cluster with the caller's own rights, where the host sees it, so that it outlives both.
#ifndef WHARF_CMD_OPERATE_H
#define WHARF_CMD_OPERATE_H

#include "core/cmd/remote/remote.h"

// The entry of a worker in ConfigMap wharf-workers.
struct worker_order {
    bool cordoned;
    const char *drain; // "finish", "move"; NULL: no
};

// Reads, changes and writes the ConfigMap, again if somebody else was faster; creates it if it is missing. An entry
// that orders nothing is removed.
struct error *order_write(struct client *management, const char *namespace_, const char *worker,
                          const struct worker_order *order);

// The worker's entry in the host's list, a copy. *out is NULL without an error if the host was not reached, of which a
// warning is printed unless *warned: the order takes effect when it runs again. ERROR_NOT_FOUND: the host knows no such
// worker.
struct error *order_find_worker(struct remote *remote, const char *worker, bool *warned, struct json **out);

#endif
