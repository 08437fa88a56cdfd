// SPDX-License-Identifier: Apache-2.0
// Events on their way from the clusters to the engine: a line for each cluster, each bounded in events and in bytes,
// and taken from in turn, so that a flood of one cluster delays no other. No threads: inbox.h has those; the simulation
// uses the queue as it is.
#ifndef WHARF_HOST_EVENT_QUEUE_H
#define WHARF_HOST_EVENT_QUEUE_H

#include "core/engine/event.h"

struct event_item {
    struct event_item *next;
    struct engine_event event; // see engine_event_own
    size_t bytes;              // about what it takes
};

// Takes what the event owns and copies the rest. NULL when out of memory; the event is as it was then.
struct event_item *event_item_new(struct engine_event *event);
void event_item_free(struct event_item *item); // with what the engine did not take

struct event_queue;
// `max_events` and `max_bytes` hold for each cluster.
struct error *event_queue_new(size_t n_clusters, size_t max_events, size_t max_bytes, struct event_queue **out);
void event_queue_free(struct event_queue *queue);

// Whether its cluster's line is within its bounds with it. What is larger than all that may wait fits in alone.
bool event_queue_has_room(const struct event_queue *queue, const struct event_item *item);
// At the end of its cluster's line, whether there is room or not. Takes it.
void event_queue_put(struct event_queue *queue, struct event_item *item);

// Some items of each cluster, in its order; the next call begins with another cluster. NULL: it is empty.
struct event_item *event_queue_take(struct event_queue *queue);

size_t event_queue_count(const struct event_queue *queue);

#endif
