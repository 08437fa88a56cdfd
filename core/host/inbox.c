// SPDX-License-Identifier: Apache-2.0
#include "core/host/inbox.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOK_NS (10 * CLOCK_SECOND) // that a machine which slept is noticed

struct inbox {
    pthread_mutex_t mutex;
    pthread_cond_t filled, emptied;
    struct inbox_item *first, **last;
    struct load {
        size_t events, bytes;
    } * loads; // what is in, by cluster
    size_t n_clusters, max_events, max_bytes;
    int64_t filled_ns; // when `first` came
    bool poked, closed;
};

struct error *inbox_new(size_t n_clusters, size_t max_events, size_t max_bytes, struct inbox **out) {
    struct inbox *inbox = calloc(1, sizeof *inbox);
    struct load *loads = calloc(n_clusters, sizeof *loads);
    if (!inbox || !loads) {
        free(inbox);
        free(loads);
        return error_no_memory();
    }
    *inbox = (struct inbox){.loads = loads, .n_clusters = n_clusters, .max_events = max_events, .max_bytes = max_bytes};
    inbox->last = &inbox->first;
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
    object_free(item->event.object);
    response_clear(&item->response);
    free(item->version);
    free(item->problem);
    free(item->uid);
    free(item);
}

void inbox_free(struct inbox *inbox) {
    if (!inbox)
        return;
    while (inbox->first) {
        struct inbox_item *item = inbox->first;
        inbox->first = item->next;
        inbox_item_free(item);
    }
    pthread_mutex_destroy(&inbox->mutex);
    pthread_cond_destroy(&inbox->filled);
    pthread_cond_destroy(&inbox->emptied);
    free(inbox->loads);
    free(inbox);
}

static char *copy_text(const char *text) {
    return text ? strdup(text) : NULL;
}

static struct inbox_item *make_item(const struct engine_event *event) {
    struct inbox_item *item = calloc(1, sizeof *item);
    // An event that cannot be handed on would be lost for good, and with it an answer or a deletion: memory is waited
    // for.
    while (!item) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        item = calloc(1, sizeof *item);
    }
    item->event = *event;
    item->event.version = item->version = copy_text(event->version);
    item->event.problem = item->problem = copy_text(event->problem);
    item->event.uid = item->uid = copy_text(event->uid);
    if (event->response) {
        item->response = *event->response;
        memset(event->response, 0, sizeof *event->response);
        item->event.response = &item->response;
    }
    return item;
}

// About what the event takes while it waits.
static size_t cost_of(const struct inbox_item *item) {
    size_t bytes = sizeof *item;
    if (item->event.object)
        bytes += object_cost(item->event.object);
    return bytes + (item->event.response ? item->response.cost : 0);
}

static bool has_room(const struct inbox *inbox, size_t cluster, size_t bytes) {
    const struct load *load = &inbox->loads[cluster];
    bool fits = load->bytes == 0 ||
                bytes <= inbox->max_bytes - (load->bytes < inbox->max_bytes ? load->bytes : inbox->max_bytes);
    return load->events < inbox->max_events && fits;
}

static void put(struct inbox *inbox, const struct engine_event *event, bool waits) {
    struct inbox_item *item = make_item(event);
    size_t bytes = cost_of(item);
    pthread_mutex_lock(&inbox->mutex);
    while (waits && !inbox->closed && !has_room(inbox, event->cluster, bytes))
        pthread_cond_wait(&inbox->emptied, &inbox->mutex);
    if (!inbox->closed) {
        bool was_empty = inbox->first == NULL;
        *inbox->last = item;
        inbox->last = &item->next;
        inbox->loads[event->cluster].events++;
        inbox->loads[event->cluster].bytes += bytes;
        item = NULL;
        if (was_empty) {
            inbox->filled_ns = clock_now().mono_ns;
            pthread_cond_signal(&inbox->filled);
        }
    }
    pthread_mutex_unlock(&inbox->mutex);
    if (item)
        inbox_item_free(item);
}

void inbox_post(struct inbox *inbox, const struct engine_event *event) {
    put(inbox, event, true);
}

void inbox_post_now(struct inbox *inbox, const struct engine_event *event) {
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

struct inbox_item *inbox_take(struct inbox *inbox, int64_t until_ns) {
    pthread_mutex_lock(&inbox->mutex);
    while (!inbox->first && !inbox->poked && !inbox->closed)
        wait_filled(inbox, until_ns);
    inbox->poked = false;
    struct inbox_item *items = inbox->first;
    inbox->first = NULL;
    inbox->last = &inbox->first;
    memset(inbox->loads, 0, inbox->n_clusters * sizeof *inbox->loads);
    pthread_cond_broadcast(&inbox->emptied);
    pthread_mutex_unlock(&inbox->mutex);
    return items;
}

int64_t inbox_waiting_since(struct inbox *inbox) {
    pthread_mutex_lock(&inbox->mutex);
    int64_t since_ns = inbox->first ? inbox->filled_ns : CLOCK_NEVER;
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
