// SPDX-License-Identifier: Apache-2.0
#include "core/host/sources/sources.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/base/thread.h"

#include <pthread.h>

static const struct worker_source_kind config_kind = {.name = "Config"}, directory_kind = {.name = "Directory"};
const struct worker_source_kind *const worker_source_kinds[WORKER_SOURCES] = {
    [SOURCE_CONFIG] = &config_kind,
    [SOURCE_DIRECTORY] = &directory_kind,
    [SOURCE_SECRET] = &worker_secret_kind,
    [SOURCE_CLUSTER_PROFILE] = &worker_profile_kind,
};

struct sources {
    struct sources_options options;
    pthread_mutex_t mutex;
    struct source_list lists[WORKER_SOURCES]; // all under the mutex
    struct map overrides;                     // blocks
    bool overridden;                          // the overrides are known
    struct map holders;                       // of the names of workers that come from objects; blocks
    enum removal removal;
    uint64_t told; // hash of the logged conflicts
};

// The result of a merge.
struct merge {
    struct source_list list;
    struct map names; // the spec of each
    uint64_t conflicts;
    bool log, failed;
};

void source_list_clear(struct source_list *list) {
    worker_specs_free(list->specs, list->count);
    source_notes_free(list->notes, list->n_notes);
    *list = (struct source_list){.specs = NULL};
}

struct holder {
    const char *name, *source;
};

// Once the records are known. Without memory, the records decide again.
static void remember_holders(struct sources *sources, const struct worker_spec *specs, size_t count) {
    map_free_values(&sources->holders);
    for (size_t i = 0; sources->overridden && i < count; i++) {
        struct holder holder = {specs[i].settings.name, specs[i].origin_text};
        if (worker_source_has_objects(specs[i].source))
            (void)blocks_put(&sources->holders, &holder, sizeof holder, 2);
    }
}

const struct worker_override *sources_find_override(const struct sources *sources, const char *name) {
    return map_get(&sources->overrides, name);
}

// False: out of memory.
static bool apply_override(const struct sources *sources, struct worker_spec *spec) {
    const struct worker_override *found = sources_find_override(sources, spec->settings.name);
    spec->awaits_overrides = !sources->overridden && !spec->cordoned;
    spec->cordoned |= spec->awaits_overrides;
    if (found && found->sets_cordoned)
        spec->cordoned = found->cordoned;
    if (found && found->sets_drain)
        spec->drain = found->drain;
    spec->awaits_records = !sources->overridden;
    return text_set_filled((char **)&spec->settings.recorded, found ? found->uid : NULL) &&
           text_set_filled(&spec->names, found ? found->names : NULL);
}

// How good a claim to a name is: the configuration and the directory are the operator's own. Of objects, which others
// may create, the one in use has the name, then the one that was in use before the restart.
static unsigned rank_of(const struct sources *sources, const struct worker_spec *spec) {
    if (!worker_source_has_objects(spec->source))
        return spec->source;
    const struct holder *holder = map_get(&sources->holders, spec->settings.name);
    const struct worker_override *record = sources_find_override(sources, spec->settings.name);
    if (holder && strcmp(holder->source, spec->origin_text) == 0)
        return SOURCE_SECRET;
    return record && strcmp(record->source, spec->origin_text) == 0 ? SOURCE_SECRET + 1 : SOURCE_SECRET + 2;
}

static bool goes_before(const struct sources *sources, const struct worker_spec *a, const struct worker_spec *b) {
    unsigned rank_a = rank_of(sources, a), rank_b = rank_of(sources, b);
    if (rank_a != rank_b)
        return rank_a < rank_b;
    return strcmp(a->created ? a->created : "", b->created ? b->created : "") < 0; // RFC 3339, set by the server
}

// The worker of each name. False: out of memory.
static bool choose_specs(const struct sources *sources, struct map *chosen) {
    for (size_t s = 0; s < WORKER_SOURCES; s++)
        for (size_t i = 0; i < sources->lists[s].count; i++) {
            struct worker_spec *spec = &sources->lists[s].specs[i];
            const struct worker_spec *former = map_get(chosen, spec->settings.name);
            if ((!former || goes_before(sources, spec, former)) && !map_put(chosen, spec->settings.name, spec))
                return false;
        }
    return true;
}

static void note_conflict(struct merge *merge, const struct worker_spec *spec, const char *winner) {
    AUTO_TEXT problem = text_format("worker %s comes from %s already", spec->settings.name, winner);
    struct source_note note = {
        .origin_text = spec->origin_text, .name = (char *)spec->settings.name, .problem = problem};
    if (!problem || !source_notes_add(&merge->list.notes, &merge->list.n_notes, &note)) {
        merge->failed = true;
        return;
    }
    merge->conflicts = text_hash(text_hash(merge->conflicts, spec->origin_text), winner);
    if (merge->log)
        log_fields(LOG_WARN, "worker not used: its name is taken", {"worker", spec->settings.name},
                   {"from", spec->origin_text}, {"used", winner});
}

static void merge_spec(const struct sources *sources, const struct worker_spec *spec, struct merge *merge) {
    const struct worker_spec *winner = map_get(&merge->names, spec->settings.name);
    if (winner != spec) {
        note_conflict(merge, spec, winner->origin_text);
        return;
    }
    struct worker_spec *slot = array_next(&merge->list.specs, merge->list.count, sizeof *slot);
    if (!slot || !worker_spec_copy(spec, slot)) {
        merge->failed = true;
        return;
    }
    merge->list.count++;
    merge->failed |= !apply_override(sources, slot);
}

// False: out of memory.
static bool merge_all(const struct sources *sources, bool log, struct merge *merge) {
    *merge = (struct merge){.conflicts = TEXT_HASH, .log = log};
    map_init(&merge->names, 1);
    merge->failed = !choose_specs(sources, &merge->names);
    for (size_t s = 0; s < WORKER_SOURCES; s++) {
        const struct source_list *list = &sources->lists[s];
        for (size_t i = 0; i < list->count && !merge->failed; i++)
            merge_spec(sources, &list->specs[i], merge);
        for (size_t i = 0; i < list->n_notes && !merge->failed; i++)
            merge->failed = !source_notes_add(&merge->list.notes, &merge->list.n_notes, &list->notes[i]);
    }
    map_free(&merge->names);
    if (!merge->failed)
        return true;
    source_list_clear(&merge->list);
    return false;
}

// Under the mutex, so that the newest set is the last one.
static void publish_workers(struct sources *sources) {
    struct merge merge;
    if (!merge_all(sources, false, &merge)) {
        log_plain(LOG_ERROR, "out of memory: a change of the workers takes effect with the next one");
        return;
    }
    uint64_t conflicts = merge.conflicts;
    remember_holders(sources, merge.list.specs, merge.list.count);
    sources->options.apply(sources->options.ctx, &merge.list, sources->removal);
    if (conflicts != sources->told && !sources->options.silent && merge_all(sources, true, &merge))
        source_list_clear(&merge.list);
    sources->told = conflicts;
}

struct error *sources_new(const struct sources_options *options, struct sources **out) {
    struct sources *sources = calloc(1, sizeof *sources);
    if (!sources)
        return error_no_memory();
    sources->options = *options;
    sources->told = TEXT_HASH;
    map_init(&sources->overrides, random_system());
    map_init(&sources->holders, random_system());
    pthread_mutex_init(&sources->mutex, NULL);
    *out = sources;
    return NULL;
}

void sources_free(struct sources *sources) {
    if (!sources)
        return;
    for (size_t s = 0; s < WORKER_SOURCES; s++)
        source_list_clear(&sources->lists[s]);
    map_free_values(&sources->overrides);
    map_free_values(&sources->holders);
    pthread_mutex_destroy(&sources->mutex);
    free(sources);
}

void sources_set(struct sources *sources, enum worker_source source, struct source_list list) {
    AUTO_LOCK(&sources->mutex);
    source_list_clear(&sources->lists[source]);
    sources->lists[source] = list;
    publish_workers(sources);
}

void sources_override(struct sources *sources, struct map *overrides) {
    AUTO_LOCK(&sources->mutex);
    map_free_values(&sources->overrides);
    if (overrides)
        sources->overrides = *overrides;
    sources->overridden = true;
    publish_workers(sources);
}

void sources_set_removal(struct sources *sources, enum removal removal) {
    AUTO_LOCK(&sources->mutex);
    sources->removal = removal;
}

struct error *sources_set_config(struct sources *sources, const struct config *config) {
    struct source_list list = {.specs = calloc(config->n_workers + 1, sizeof *list.specs)};
    while (list.specs && list.count < config->n_workers &&
           worker_spec_copy(&config->workers[list.count], &list.specs[list.count]))
        list.count++;
    if (!list.specs || list.count < config->n_workers) {
        source_list_clear(&list);
        return error_no_memory();
    }
    sources_set(sources, SOURCE_CONFIG, list);
    return NULL;
}

struct error *worker_source_read(enum worker_source source, const struct json *object,
                                 const struct config_workers_from *from, struct worker_spec *out) {
    const struct worker_source_kind *kind = worker_source_kinds[source];
    *out = (struct worker_spec){.source = source, .origin_text = worker_object_text(kind->name, object)};
    struct error *error = out->origin_text ? kind->read(object, from, out) : error_no_memory();
    if (error)
        worker_spec_clear(out);
    return error;
}

// Items -----------------------------------------------------------------------------------------------------------

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
    struct source_list list = {.specs = calloc(items->count + 1, sizeof *list.specs)};
    bool good = list.specs;
    for (const struct source_item *item = items->list; good && item < items->list + items->count; item++) {
        const struct source_note note = {.origin_text = item->origin_text,
                                         .name = (char *)item->spec.settings.name,
                                         .problem = item->problem,
                                         .token_life = item->token_life};
        good = source_notes_add(&list.notes, &list.n_notes, &note);
        if (good && item->spec.settings.name) {
            good = worker_spec_copy(&item->spec, &list.specs[list.count]);
            list.count += good;
        }
    }
    items->changed = !good;
    if (good)
        sources_set(sources, items->source, list);
    else // out of memory: with the next change
        source_list_clear(&list);
}
