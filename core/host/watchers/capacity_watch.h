// SPDX-License-Identifier: Apache-2.0
// What is left of the nodes of one worker, told to the engine: lists and watches its nodes and the pods that have not
// ended, cut down while they are parsed, keeps only sums (node_table.h), and posts a view of them at most twice a
// second. Where the worker does not let it, or the watch is lost, that is told instead. Used on the cluster's thread.
#ifndef WHARF_HOST_WATCHERS_CAPACITY_WATCH_H
#define WHARF_HOST_WATCHERS_CAPACITY_WATCH_H

#include "core/engine/event.h"
#include "core/kube/client/probe.h"
#include "core/kube/transport/transport.h"

struct capacity_watch_options {
    const char *cluster; // name, for log lines; copied
    struct transport *transport;
    struct budget *budget; // may be NULL, like what follows
    struct meter *meter;
    struct probe *probe;
    bool watch_list;
    uint64_t seed;
    void (*post)(void *ctx, struct engine_event *event); // see cluster_io_options
    void *ctx;
};

struct capacity_watch;
struct error *capacity_watch_new(const struct capacity_watch_options *options, struct capacity_watch **out);
void capacity_watch_free(struct capacity_watch *watch);  // posts nothing; NULL is allowed
void capacity_watch_hurry(struct capacity_watch *watch); // the server was heard again; NULL is allowed
int64_t capacity_watch_tick(struct capacity_watch *watch, struct moment now);

#endif
