// SPDX-License-Identifier: Apache-2.0
#include "core/host/sources/sources.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"

#include <stdlib.h>
#include <string.h>

static void clear_note(struct source_note *note) {
    free(note->origin_text);
    free(note->name);
    free(note->problem);
}

void source_notes_free(struct source_note *notes, size_t count) {
    for (size_t i = 0; notes && i < count; i++)
        clear_note(&notes[i]);
    free(notes);
}

bool source_notes_add(struct source_note **notes, size_t *count, const struct source_note *note) {
    struct source_note copy = {.token_life = note->token_life};
    struct source_note *slot = NULL;
    if (text_set(&copy.origin_text, note->origin_text) && text_set(&copy.name, note->name) &&
        text_set(&copy.problem, note->problem))
        slot = array_next(notes, *count, sizeof *slot);
    if (!slot) {
        clear_note(&copy);
        return false;
    }
    *slot = copy;
    (*count)++;
    return true;
}

bool source_notes_copy(const struct source_note *notes, size_t count, struct source_note **out) {
    size_t done = 0;
    *out = NULL;
    while (done < count && source_notes_add(out, &done, &notes[done]))
        ;
    if (done == count)
        return true;
    source_notes_free(*out, done);
    *out = NULL;
    return false;
}

static void item_clear(struct source_item *item) {
    free(item->key);
    free(item->origin_text);
    worker_spec_clear(&item->spec);
    free(item->problem);
}

void source_items_free(struct source_items *items) {
    for (size_t i = 0; i < items->count; i++)
        item_clear(&items->list[i]);
    free(items->list);
    *items = (struct source_items){.source = items->source};
}

// The index of the first item that is not before the key.
static size_t place_of(const struct source_items *items, const char *key) {
    size_t low = 0, high = items->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(items->list[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct source_item *source_items_find(const struct source_items *items, const char *key) {
    size_t i = place_of(items, key);
    return i < items->count && strcmp(items->list[i].key, key) == 0 ? &items->list[i] : NULL;
}

struct source_item *source_items_at(struct source_items *items, const char *key, const char *origin_text) {
    struct source_item *found = source_items_find(items, key);
    if (found)
        return found;
    struct source_item item = {.key = strdup(key), .origin_text = strdup(origin_text)};
    if (!item.key || !item.origin_text || !array_next(&items->list, items->count, sizeof item)) {
        item_clear(&item);
        return NULL;
    }
    size_t i = place_of(items, key);
    memmove(&items->list[i + 1], &items->list[i], (items->count - i) * sizeof item);
    items->list[i] = item;
    items->count++;
    return &items->list[i];
}

static void remove_at(struct source_items *items, size_t i) {
    item_clear(&items->list[i]);
    items->count--;
    memmove(&items->list[i], &items->list[i + 1], (items->count - i) * sizeof items->list[0]);
    items->changed = true;
}

void source_items_remove(struct source_items *items, const char *key) {
    const struct source_item *item = source_items_find(items, key);
    if (item)
        remove_at(items, (size_t)(item - items->list));
}

void source_items_unsee(struct source_items *items) {
    for (size_t i = 0; i < items->count; i++)
        items->list[i].seen = false;
}

void source_items_sweep(struct source_items *items) {
    for (size_t i = items->count; i-- > 0;)
        if (!items->list[i].seen && !items->list[i].held)
            remove_at(items, i);
}

size_t source_items_hold(struct source_items *items) {
    size_t held = 0;
    for (size_t i = 0; i < items->count; i++) {
        items->list[i].held = !items->list[i].seen;
        held += items->list[i].held;
    }
    return held;
}

void source_item_accept(struct source_items *items, struct source_item *item, struct worker_spec *spec) {
    worker_spec_clear(&item->spec);
    item->spec = *spec;
    *spec = (struct worker_spec){.source = SOURCE_CONFIG};
    free(item->problem);
    item->problem = NULL;
    items->changed = true;
}

void source_item_refuse(struct source_items *items, struct source_item *item, struct error *error) {
    if (!text_equal(item->problem, error_text(error))) {
        log_fields(LOG_WARN,
                   item->spec.settings.name ? "worker not changed: its new version cannot be used" : "worker not used",
                   {"from", item->origin_text}, {"worker", item->spec.settings.name}, {"error", error_text(error)});
        free(item->problem);
        item->problem = strdup(error_text(error));
        items->changed = true;
    }
    error_free(error);
}

void source_items_publish(struct source_items *items, struct sources *sources) {
    if (!items->changed)
        return;
    struct worker_spec *specs = calloc(items->count + 1, sizeof *specs);
    struct source_note *notes = NULL;
    size_t n_specs = 0, n_notes = 0;
    bool good = specs;
    for (const struct source_item *item = items->list; good && item < items->list + items->count; item++) {
        const struct source_note note = {.origin_text = item->origin_text,
                                         .name = (char *)item->spec.settings.name,
                                         .problem = item->problem,
                                         .token_life = item->token_life};
        good = source_notes_add(&notes, &n_notes, &note);
        if (good && item->spec.settings.name) {
            good = worker_spec_copy(&item->spec, &specs[n_specs]);
            n_specs += good;
        }
    }
    if (!good) { // out of memory: with the next change
        worker_specs_free(specs, n_specs);
        source_notes_free(notes, n_notes);
        return;
    }
    items->changed = false;
    sources_set(sources, items->source, specs, n_specs, notes, n_notes);
}
