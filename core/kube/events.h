// SPDX-License-Identifier: Apache-2.0
// Writes Kubernetes Events (events.k8s.io/v1), so that people see with kubectl what the host did about their object.
// The first occurrence is created, the second makes it a series, later ones are counted here and written seldom. Events
// are for people and are worth little: what the server rejects, or what is too much, is dropped. A recorder belongs to
// the thread of its client.
#ifndef WHARF_KUBE_EVENTS_H
#define WHARF_KUBE_EVENTS_H

#include "core/kube/client.h"

struct event {
    // The object it is about (core/v1 ObjectReference).
    const char *api_version, *kind, *namespace_, *name, *uid; // namespace_ "" for cluster-scoped
    bool warning;                                             // type Warning, else Normal
    const char *reason;                                       // "Placed": why, for programs; at most 128 bytes
    const char *action;                                       // "Place": what was done or tried; at most 128 bytes
    const char *note;                                         // for people; cut at 1024 bytes
};

struct recorder;
// `client` is not owned and outlives the recorder; the other texts are copied. `reporting_controller` is a qualified
// name ("wharf.dev/host"); `reporting_instance` is cut at 128 bytes.
struct error *recorder_new(struct client *client, const char *reporting_controller, const char *reporting_instance,
                           uint64_t seed, struct recorder **out);

// Copies the event. One that comes too often, or is not valid (no reason, no action, no name), is dropped and counted.
// Nothing is sent before the next tick.
void recorder_event(struct recorder *recorder, struct moment now, const struct event *event);

// Hands requests to the client, which sends them at its own next tick. Returns the monotonic time of the next call that
// is needed, or CLOCK_NEVER; it is also needed after the client called handlers.
int64_t recorder_tick(struct recorder *recorder, struct moment now);

// Occurrences that no request told of and none will.
size_t recorder_dropped(const struct recorder *recorder);

// Cancels what is under way.
void recorder_free(struct recorder *recorder);

#endif
