// SPDX-License-Identifier: Apache-2.0
#include "core/host/turn/outbox.h"

#include "core/base/memory.h"

void outbox_init(struct outbox *outbox, struct inbox *inbox) {
    *outbox = (struct outbox){.inbox = inbox, .due_ns = CLOCK_NEVER};
}

void outbox_free(struct outbox *outbox) {
    event_items_free(outbox->first);
    outbox_init(outbox, outbox->inbox);
}

static void post(struct outbox *outbox) {
    struct event_item *items = TAKE(outbox->first);
    outbox_init(outbox, outbox->inbox);
    inbox_post(outbox->inbox, items);
}

void outbox_put(struct outbox *outbox, struct engine_event *event, bool can_wait, int64_t now_ns) {
    struct event_item *item = inbox_item(event);
    *(outbox->last ? &outbox->last->next : &outbox->first) = item;
    outbox->last = item;
    outbox->events++;
    outbox->bytes += item->bytes;
    outbox->due_ns = clock_earlier(outbox->due_ns, can_wait ? now_ns + OUTBOX_HELD_NS : now_ns);
    if (outbox->events >= OUTBOX_EVENTS || outbox->bytes >= OUTBOX_BYTES)
        post(outbox);
}

int64_t outbox_tick(struct outbox *outbox, int64_t now_ns) {
    if (outbox->first && outbox->due_ns <= now_ns)
        post(outbox);
    return outbox->due_ns;
}
