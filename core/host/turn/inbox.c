// SPDX-License-Identifier: Apache-2.0
#include "core/host/turn/turn.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/thread.h"

#include <pthread.h>
#include <time.h>

#define LOOK_NS (10 * CLOCK_SECOND) // to notice a resume from system sleep
#define MEMORY_WAIT_NS (10 * CLOCK_MS)
struct inbox {
    pthread_mutex_t mutex;
    pthread_cond_t filled, emptied;
    struct event_queue queue;
    int64_t filled_ns; // since when something has been waiting that the last inbox_take did not see
    bool poked, closed;
};

struct error *inbox_new(size_t n_clusters, size_t max_events, size_t max_bytes, struct inbox **out) {
    struct inbox *inbox = calloc(1, sizeof *inbox);
    if (!inbox)
        return error_no_memory();
    inbox->queue = (struct event_queue){.max_events = max_events, .max_bytes = max_bytes};
    struct error *error = event_queue_grow(&inbox->queue, n_clusters);
    if (error) {
        free(inbox);
        return error;
    }
    pthread_mutex_init(&inbox->mutex, NULL);
    clock_condition_init(&inbox->filled);
    clock_condition_init(&inbox->emptied);
    *out = inbox;
    return NULL;
}

void inbox_free(struct inbox *inbox) {
    if (!inbox)
        return;
    event_queue_clear(&inbox->queue);
    pthread_mutex_destroy(&inbox->mutex);
    pthread_cond_destroy(&inbox->filled);
    pthread_cond_destroy(&inbox->emptied);
    free(inbox);
}

struct error *inbox_grow(struct inbox *inbox, size_t n_clusters) {
    AUTO_LOCK(&inbox->mutex);
    return event_queue_grow(&inbox->queue, n_clusters);
}

void inbox_limit(struct inbox *inbox, size_t max_bytes) {
    AUTO_LOCK(&inbox->mutex);
    inbox->queue.max_bytes = max_bytes;
    pthread_cond_broadcast(&inbox->emptied);
}

bool inbox_is_empty(struct inbox *inbox, size_t cluster) {
    AUTO_LOCK(&inbox->mutex);
    return inbox->queue.lines[cluster].events == 0;
}

struct event_item *inbox_item(struct engine_event *event) {
    struct event_item *item;
    while (!(item = event_item_new(event)))
        nanosleep(&(struct timespec){.tv_nsec = MEMORY_WAIT_NS}, NULL);
    return item;
}

// With the mutex held. *wakes: the engine's thread may be waiting. The items that a closed inbox does not take.
static struct event_item *put(struct inbox *inbox, struct event_item *items, bool waits, bool *wakes) {
    for (struct event_item *item = items, *next; item; item = next) {
        while (waits && !inbox->closed && !event_queue_has_room(&inbox->queue, item)) {
            pthread_cond_signal(&inbox->filled); // the engine has to take the earlier items first
            pthread_cond_wait(&inbox->emptied, &inbox->mutex);
            *wakes = true;
        }
        if (inbox->closed)
            return item;
        next = item->next;
        if (inbox->queue.events == 0)
            inbox->filled_ns = clock_now().mono_ns;
        event_queue_put(&inbox->queue, item);
    }
    return NULL;
}

static void post(struct inbox *inbox, struct event_item *items, bool waits) {
    pthread_mutex_lock(&inbox->mutex);
    bool wakes = event_queue_ready_ns(&inbox->queue) > clock_now().mono_ns;
    struct event_item *dropped = put(inbox, items, waits, &wakes);
    pthread_mutex_unlock(&inbox->mutex);
    if (wakes) // signalled without the mutex, which the engine's thread would only wait for
        pthread_cond_signal(&inbox->filled);
    event_items_free(dropped);
}

void inbox_post(struct inbox *inbox, struct event_item *items) {
    post(inbox, items, true);
}

void inbox_post_now(struct inbox *inbox, struct engine_event *event) {
    post(inbox, inbox_item(event), false);
}

// The condition variable uses CLOCK_MONOTONIC, the host CLOCK_BOOTTIME: the difference is the time spent suspended.
static void wait_filled(struct inbox *inbox, int64_t until_ns) {
    if (until_ns == CLOCK_NEVER) {
        pthread_cond_wait(&inbox->filled, &inbox->mutex);
        return;
    }
    int64_t left_ns = until_ns - clock_now().mono_ns;
    if (left_ns <= 0) {
        inbox->poked = true;
        return;
    }
    clock_condition_wait(&inbox->filled, &inbox->mutex, clock_earlier(left_ns, LOOK_NS));
}

struct event_item *inbox_take(struct inbox *inbox, int64_t until_ns) {
    AUTO_LOCK(&inbox->mutex);
    int64_t ready_ns, now_ns;
    while ((ready_ns = event_queue_ready_ns(&inbox->queue)) > (now_ns = clock_now().mono_ns) && !inbox->poked &&
           !inbox->closed)
        wait_filled(inbox, clock_earlier(until_ns, ready_ns));
    inbox->poked = false;
    inbox->filled_ns = now_ns;
    pthread_cond_broadcast(&inbox->emptied);
    return event_queue_take(&inbox->queue, now_ns);
}

void inbox_charge(struct inbox *inbox, const struct engine *engine, int64_t now_ns) {
    AUTO_LOCK(&inbox->mutex);
    for (size_t c = 0; c < inbox->queue.n_clusters; c++)
        event_queue_spent(&inbox->queue, c, engine_time_of(engine, c), now_ns);
}

int64_t inbox_waiting_since(struct inbox *inbox) {
    AUTO_LOCK(&inbox->mutex);
    return inbox->queue.events > 0 ? inbox->filled_ns : CLOCK_NEVER;
}

size_t inbox_depth(struct inbox *inbox, size_t cluster, int64_t *since_ns) {
    AUTO_LOCK(&inbox->mutex);
    bool known = cluster < inbox->queue.n_clusters;
    const struct event_line *line = known ? &inbox->queue.lines[cluster] : NULL;
    *since_ns = line && line->first ? line->first->event.received_ns : CLOCK_NEVER;
    return line ? line->events : 0;
}

void inbox_poke(struct inbox *inbox) {
    AUTO_LOCK(&inbox->mutex);
    inbox->poked = true;
    pthread_cond_signal(&inbox->filled);
}

void inbox_close(struct inbox *inbox) {
    AUTO_LOCK(&inbox->mutex);
    inbox->closed = true;
    pthread_cond_broadcast(&inbox->emptied);
    pthread_cond_broadcast(&inbox->filled);
}

void outbox_init(struct outbox *outbox, struct inbox *inbox) {
    *outbox = (struct outbox){.inbox = inbox, .due_ns = CLOCK_NEVER};
}

void outbox_free(struct outbox *outbox) {
    event_items_free(outbox->first);
    outbox_init(outbox, outbox->inbox);
}

static void post_held(struct outbox *outbox) {
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
        post_held(outbox);
}

int64_t outbox_tick(struct outbox *outbox, int64_t now_ns) {
    if (outbox->first && outbox->due_ns <= now_ns)
        post_held(outbox);
    return outbox->due_ns;
}
