// SPDX-License-Identifier: Apache-2.0
// What happens to the pods of mirrors in one worker, told to the engine as remarks: Events about pods are watched from
// now on and not kept, pods are followed to their mirror (owner_chain.h), and reports are aggregated and limited
// (pod_groups.h). It has a client and a budget of requests of its own, so that it delays nothing else. Used on the
// cluster's thread.
#ifndef WHARF_HOST_PODS_POD_EVENTS_H
#define WHARF_HOST_PODS_POD_EVENTS_H

#include "core/config/config.h"
#include "core/engine/event.h"
#include "core/host/pods/pod_groups.h"
#include "core/kube/client/client.h"

struct pod_events_options {
    const char *cluster; // name, for log lines; copied
    struct transport *transport;
    struct budget *budget; // may be NULL
    struct meter *meter;   // may be NULL
    const char *origin;
    struct kind *const *kinds;
    size_t n_kinds;
    bool normal; // Events of type Normal too
    uint64_t seed;
    void (*post)(void *ctx, struct engine_event *event); // see cluster_io_options
    void *ctx;
};

struct pod_events;
struct error *pod_events_new(const struct pod_events_options *options, struct pod_events **out);
void pod_events_free(struct pod_events *events);

// A mirror was seen: with the first one the watch begins, so that a cluster which is refused is asked for nothing. If
// more of its pods have failed, they are looked at.
void pod_events_mirror(struct pod_events *events, size_t kind, const struct json *mirror);

// There were mirrors before.
void pod_events_begin(struct pod_events *events);

// Whether Events of type Normal are passed on too: another watch is opened.
void pod_events_set_normal(struct pod_events *events, bool normal);
void pod_events_set_kinds(struct pod_events *events, struct kind *const *kinds, size_t n_kinds); // see owner_chain.h

int64_t pod_events_tick(struct pod_events *events, struct moment now);

#endif
