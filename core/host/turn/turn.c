// SPDX-License-Identifier: Apache-2.0
#include "core/host/turn/turn.h"

// Requests go out in batches, which saves wakeups, and early enough that no window stays empty for the rest of a long
// turn.
#define DISPATCH_AT 16                    // commands
#define DISPATCH_NS (CLOCK_SECOND / 5000) // after the first

static void step(struct turn *turn, struct engine_event *event) {
    const struct turn_mark older = {turn->update.n_commands, turn->update.n_events, turn->update.n_log};
    engine_step(turn->engine, event, &turn->update);
    if (turn->after)
        turn->after(turn->ctx, &turn->update, &older);
    if (older.commands == 0)
        turn->first_ns = event->now.mono_ns;
    if (turn->update.n_commands >= DISPATCH_AT ||
        (turn->update.n_commands > 0 && event->now.mono_ns - turn->first_ns >= DISPATCH_NS))
        dispatch_run(turn->dispatch, &turn->update);
}

size_t turn_run(struct turn *turn, struct event_item *items) {
    size_t count = 0;
    int64_t begun_ns = 0;
    for (struct event_item *item = items, *next; item; item = next, count++) {
        next = item->next;
        if (turn->before)
            turn->before(turn->ctx, &item->event);
        item->event.now = turn->now(turn->ctx);
        if (count > 0)
            histogram_add(&turn->steps, TURN_STEP_NS, item->event.now.mono_ns - begun_ns);
        begun_ns = item->event.now.mono_ns;
        step(turn, &item->event);
        event_item_free(item);
    }
    struct moment now = turn->now(turn->ctx);
    if (count > 0)
        histogram_add(&turn->steps, TURN_STEP_NS, now.mono_ns - begun_ns);
    if (count == 0 || turn->update.wake_ns <= now.mono_ns)
        step(turn, &(struct engine_event){.type = EVENT_TIME, .now = now});
    dispatch_run(turn->dispatch, &turn->update);
    return count;
}
