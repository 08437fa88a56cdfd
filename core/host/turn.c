// SPDX-License-Identifier: Apache-2.0
#include "core/host/turn.h"

#define DISPATCH_AT 64 // commands, so that sending starts before a long turn ends

static void step(struct turn *turn, struct engine_event *event) {
    const struct turn_mark older = {turn->update.n_commands, turn->update.n_events, turn->update.n_log};
    engine_step(turn->engine, event, &turn->update);
    if (turn->after)
        turn->after(turn->ctx, &turn->update, &older);
    if (turn->update.n_commands >= DISPATCH_AT)
        dispatch_run(turn->dispatch, &turn->update);
}

size_t turn_run(struct turn *turn, struct event_item *items) {
    size_t count = 0;
    for (struct event_item *item = items, *next; item; item = next, count++) {
        next = item->next;
        if (turn->before)
            turn->before(turn->ctx, &item->event);
        item->event.now = turn->now(turn->ctx);
        step(turn, &item->event);
        event_item_free(item);
    }
    struct moment now = turn->now(turn->ctx);
    if (count == 0 || turn->update.wake_ns <= now.mono_ns)
        step(turn, &(struct engine_event){.type = EVENT_TIME, .now = now});
    dispatch_run(turn->dispatch, &turn->update);
    return count;
}
