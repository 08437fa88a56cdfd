// SPDX-License-Identifier: Apache-2.0
// A cluster thread's events on their way to the engine's inbox. The events of one turn of the thread are posted
// together, to wake the engine once for all.
#pragma once

#include "core/host/turn/inbox.h"

#define OUTBOX_EVENTS 32 // posted at once when there are so many,
#define OUTBOX_BYTES ((size_t)64 << 10)
#define OUTBOX_HELD_NS (20 * CLOCK_MS) // how long an event that can wait stays here for want of another

struct outbox {
    struct inbox *inbox;
    struct event_item *first, *last;
    size_t events, bytes;
    int64_t due_ns; // of the events here
};

void outbox_init(struct outbox *outbox, struct inbox *inbox);
void outbox_free(struct outbox *outbox); // with its events

// Takes the memory that the event owns (see cluster_io_options.post). `can_wait`: not worth waking the engine. May
// block as inbox_post does.
void outbox_put(struct outbox *outbox, struct engine_event *event, bool can_wait, int64_t now_ns);

// At the end of the thread's turn: posts the due events. Returns the time of the next call needed, or CLOCK_NEVER.
int64_t outbox_tick(struct outbox *outbox, int64_t now_ns);
