// SPDX-License-Identifier: Apache-2.0
// One turn of the engine: it is given the events that were taken out of the queue, in their order, and what it asks for
// is dispatched. The same in production and in the simulation.
#ifndef WHARF_HOST_TURN_H
#define WHARF_HOST_TURN_H

#include "core/host/dispatch.h"
#include "core/host/event_queue.h"

// How much an update asked for before a step.
struct turn_mark {
    size_t commands, events, log;
};

struct turn {
    struct engine *engine;
    struct dispatch *dispatch;
    struct update update;            // update.wake_ns: when the next turn is needed, whether something came or not
    struct moment (*now)(void *ctx); // called for each event
    // Called before the engine is given an event from the queue, and after each step, with all that is not dispatched
    // yet and what of it is older than the step; may be NULL.
    void (*before)(void *ctx, const struct engine_event *event);
    void (*after)(void *ctx, const struct update *update, const struct turn_mark *older);
    void *ctx;
};

// Takes the items, in a chain; NULL: only time has passed. Returns how many there were.
size_t turn_run(struct turn *turn, struct event_item *items);

#endif
