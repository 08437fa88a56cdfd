// SPDX-License-Identifier: Apache-2.0
// What the threads of the clusters hand to the engine's thread. Bounded for each cluster, in events and in bytes of
// memory: a thread that runs ahead of the engine waits, so that a large list does not have to fit into memory as parsed
// objects; the others go on. What is taken out comes from all clusters in turn: a flood of one delays no other.
#ifndef WHARF_HOST_INBOX_H
#define WHARF_HOST_INBOX_H

#include "core/engine/engine.h"

struct inbox_item {
    struct inbox_item *next;
    struct engine_event event; // see engine_event_own
    size_t bytes;              // about what it takes
};

struct inbox;
// `max_events` and `max_bytes` hold for each cluster.
struct error *inbox_new(size_t n_clusters, size_t max_events, size_t max_bytes, struct inbox **out);
void inbox_free(struct inbox *inbox);

// Takes what the event owns (see link_options.post). Waits while the cluster has too many items, or too much, in; an
// event that is larger than all is let in alone. After inbox_close everything is dropped. Not on the engine's thread.
void inbox_post(struct inbox *inbox, struct engine_event *event);
// The same without waiting: for the engine's own thread.
void inbox_post_now(struct inbox *inbox, struct engine_event *event);

// Some items of each cluster, in its order of posting; waits for the first one until `until_ns` (CLOCK_BOOTTIME) or a
// call of inbox_poke. NULL: none.
struct inbox_item *inbox_take(struct inbox *inbox, int64_t until_ns);
void inbox_item_free(struct inbox_item *item); // what the engine did not take

// Since when (CLOCK_BOOTTIME) something in it has been waiting without an inbox_take; CLOCK_NEVER: it is empty.
int64_t inbox_waiting_since(struct inbox *inbox);

void inbox_poke(struct inbox *inbox);
void inbox_close(struct inbox *inbox);

#endif
