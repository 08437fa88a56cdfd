// SPDX-License-Identifier: Apache-2.0
// Events queued for the engine: one line per cluster, each bounded in events and bytes. Lines are served in turn by the
// engine's time that their events use, so that neither floods nor costly objects of one cluster delay the others. Not
// thread-safe: inbox.h adds the lock; the simulation uses the queue directly.
#pragma once

#include "core/engine/engine.h"

struct event_item {
    struct event_item *next;
    struct engine_event event; // see engine_event_own
    size_t bytes;              // approximate memory
};

// Takes the memory that the event owns and copies the rest. NULL when out of memory; the event is then unchanged.
struct event_item *event_item_new(struct engine_event *event);
void event_item_free(struct event_item *item);   // with everything that the engine did not take
void event_items_free(struct event_item *first); // a list

struct event_queue;
// `max_events` and `max_bytes` apply to each cluster.
struct error *event_queue_new(size_t n_clusters, size_t max_events, size_t max_bytes, struct event_queue **out);
void event_queue_free(struct event_queue *queue);

void event_queue_limit(struct event_queue *queue, size_t max_bytes); // of each cluster from now on

// More clusters, between two calls of event_queue_take. Never fewer.
struct error *event_queue_grow(struct event_queue *queue, size_t n_clusters);
bool event_queue_is_empty(const struct event_queue *queue, size_t cluster);

// True: the item fits into its cluster's line. An item larger than max_bytes fits into an empty line.
bool event_queue_has_room(const struct event_queue *queue, const struct event_item *item);
// Appends the item to its cluster's line, even to a full one. Takes the item.
void event_queue_put(struct event_queue *queue, struct event_item *item);

// Takes some items of each cluster, in order; the next call begins with another cluster. A cluster that has used more
// of the engine's time than others waits until the others have used as much, or have nothing; resting clusters are
// skipped. NULL: no items to take.
struct event_item *event_queue_take(struct event_queue *queue, int64_t now_ns);
// From when on there is something to take; CLOCK_NEVER: the queue is empty.
int64_t event_queue_ready_ns(const struct event_queue *queue);

// Sets the engine's time that a cluster has used so far (engine_time_of). After costly objects a cluster rests for
// twice their time, which limits the cluster to a third of the engine's time.
void event_queue_spent(struct event_queue *queue, size_t cluster, struct engine_time time, int64_t now_ns);
void event_queue_charge(struct event_queue *queue, const struct engine *engine, int64_t now_ns);

// Of one cluster. *since_ns: received_ns of the oldest; CLOCK_NEVER: there is none.
size_t event_queue_depth(const struct event_queue *queue, size_t cluster, int64_t *since_ns);
size_t event_queue_count(const struct event_queue *queue);
