// SPDX-License-Identifier: Apache-2.0
// The Workloads of a cluster's Kueue, told to the engine (EVENT_QUEUED) as far as they are of workloads or mirrors of
// this host. Used on the cluster's thread.
#ifndef WHARF_HOST_WATCHERS_KUEUE_WORKLOADS_H
#define WHARF_HOST_WATCHERS_KUEUE_WORKLOADS_H

#include "core/engine/event.h"
#include "core/kube/client/client.h"

struct kueue_workloads_options {
    size_t cluster;   // ENGINE_MANAGEMENT or a worker's number
    const char *name; // of it, for log lines; copied
    struct transport *transport;
    struct budget *budget; // may be NULL
    struct meter *meter;   // may be NULL
    bool watch_list;
    uint64_t seed;
    void (*post)(void *ctx, struct engine_event *event); // see cluster_io_options
    void *ctx;
};

struct kueue_workloads;
struct error *kueue_workloads_new(const struct kueue_workloads_options *options, struct kueue_workloads **out);
void kueue_workloads_free(struct kueue_workloads *workloads); // NULL is allowed

// A workload or mirror was seen, or is gone. With the first one that is in a queue the watch begins. What is known of
// it is posted by the next tick, so after the event of the object itself.
void kueue_workloads_seen(struct kueue_workloads *workloads, size_t kind, const struct json *object);
void kueue_workloads_gone(struct kueue_workloads *workloads, const struct json *object);

// The same of a list of the kind: what it lacks is gone.
void kueue_workloads_listing(struct kueue_workloads *workloads, size_t kind);
void kueue_workloads_listed(struct kueue_workloads *workloads, size_t kind);

int64_t kueue_workloads_tick(struct kueue_workloads *workloads, struct moment now);

#endif
