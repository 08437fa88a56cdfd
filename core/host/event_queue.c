// SPDX-License-Identifier: Apache-2.0
#include "core/host/event_queue.h"

#include <stdlib.h>

// Limits for one cluster per take, so that a flood from it does not delay the others.
#define TAKE_EVENTS 64
#define TAKE_BYTES ((size_t)256 << 10)

struct event_line { // events of one cluster
    struct event_item *first, *last;
    size_t events, bytes;
};

struct event_queue {
    struct event_line *lines;
    size_t n_clusters, max_events, max_bytes;
    size_t events; // in all lines
    size_t next;   // the cluster to begin with next time
};

struct error *event_queue_new(size_t n_clusters, size_t max_events, size_t max_bytes, struct event_queue **out) {
    struct event_queue *queue = calloc(1, sizeof *queue);
    struct event_line *lines = calloc(n_clusters, sizeof *lines);
    if (!queue || !lines) {
        free(queue);
        free(lines);
        return error_no_memory();
    }
    *queue = (struct event_queue){
        .lines = lines, .n_clusters = n_clusters, .max_events = max_events, .max_bytes = max_bytes};
    *out = queue;
    return NULL;
}

void event_queue_free(struct event_queue *queue) {
    if (!queue)
        return;
    for (size_t c = 0; c < queue->n_clusters; c++)
        event_items_free(queue->lines[c].first);
    free(queue->lines);
    free(queue);
}

struct error *event_queue_grow(struct event_queue *queue, size_t n_clusters) {
    if (n_clusters <= queue->n_clusters)
        return NULL;
    struct event_line *lines = realloc(queue->lines, n_clusters * sizeof *lines);
    if (!lines)
        return error_no_memory();
    for (size_t c = queue->n_clusters; c < n_clusters; c++)
        lines[c] = (struct event_line){0};
    queue->lines = lines;
    queue->n_clusters = n_clusters;
    return NULL;
}

bool event_queue_is_empty(const struct event_queue *queue, size_t cluster) {
    return queue->lines[cluster].events == 0;
}

// Approximate memory of a queued event.
static size_t cost_of(const struct event_item *item) {
    const struct engine_event *event = &item->event;
    size_t bytes = sizeof *item + engine_event_texts(event);
    if ((event->type == EVENT_SEEN || event->type == EVENT_GONE) && event->object)
        return bytes + object_cost(event->object);
    if (event->type == EVENT_CAPACITY)
        return bytes + nodes_bytes(event->capacity.nodes);
    return bytes + (event->type == EVENT_ANSWER ? event->answer.response->cost : 0);
}

struct event_item *event_item_new(struct engine_event *event) {
    struct event_item *item = calloc(1, sizeof *item);
    if (!item)
        return NULL;
    struct error *error = engine_event_own(event, &item->event);
    if (error) {
        error_free(error);
        free(item);
        return NULL;
    }
    item->bytes = cost_of(item);
    return item;
}

void event_item_free(struct event_item *item) {
    engine_event_clear(&item->event);
    free(item);
}

void event_items_free(struct event_item *first) {
    for (struct event_item *item = first, *next; item; item = next) {
        next = item->next;
        event_item_free(item);
    }
}

void event_queue_limit(struct event_queue *queue, size_t max_bytes) {
    queue->max_bytes = max_bytes;
}

bool event_queue_has_room(const struct event_queue *queue, const struct event_item *item) {
    const struct event_line *line = &queue->lines[item->event.cluster];
    bool fits = line->bytes == 0 || (line->bytes < queue->max_bytes && item->bytes <= queue->max_bytes - line->bytes);
    return line->events < queue->max_events && fits;
}

static void append(struct event_line *line, struct event_item *item) {
    item->next = NULL;
    if (line->last)
        line->last->next = item;
    else
        line->first = item;
    line->last = item;
    line->events++;
    line->bytes += item->bytes;
}

void event_queue_put(struct event_queue *queue, struct event_item *item) {
    append(&queue->lines[item->event.cluster], item);
    queue->events++;
}

// Moves some items of the line to the end of `taken`.
static void take_some(struct event_queue *queue, struct event_line *line, struct event_line *taken) {
    size_t bytes = 0;
    for (size_t events = 0; line->first && events < TAKE_EVENTS && bytes < TAKE_BYTES; events++) {
        struct event_item *item = line->first;
        line->first = item->next;
        if (!line->first)
            line->last = NULL;
        bytes += item->bytes;
        line->bytes -= item->bytes;
        line->events--;
        queue->events--;
        append(taken, item);
    }
}

struct event_item *event_queue_take(struct event_queue *queue) {
    struct event_line taken = {0};
    for (size_t i = 0; i < queue->n_clusters; i++)
        take_some(queue, &queue->lines[(queue->next + i) % queue->n_clusters], &taken);
    queue->next = queue->next + 1 < queue->n_clusters ? queue->next + 1 : 0;
    return taken.first;
}

size_t event_queue_depth(const struct event_queue *queue, size_t cluster, int64_t *since_ns) {
    *since_ns = CLOCK_NEVER;
    if (cluster >= queue->n_clusters)
        return 0;
    const struct event_line *line = &queue->lines[cluster];
    if (line->first)
        *since_ns = line->first->event.received_ns;
    return line->events;
}

size_t event_queue_count(const struct event_queue *queue) {
    return queue->events;
}
