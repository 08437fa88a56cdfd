// SPDX-License-Identifier: Apache-2.0
// One turn of the engine: processes the events taken from the queue, in order, and dispatches the updates. Shared by
// production and simulation.
#pragma once

#include "core/host/turn/dispatch.h"
#include "core/host/turn/event_queue.h"

#define TURN_STEP_NS (CLOCK_MS / 100)

// The size of an update before a step.
struct turn_mark {
    size_t commands, events, log;
};

struct turn {
    struct engine *engine;
    struct dispatch *dispatch;
    struct update update;            // update.wake_ns: time of the next turn needed, even without an event
    struct histogram steps;          // the duration of each step and its results; first bound TURN_STEP_NS
    int64_t first_ns;                // time of the update's first command
    struct moment (*now)(void *ctx); // called for each event
    // Called before each event from the queue, and after each step, with the update before its dispatch and its size
    // before the step; may be NULL.
    void (*before)(void *ctx, const struct engine_event *event);
    void (*after)(void *ctx, const struct update *update, const struct turn_mark *older);
    void *ctx;
};

// Takes the items, a linked list; NULL: only time has passed. Returns their number.
size_t turn_run(struct turn *turn, struct event_item *items);
