// SPDX-License-Identifier: Apache-2.0
#include "core/engine/placement/namespace_labels.h"

#include "core/base/text.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine_internal.h"
#include "core/engine/event.h"

#include <stdlib.h>
#include <string.h>

#define CHANGED_NS CLOCK_SECOND // between two passes over all entries

struct namespace_ {
    char *labels; // NULL: none
    bool seen;    // in the list that is being read
    char name[];
};

struct namespace_labels {
    struct map map; // struct namespace_, by name
    bool listed;
    int64_t due_ns, ticked_ns; // of the next pass, CLOCK_NEVER: none; of the last pass
};

static void free_one(struct namespace_ *one) {
    free(one->labels);
    free(one);
}

struct error *namespace_labels_new(uint64_t seed, struct namespace_labels **out) {
    *out = calloc(1, sizeof **out);
    if (!*out)
        return error_no_memory();
    map_init(&(*out)->map, seed);
    (*out)->due_ns = CLOCK_NEVER;
    return NULL;
}

void namespace_labels_free(struct namespace_labels *table) {
    if (!table)
        return;
    size_t cursor = 0;
    for (struct namespace_ *one; (one = map_next(&table->map, &cursor));)
        free_one(one);
    map_free(&table->map);
    free(table);
}

bool namespace_labels_of(const struct namespace_labels *table, const char *name, const char **labels) {
    const struct namespace_ *one = map_get(&table->map, name);
    *labels = one ? one->labels : NULL;
    return one || table->listed;
}

static struct namespace_ *find_or_make(struct namespace_labels *table, const char *name) {
    struct namespace_ *one = map_get(&table->map, name);
    size_t size = strlen(name) + 1;
    if (one || !(one = calloc(1, sizeof *one + size)))
        return one;
    memcpy(one->name, name, size);
    if (map_put(&table->map, one->name, one))
        return one;
    free(one);
    return NULL;
}

static void decide_soon(struct engine *engine) {
    struct namespace_labels *table = engine->placement.namespace_labels;
    if (table->due_ns == CLOCK_NEVER)
        table->due_ns = clock_later(engine->now.mono_ns, table->ticked_ns + CHANGED_NS);
}

static void set_labels(struct engine *engine, const char *name, const char *labels) {
    struct namespace_ *one = find_or_make(engine->placement.namespace_labels, name);
    char *copy = labels && *labels ? strdup(labels) : NULL;
    if (!one || (labels && *labels && !copy)) { // it keeps the labels it had
        free(copy);
        return;
    }
    one->seen = true;
    if (!text_equal(one->labels, copy) || !engine->placement.namespace_labels->listed)
        decide_soon(engine);
    free(one->labels);
    one->labels = copy;
}

static void begin_list(struct namespace_labels *table) {
    size_t cursor = 0;
    for (struct namespace_ *one; (one = map_next(&table->map, &cursor));)
        one->seen = false;
}

// Returns whether there were such namespaces.
static bool drop_unseen(struct namespace_labels *table) {
    size_t cursor = 0, before = table->map.count;
    for (struct namespace_ *one; (one = map_next(&table->map, &cursor));)
        if (!one->seen)
            free_one(map_remove(&table->map, one->name));
    return table->map.count < before;
}

void namespace_labels_take(struct engine *engine, const struct engine_event *event) {
    struct namespace_labels *table = engine->placement.namespace_labels;
    struct namespace_ *one = NULL;
    switch (event->namespace_.news) {
    case NAMESPACES_LISTING:
        begin_list(table);
        break;
    case NAMESPACES_LISTED:
        if (drop_unseen(table) || !table->listed)
            decide_soon(engine);
        table->listed = true;
        break;
    case NAMESPACES_UNKNOWN:
        begin_list(table);
        (void)drop_unseen(table);
        table->listed = false;
        break;
    case NAMESPACE_SEEN:
        set_labels(engine, event->namespace_.name, event->namespace_.labels);
        break;
    case NAMESPACE_GONE:
        one = map_remove(&table->map, event->namespace_.name);
        if (one) {
            free_one(one);
            decide_soon(engine);
        }
        break;
    }
}

void namespace_labels_tick(struct engine *engine) {
    struct namespace_labels *table = engine->placement.namespace_labels;
    if (table->due_ns > engine->now.mono_ns)
        return;
    table->ticked_ns = engine->now.mono_ns;
    table->due_ns = CLOCK_NEVER;
    for (size_t k = 0; k < engine->n_kinds; k++)
        cluster_queue_blocked(engine, k, SIZE_MAX);
}

int64_t namespace_labels_due_ns(const struct engine *engine) {
    return engine->placement.namespace_labels->due_ns;
}
