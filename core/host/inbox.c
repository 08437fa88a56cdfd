// SPDX-License-Identifier: Apache-2.0
#include "core/host/inbox.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOK_NS (10 * CLOCK_SECOND) // that a machine which slept is noticed
// Of one cluster at a time, so that what the others post does not wait for a flood of it.
#define TAKE_EVENTS 64
#define TAKE_BYTES ((size_t)256 << 10)

struct line { // what one cluster posted
    struct inbox_item *first, *last;
    size_t events, bytes;
};

struct inbox {
    pthread_mutex_t mutex;
    pthread_cond_t filled, emptied;
    struct line *lines;
    size_t n_clusters, max_events, max_bytes;
    size_t events;     // in all lines
    size_t next;       // the cluster that comes first the next time
    int64_t filled_ns; // since when there is something that was not there at the last inbox_take
    bool poked, closed;
};

struct error *inbox_new(size_t n_clusters, size_t max_events, size_t max_bytes, struct inbox **out) {
    struct inbox *inbox = calloc(1, sizeof *inbox);
    struct line *lines = calloc(n_clusters, sizeof *lines);
    if (!inbox || !lines) {
        free(inbox);
        free(lines);
        return error_no_memory();
    }
    *inbox = (struct inbox){.lines = lines, .n_clusters = n_clusters, .max_events = max_events, .max_bytes = max_bytes};
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&inbox->mutex, NULL);
    pthread_cond_init(&inbox->filled, &attributes);
    pthread_cond_init(&inbox->emptied, &attributes);
    pthread_condattr_destroy(&attributes);
    *out = inbox;
    return NULL;
}

void inbox_item_free(struct inbox_item *item) {
    engine_event_clear(&item->event);
    free(item);
}

void inbox_free(struct inbox *inbox) {
    if (!inbox)
        return;
    for (size_t c = 0; c < inbox->n_clusters; c++) {
        for (struct inbox_item *item = inbox->lines[c].first, *next; item; item = next) {
            next = item->next;
            inbox_item_free(item);
        }
    }
    pthread_mutex_destroy(&inbox->mutex);
    pthread_cond_destroy(&inbox->filled);
    pthread_cond_destroy(&inbox->emptied);
    free(inbox->lines);
    free(inbox);
}

// About what the event takes while it waits.
static size_t cost_of(const struct inbox_item *item) {
    const struct engine_event *event = &item->event;
    if ((event->type == EVENT_SEEN || event->type == EVENT_GONE) && event->object)
        return sizeof *item + object_cost(event->object);
    return sizeof *item + (event->type == EVENT_ANSWER ? event->answer.response->cost : 0);
}

// An event that cannot be handed on would be lost for good, and with it an answer or a deletion: memory is waited for.
static struct inbox_item *make_item(struct engine_event *event) {
    struct inbox_item *item;
    while (!(item = calloc(1, sizeof *item)) || engine_event_own(event, &item->event)) {
        free(item);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    item->bytes = cost_of(item);
    return item;
}

static bool has_room(const struct inbox *inbox, const struct line *line, size_t bytes) {
    bool fits = line->bytes == 0 || (line->bytes < inbox->max_bytes && bytes <= inbox->max_bytes - line->bytes);
    return line->events < inbox->max_events && fits;
}

static void append(struct line *line, struct inbox_item *item) {
    if (line->last)
        line->last->next = item;
    else
        line->first = item;
    line->last = item;
    line->events++;
    line->bytes += item->bytes;
}

static void put(struct inbox *inbox, struct engine_event *event, bool waits) {
    struct inbox_item *item = make_item(event);
    struct line *line = &inbox->lines[event->cluster];
    pthread_mutex_lock(&inbox->mutex);
    while (waits && !inbox->closed && !has_room(inbox, line, item->bytes))
        pthread_cond_wait(&inbox->emptied, &inbox->mutex);
    if (!inbox->closed) {
        append(line, item);
        item = NULL;
        if (inbox->events++ == 0) {
            inbox->filled_ns = clock_now().mono_ns;
            pthread_cond_signal(&inbox->filled);
        }
    }
    pthread_mutex_unlock(&inbox->mutex);
    if (item)
        inbox_item_free(item);
}

void inbox_post(struct inbox *inbox, struct engine_event *event) {
    put(inbox, event, true);
}

void inbox_post_now(struct inbox *inbox, struct engine_event *event) {
    put(inbox, event, false);
}

// The condition variable counts on CLOCK_MONOTONIC, the host on CLOCK_BOOTTIME: they differ by the time spent asleep.
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
    if (left_ns > LOOK_NS)
        left_ns = LOOK_NS;
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    int64_t ns = at.tv_nsec + left_ns % CLOCK_SECOND;
    at.tv_sec += left_ns / CLOCK_SECOND + ns / CLOCK_SECOND;
    at.tv_nsec = ns % CLOCK_SECOND;
    pthread_cond_timedwait(&inbox->filled, &inbox->mutex, &at);
}

// Moves some items of the line to the end of `taken`.
static void take_some(struct inbox *inbox, struct line *line, struct line *taken) {
    size_t bytes = 0;
    for (size_t events = 0; line->first && events < TAKE_EVENTS && bytes < TAKE_BYTES; events++) {
        struct inbox_item *item = line->first;
        line->first = item->next;
        if (!line->first)
            line->last = NULL;
        item->next = NULL;
        bytes += item->bytes;
        line->bytes -= item->bytes;
        line->events--;
        inbox->events--;
        append(taken, item);
    }
}

struct inbox_item *inbox_take(struct inbox *inbox, int64_t until_ns) {
    struct line taken = {0};
    pthread_mutex_lock(&inbox->mutex);
    while (inbox->events == 0 && !inbox->poked && !inbox->closed)
        wait_filled(inbox, until_ns);
    inbox->poked = false;
    for (size_t i = 0; i < inbox->n_clusters; i++)
        take_some(inbox, &inbox->lines[(inbox->next + i) % inbox->n_clusters], &taken);
    inbox->next = inbox->next + 1 < inbox->n_clusters ? inbox->next + 1 : 0;
    inbox->filled_ns = clock_now().mono_ns;
    pthread_cond_broadcast(&inbox->emptied);
    pthread_mutex_unlock(&inbox->mutex);
    return taken.first;
}

int64_t inbox_waiting_since(struct inbox *inbox) {
    pthread_mutex_lock(&inbox->mutex);
    int64_t since_ns = inbox->events > 0 ? inbox->filled_ns : CLOCK_NEVER;
    pthread_mutex_unlock(&inbox->mutex);
    return since_ns;
}

void inbox_poke(struct inbox *inbox) {
    pthread_mutex_lock(&inbox->mutex);
    inbox->poked = true;
    pthread_cond_signal(&inbox->filled);
    pthread_mutex_unlock(&inbox->mutex);
}

void inbox_close(struct inbox *inbox) {
    pthread_mutex_lock(&inbox->mutex);
    inbox->closed = true;
    pthread_cond_broadcast(&inbox->emptied);
    pthread_cond_broadcast(&inbox->filled);
    pthread_mutex_unlock(&inbox->mutex);
}
