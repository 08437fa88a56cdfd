// SPDX-License-Identifier: Apache-2.0
#include "core/host/turn/turn.h"

// Limits for one cluster per take, so that one flooding cluster does not delay the others.
#define TAKE_EVENTS 64
#define TAKE_BYTES ((size_t)256 << 10)
// A cluster this far ahead in used engine time waits for other clusters with events.
#define AHEAD_NS (5 * CLOCK_MS)
#define COSTLY_MAX_NS (CLOCK_SECOND / 2) // that a cluster rests for

void event_queue_clear(struct event_queue *queue) {
    for (size_t c = 0; c < queue->n_clusters; c++)
        event_items_free(queue->lines[c].first);
    free(queue->lines);
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

// Approximate memory of a queued event.
static size_t cost_of(const struct event_item *item) {
    const struct engine_event *event = &item->event;
    size_t bytes = sizeof *item + engine_event_texts(event);
    if ((event->type == EVENT_SEEN || event->type == EVENT_GONE) && event->object)
        return bytes + object_cost(event->object);
    if (event->type == EVENT_DEPENDENCY && event->dependency.metadata)
        return bytes + object_cost(event->dependency.metadata);
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
    struct event_line *line = &queue->lines[item->event.cluster];
    if (!line->first)
        line->used_ns = clock_later(line->used_ns, queue->level_ns);
    append(line, item);
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

void event_queue_spent(struct event_queue *queue, size_t cluster, struct engine_time time, int64_t now_ns) {
    struct event_line *line = &queue->lines[cluster];
    int64_t costly_ns = clock_earlier(time.costly_ns - line->time.costly_ns, COSTLY_MAX_NS);
    line->used_ns += time.spent_ns - line->time.spent_ns;
    if (costly_ns > 0 && cluster != ENGINE_MANAGEMENT)
        line->rests_until_ns = now_ns + 2 * costly_ns;
    line->time = time;
}

int64_t event_queue_ready_ns(const struct event_queue *queue) {
    int64_t ready_ns = CLOCK_NEVER;
    for (size_t c = 0; c < queue->n_clusters && queue->events > 0; c++)
        if (queue->lines[c].first)
            ready_ns = clock_earlier(ready_ns, queue->lines[c].rests_until_ns);
    return ready_ns;
}

static bool is_ready(const struct event_line *line, int64_t now_ns) {
    return line->first && line->rests_until_ns <= now_ns;
}

struct event_item *event_queue_take(struct event_queue *queue, int64_t now_ns) {
    struct event_line taken = {0};
    int64_t least_ns = CLOCK_NEVER;
    for (size_t c = 0; c < queue->n_clusters; c++)
        if (is_ready(&queue->lines[c], now_ns))
            least_ns = clock_earlier(least_ns, queue->lines[c].used_ns);
    if (least_ns == CLOCK_NEVER)
        return NULL;
    queue->level_ns = least_ns;
    for (size_t i = 0; i < queue->n_clusters; i++) {
        struct event_line *line = &queue->lines[(queue->next + i) % queue->n_clusters];
        if (is_ready(line, now_ns) && line->used_ns - least_ns <= AHEAD_NS)
            take_some(queue, line, &taken);
    }
    queue->next = queue->next + 1 < queue->n_clusters ? queue->next + 1 : 0;
    return taken.first;
}
