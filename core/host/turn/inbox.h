// SPDX-License-Identifier: Apache-2.0
// The engine's inbox: an event queue with a lock, filled by the cluster threads. A thread whose cluster's line is full
// blocks, so that a large list need not fit into memory as parsed objects; the other threads continue.
#pragma once

#include "core/host/turn/event_queue.h"

struct inbox;
// `max_events` and `max_bytes` apply to each cluster.
struct error *inbox_new(size_t n_clusters, size_t max_events, size_t max_bytes, struct inbox **out);
void inbox_free(struct inbox *inbox);

// See event_queue.h. From any thread.
struct error *inbox_grow(struct inbox *inbox, size_t n_clusters);
void inbox_limit(struct inbox *inbox, size_t max_bytes);
bool inbox_is_empty(struct inbox *inbox, size_t cluster);

// event_item_new, but waits for memory: a dropped event would lose an answer or a deletion for good.
struct event_item *inbox_item(struct engine_event *event);

// Takes a list of items, in order. Blocks until there is room; drops the items after inbox_close. Not on the engine's
// thread.
void inbox_post(struct inbox *inbox, struct event_item *items);
// The same for an event (see cluster_io_options.post), without waiting for room: for the engine's own thread.
void inbox_post_now(struct inbox *inbox, struct engine_event *event);

// As event_queue_take, but waits for the first item until `until_ns` (CLOCK_BOOTTIME) or a call of inbox_poke. NULL:
// none.
struct event_item *inbox_take(struct inbox *inbox, int64_t until_ns);

// See event_queue_charge.
void inbox_charge(struct inbox *inbox, const struct engine *engine, int64_t now_ns);

// Since when (CLOCK_BOOTTIME) events have been waiting without an inbox_take; CLOCK_NEVER: the inbox is empty.
int64_t inbox_waiting_since(struct inbox *inbox);

// The number of waiting events of a cluster. *since_ns: when the oldest one was received; CLOCK_NEVER: no events.
size_t inbox_depth(struct inbox *inbox, size_t cluster, int64_t *since_ns);

void inbox_poke(struct inbox *inbox);
void inbox_close(struct inbox *inbox);
