// SPDX-License-Identifier: Apache-2.0
// What the threads of the clusters hand to the engine's thread: an event queue with a lock. A thread whose cluster's
// line is full waits, so that a large list does not have to fit into memory as parsed objects; the others go on.
#ifndef WHARF_HOST_INBOX_H
#define WHARF_HOST_INBOX_H

#include "core/host/event_queue.h"

struct inbox;
// `max_events` and `max_bytes` hold for each cluster.
struct error *inbox_new(size_t n_clusters, size_t max_events, size_t max_bytes, struct inbox **out);
void inbox_free(struct inbox *inbox);

// Takes what the event owns (see link_options.post). Waits while there is no room for it, and for memory. After
// inbox_close everything is dropped. Not on the engine's thread.
void inbox_post(struct inbox *inbox, struct engine_event *event);
// The same without waiting for room: for the engine's own thread.
void inbox_post_now(struct inbox *inbox, struct engine_event *event);

// What event_queue_take gives; waits for the first item until `until_ns` (CLOCK_BOOTTIME) or a call of inbox_poke.
// NULL: none.
struct event_item *inbox_take(struct inbox *inbox, int64_t until_ns);

// Since when (CLOCK_BOOTTIME) something in it has been waiting without an inbox_take; CLOCK_NEVER: it is empty.
int64_t inbox_waiting_since(struct inbox *inbox);

void inbox_poke(struct inbox *inbox);
void inbox_close(struct inbox *inbox);

#endif
