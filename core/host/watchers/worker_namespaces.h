// SPDX-License-Identifier: Apache-2.0
// Namespaces and ResourceQuotas of one worker, watched while the engine asks for it (RELIST_SPACES) and may: which
// namespaces changed is told, at most once a second. Used on the cluster's thread.
#ifndef WHARF_HOST_WATCHERS_WORKER_NAMESPACES_H
#define WHARF_HOST_WATCHERS_WORKER_NAMESPACES_H

#include "core/engine/event.h"
#include "core/kube/watch/reflector.h"

struct space_watch_options { // not copied but for `name`
    const char *name;        // of the cluster, for log lines
    struct transport *transport;
    struct budget *budget;
    struct meter *meter;
    uint64_t seed;
    void (*post)(void *ctx, struct engine_event *event); // EVENT_NAMESPACE, see link_options
    void *ctx;
};

struct space_watch;
struct error *space_watch_new(const struct space_watch_options *options, struct space_watch **out);
void space_watch_free(struct space_watch *watch);

// From the next tick on, for a while.
void space_watch_want(struct space_watch *watch);
int64_t space_watch_tick(struct space_watch *watch, struct moment now);

#endif
