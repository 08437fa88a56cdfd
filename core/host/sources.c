// SPDX-License-Identifier: Apache-2.0
#include "core/host/sources.h"

#include "core/base/log.h"
#include "core/base/map.h"
#include "core/base/memory.h"
#include "core/base/text.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct source_list {
    struct worker_spec *specs;
    size_t count;
    struct source_note *notes;
    size_t n_notes;
};

struct sources {
    struct sources_options options;
    pthread_mutex_t mutex;
    struct source_list lists[WORKER_SOURCES]; // all under the mutex
    struct worker_override *overrides;
    size_t n_overrides;
    bool overridden; // the overrides are known
    enum removal removal;
    uint64_t told; // hash of the conflicts that were logged
};

// What the merge makes.
struct merge {
    struct worker_spec *specs;
    size_t count;
    struct source_note *notes;
    size_t n_notes;
    struct map names;
    uint64_t conflicts;
    bool log, failed;
};

static void clear_list(struct source_list *list) {
    worker_specs_free(list->specs, list->count);
    source_notes_free(list->notes, list->n_notes);
    *list = (struct source_list){.specs = NULL};
}

static const struct worker_override *find_override(const struct sources *sources, const char *name) {
    for (size_t i = 0; i < sources->n_overrides; i++)
        if (strcmp(sources->overrides[i].name, name) == 0)
            return &sources->overrides[i];
    return NULL;
}

static void override(const struct sources *sources, struct worker_spec *spec) {
    const struct worker_override *found = find_override(sources, spec->name);
    spec->unsettled = !sources->overridden && !spec->cordoned;
    spec->cordoned |= spec->unsettled;
    if (found && found->sets_cordoned)
        spec->cordoned = found->cordoned;
    if (found && found->sets_drain)
        spec->drain = found->drain;
}

static void note_conflict(struct merge *merge, const struct worker_spec *spec, const char *winner) {
    AUTO_TEXT problem = text_format("worker %s comes from %s already", spec->name, winner);
    struct source_note note = {.origin_text = spec->origin_text, .name = spec->name, .problem = problem};
    if (!problem || !source_notes_add(&merge->notes, &merge->n_notes, &note)) {
        merge->failed = true;
        return;
    }
    merge->conflicts = text_hash(text_hash(merge->conflicts, spec->origin_text), winner);
    if (merge->log)
        log_fields(LOG_WARN, "worker not used: its name is taken", {"worker", spec->name}, {"from", spec->origin_text},
                   {"used", winner});
}

static void merge_spec(const struct sources *sources, const struct worker_spec *spec, struct merge *merge) {
    const char *winner = map_get(&merge->names, spec->name);
    if (winner) {
        note_conflict(merge, spec, winner);
        return;
    }
    struct worker_spec *slot = array_next(&merge->specs, merge->count, sizeof *slot);
    merge->failed |= !slot || !map_put(&merge->names, spec->name, spec->origin_text);
    if (!slot || !worker_spec_copy(spec, slot)) {
        merge->failed = true;
        return;
    }
    merge->count++;
    override(sources, slot);
}

// False: out of memory.
static bool merge_all(const struct sources *sources, bool log, struct merge *merge) {
    *merge = (struct merge){.conflicts = TEXT_HASH, .log = log};
    map_init(&merge->names, 1);
    for (size_t s = 0; s < WORKER_SOURCES; s++) {
        const struct source_list *list = &sources->lists[s];
        for (size_t i = 0; i < list->count && !merge->failed; i++)
            merge_spec(sources, &list->specs[i], merge);
        for (size_t i = 0; i < list->n_notes && !merge->failed; i++)
            merge->failed = !source_notes_add(&merge->notes, &merge->n_notes, &list->notes[i]);
    }
    map_free(&merge->names);
    if (!merge->failed)
        return true;
    worker_specs_free(merge->specs, merge->count);
    source_notes_free(merge->notes, merge->n_notes);
    return false;
}

// Under the mutex, so that the newest set is the last one.
static void publish(struct sources *sources) {
    struct merge merge;
    if (!merge_all(sources, false, &merge)) {
        log_plain(LOG_ERROR, "out of memory: a change of the workers takes effect with the next one");
        return;
    }
    uint64_t conflicts = merge.conflicts;
    sources->options.apply(sources->options.ctx, merge.specs, merge.count, sources->removal);
    sources->options.tell(sources->options.ctx, merge.notes, merge.n_notes);
    if (conflicts != sources->told && !sources->options.silent && merge_all(sources, true, &merge)) {
        worker_specs_free(merge.specs, merge.count);
        source_notes_free(merge.notes, merge.n_notes);
    }
    sources->told = conflicts;
}

struct error *sources_new(const struct sources_options *options, struct sources **out) {
    struct sources *sources = calloc(1, sizeof *sources);
    if (!sources)
        return error_no_memory();
    sources->options = *options;
    sources->told = TEXT_HASH;
    pthread_mutex_init(&sources->mutex, NULL);
    *out = sources;
    return NULL;
}

void sources_free(struct sources *sources) {
    if (!sources)
        return;
    for (size_t s = 0; s < WORKER_SOURCES; s++)
        clear_list(&sources->lists[s]);
    worker_overrides_free(sources->overrides, sources->n_overrides);
    pthread_mutex_destroy(&sources->mutex);
    free(sources);
}

void sources_set(struct sources *sources, enum worker_source source, struct worker_spec *specs, size_t count,
                 struct source_note *notes, size_t n_notes) {
    pthread_mutex_lock(&sources->mutex);
    clear_list(&sources->lists[source]);
    sources->lists[source] = (struct source_list){.specs = specs, .count = count, .notes = notes, .n_notes = n_notes};
    publish(sources);
    pthread_mutex_unlock(&sources->mutex);
}

void sources_override(struct sources *sources, struct worker_override *list, size_t count) {
    pthread_mutex_lock(&sources->mutex);
    worker_overrides_free(sources->overrides, sources->n_overrides);
    sources->overrides = list;
    sources->n_overrides = count;
    sources->overridden = true;
    publish(sources);
    pthread_mutex_unlock(&sources->mutex);
}

void sources_set_removal(struct sources *sources, enum removal removal) {
    pthread_mutex_lock(&sources->mutex);
    sources->removal = removal;
    pthread_mutex_unlock(&sources->mutex);
}

struct error *sources_set_config(struct sources *sources, const struct config *config) {
    struct worker_spec *specs = calloc(config->n_workers + 1, sizeof *specs);
    size_t count = 0;
    while (specs && count < config->n_workers &&
           worker_spec_of_config(&config->workers[count], config->path, &specs[count]))
        count++;
    if (!specs || count < config->n_workers) {
        worker_specs_free(specs, count);
        return error_no_memory();
    }
    sources_set(sources, SOURCE_CONFIG, specs, count, NULL, 0);
    return NULL;
}
