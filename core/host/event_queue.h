// SPDX-License-Identifier: Apache-2.0
// Events queued for the engine: one line per cluster, each bounded in events and bytes and served in turn, so that a
// flood from one cluster does not delay the others. Not thread-safe: inbox.h adds the lock; the simulation uses the
// queue directly.
#ifndef WHARF_HOST_EVENT_QUEUE_H
#define WHARF_HOST_EVENT_QUEUE_H

#include "core/engine/event.h"

struct event_item {
    struct event_item *next;
    struct engine_event event; // see engine_event_own
    size_t bytes;              // approximate memory
};

// Takes what the event owns and copies the rest. NULL when out of memory; the event is then unchanged.
struct event_item *event_item_new(struct engine_event *event);
void event_item_free(struct event_item *item);   // and what the engine did not take
void event_items_free(struct event_item *first); // a list

struct event_queue;
// `max_events` and `max_bytes` apply to each cluster.
struct error *event_queue_new(size_t n_clusters, size_t max_events, size_t max_bytes, struct event_queue **out);
void event_queue_free(struct event_queue *queue);

void event_queue_limit(struct event_queue *queue, size_t max_bytes); // of each cluster from now on

// More clusters, between two calls of event_queue_take. Never fewer.
struct error *event_queue_grow(struct event_queue *queue, size_t n_clusters);
bool event_queue_is_empty(const struct event_queue *queue, size_t cluster);

// Whether the item fits into its cluster's line. An item larger than max_bytes fits into an empty line.
bool event_queue_has_room(const struct event_queue *queue, const struct event_item *item);
// Appends the item to its cluster's line, whether there is room or not. Takes it.
void event_queue_put(struct event_queue *queue, struct event_item *item);

// Takes some items of each cluster, in order; the next call begins with another cluster. NULL: the queue is empty.
struct event_item *event_queue_take(struct event_queue *queue);

// Of one cluster. *since_ns: received_ns of the oldest; CLOCK_NEVER: there is none.
size_t event_queue_depth(const struct event_queue *queue, size_t cluster, int64_t *since_ns);
size_t event_queue_count(const struct event_queue *queue);

#endif
