// SPDX-License-Identifier: Apache-2.0
#include "core/engine/placement/namespace_labels.h"

#include "core/base/text.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine_internal.h"
#include "core/engine/event.h"

#include <stdlib.h>
#include <string.h>

#define CHANGED_NS CLOCK_SECOND // all entries are gone through: not for each of many changes

struct namespace_ {
    char *labels; // NULL: none
    bool seen;    // in the list that is being read
    char name[];
};

struct namespace_labels {
    struct map map; // struct namespace_, by name
    bool listed;
    int64_t due_ns, ticked_ns; // when something waits to be decided anew, CLOCK_NEVER: nothing does; when that was last
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

static void changed(struct engine *engine) {
    struct namespace_labels *table = engine->namespace_labels;
    if (table->due_ns == CLOCK_NEVER)
        table->due_ns = clock_later(engine->now.mono_ns, table->ticked_ns + CHANGED_NS);
}

static void take_one(struct engine *engine, const char *name, const char *labels) {
    struct namespace_ *one = find_or_make(engine->namespace_labels, name);
    char *copy = labels && *labels ? strdup(labels) : NULL;
    if (!one || (labels && *labels && !copy)) { // it keeps the labels it had
        free(copy);
        return;
    }
    one->seen = true;
    if (!text_equal(one->labels, copy) || !engine->namespace_labels->listed)
        changed(engine);
    free(one->labels);
    one->labels = copy;
}

static void listed(struct engine *engine) {
    size_t cursor = 0;
    for (struct namespace_ *one; (one = map_next(&engine->namespace_labels->map, &cursor));)
        if (!one->seen) {
            map_remove(&engine->namespace_labels->map, one->name);
            free_one(one);
            changed(engine);
        }
    if (!engine->namespace_labels->listed)
        changed(engine);
    engine->namespace_labels->listed = true;
}

static void forget(struct engine *engine) {
    size_t cursor = 0;
    for (struct namespace_ *one; (one = map_next(&engine->namespace_labels->map, &cursor));) {
        map_remove(&engine->namespace_labels->map, one->name);
        free_one(one);
    }
    engine->namespace_labels->listed = false;
}

static void listing(struct engine *engine) {
    size_t cursor = 0;
    for (struct namespace_ *one; (one = map_next(&engine->namespace_labels->map, &cursor));)
        one->seen = false;
}

void namespace_labels_take(struct engine *engine, const struct engine_event *event) {
    struct namespace_ *one = NULL;
    switch (event->space.news) {
    case NAMESPACES_LISTING:
        listing(engine);
        break;
    case NAMESPACES_LISTED:
        listed(engine);
        break;
    case NAMESPACES_UNKNOWN:
        forget(engine);
        break;
    case NAMESPACE_SEEN:
        take_one(engine, event->space.name, event->space.labels);
        break;
    case NAMESPACE_GONE:
        one = map_remove(&engine->namespace_labels->map, event->space.name);
        if (one) {
            free_one(one);
            changed(engine);
        }
        break;
    }
}

int64_t namespace_labels_tick(struct engine *engine) {
    struct namespace_labels *table = engine->namespace_labels;
    if (table->due_ns > engine->now.mono_ns)
        return table->due_ns;
    table->ticked_ns = engine->now.mono_ns;
    table->due_ns = CLOCK_NEVER;
    for (size_t k = 0; k < engine->n_kinds; k++)
        cluster_queue_blocked(engine, k, SIZE_MAX);
    return CLOCK_NEVER;
}
