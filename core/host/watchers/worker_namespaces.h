// SPDX-License-Identifier: Apache-2.0
// Namespaces and ResourceQuotas of one worker, watched while the engine asks for it (RELIST_SPACES) and may: which
// namespaces changed is told, at most once a second. Used on the cluster's thread.
#ifndef WHARF_HOST_WATCHERS_WORKER_NAMESPACES_H
#define WHARF_HOST_WATCHERS_WORKER_NAMESPACES_H

#include "core/engine/event.h"
#include "core/kube/watch/reflector.h"

struct worker_namespaces_options { // not copied but for `name`
    const char *name;              // of the cluster, for log lines
    struct transport *transport;
    struct budget *budget;
    struct meter *meter;
    uint64_t seed;
    void (*post)(void *ctx, struct engine_event *event); // EVENT_NAMESPACE, see cluster_io_options
    void *ctx;
};

struct worker_namespaces;
struct error *worker_namespaces_new(const struct worker_namespaces_options *options, struct worker_namespaces **out);
void worker_namespaces_free(struct worker_namespaces *watch);

// From the next tick on, for a while.
void worker_namespaces_want(struct worker_namespaces *watch);
int64_t worker_namespaces_tick(struct worker_namespaces *watch, struct moment now);

#endif
