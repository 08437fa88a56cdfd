// SPDX-License-Identifier: Apache-2.0
// Writes Kubernetes Events (events.k8s.io/v1), which report the host's actions to the users of the objects. The first
// occurrence creates the Event, the second makes it a series, later ones are counted and flushed at intervals. Events
// are best-effort: those that the server rejects, or that exceed the rate limit, are dropped. A recorder belongs to the
// thread of its client.
#pragma once

#include "core/kube/client/client.h"

struct event {
    // The object that the Event is about (core/v1 ObjectReference).
    const char *api_version, *kind, *namespace_, *name, *uid; // namespace_ "" for cluster-scoped
    bool warning;                                             // type Warning, else Normal
    const char *reason;                                       // "Placed": why, for programs; at most 128 bytes
    const char *action;                                       // "Place": the action or attempt; at most 128 bytes
    const char *note;                                         // human-readable; truncated at 1024 bytes
};

struct recorder;
// `client` is not owned and outlives the recorder; the other texts are copied. `reporting_controller` is a qualified
// name ("wharf.dev/host"); `reporting_instance` is truncated at 128 bytes.
struct error *recorder_new(struct client *client, const char *reporting_controller, const char *reporting_instance,
                           uint64_t seed, struct recorder **out);

// Requests go out only while the gate is open (gate.h); until then the recorder retries as after a failure.
void recorder_gate(struct recorder *recorder, struct gate *gate);

// Copies the event. Drops and counts events over the rate limit, and invalid ones (no reason, action or name). Sends
// nothing before the next tick.
void recorder_event(struct recorder *recorder, struct moment now, const struct event *event);

// Submits requests to the client, for the client's next tick. Returns the monotonic time of the next call needed, or
// CLOCK_NEVER; a call is also needed after the client has called handlers.
int64_t recorder_tick(struct recorder *recorder, struct moment now);

// Occurrences that were never written and will not be.
size_t recorder_dropped(const struct recorder *recorder);

// Cancels requests in flight.
void recorder_free(struct recorder *recorder);
