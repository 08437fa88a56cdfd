// SPDX-License-Identifier: Apache-2.0
// The engine's inbox: an event queue with a lock, filled by the cluster threads. A thread whose cluster's line is full
// blocks, so that a large list need not fit into memory as parsed objects; the others do not.
#ifndef WHARF_HOST_INBOX_H
#define WHARF_HOST_INBOX_H

#include "core/host/event_queue.h"

struct inbox;
// `max_events` and `max_bytes` apply to each cluster.
struct error *inbox_new(size_t n_clusters, size_t max_events, size_t max_bytes, struct inbox **out);
void inbox_free(struct inbox *inbox);

// event_item_new, but waits for memory: a dropped event would lose an answer or a deletion for good.
struct event_item *inbox_item(struct engine_event *event);

// Takes what the event owns (see link_options.post). Blocks until there is room and memory. After inbox_close events
// are dropped. Not on the engine's thread.
void inbox_post(struct inbox *inbox, struct engine_event *event);
// The same for a list of items, in order.
void inbox_post_items(struct inbox *inbox, struct event_item *items);
// inbox_post without waiting for room: for the engine's own thread.
void inbox_post_now(struct inbox *inbox, struct engine_event *event);

// As event_queue_take, but waits for the first item until `until_ns` (CLOCK_BOOTTIME) or a call of inbox_poke. NULL:
// none.
struct event_item *inbox_take(struct inbox *inbox, int64_t until_ns);

// Since when (CLOCK_BOOTTIME) events have been waiting without an inbox_take; CLOCK_NEVER: the inbox is empty.
int64_t inbox_waiting_since(struct inbox *inbox);

void inbox_poke(struct inbox *inbox);
void inbox_close(struct inbox *inbox);

#endif
