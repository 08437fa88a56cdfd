// SPDX-License-Identifier: Apache-2.0
#include "core/host/watchers/watcher.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

// Capacity comes first: the engine needs to know about capacity before any watch is connected.
const struct watcher *const watcher_table[] = {&capacity_watcher,    &pod_events_watcher,        &field_check_watcher,
                                               &kueue_watcher,       &worker_namespaces_watcher, &namespaces_watcher,
                                               &guard_lease_watcher, &denied_rights_watcher,     NULL};

void cluster_post(const struct cluster_scope *scope, struct engine_event *event) {
    event->cluster = scope->cluster;
    scope->post(scope->ctx, event);
}

static void fill_options(struct reflector_options *options, const struct cluster_scope *scope) {
    static const char *const v1[] = {"v1", NULL};
    options->cluster = scope->name;
    options->group = options->group ? options->group : "";
    options->versions = options->versions ? options->versions : v1;
    options->watch_list = scope->watch_list;
    options->budget = scope->budget;
    options->meter = scope->meter;
    options->seed = text_hash(scope->seed, options->plural);
}

struct reflector_options cluster_watch_options(const struct cluster_scope *scope, const char *plural) {
    struct reflector_options options = {.plural = plural};
    fill_options(&options, scope);
    return options;
}

void watcher_stop(const struct watcher *row, void *state) {
    struct watcher_base *base = row->size > 0 ? state : NULL;
    for (size_t i = 0; base && i < WATCHER_WATCHES; i++)
        object_watch_clear(&base->watches[i]);
    if (row->stop)
        row->stop(state);
    free(base);
}

struct error *watcher_start(const struct watcher *row, const struct cluster_scope *scope, void **state) {
    if (row->size == 0)
        return row->start(scope, *state);
    struct watcher_base *base = calloc(1, row->size);
    if (!base)
        return error_no_memory();
    base->scope = scope;
    for (size_t i = 0; i < WATCHER_WATCHES && row->watches[i].plural; i++) {
        struct reflector_options options = row->watches[i];
        fill_options(&options, scope);
        options.budget = row->uncounted ? NULL : options.budget;
        options.meter = row->uncounted ? NULL : options.meter;
        object_watch_init(&base->watches[i], &options, scope->transport, row->handle, base);
        base->watches[i].kind = i;
        base->watches[i].persistent = row->persistent;
    }
    struct error *error = row->start ? row->start(scope, base) : NULL;
    if (error)
        watcher_stop(row, base);
    else
        *state = base;
    return error;
}

int64_t watcher_tick_watches(struct watcher_base *base, bool wanted, struct moment now) {
    int64_t next_ns = CLOCK_NEVER;
    for (size_t i = 0; i < WATCHER_WATCHES; i++)
        if (base->watches[i].transport)
            next_ns = clock_earlier(next_ns, object_watch_tick(&base->watches[i], wanted, now));
    return next_ns;
}

struct error *watcher_set_add(struct watcher_set *watchers, const struct watcher *row,
                              const struct cluster_scope *scope, void *state) {
    struct running_watcher *place = array_next(&watchers->list, watchers->count, sizeof *place);
    struct error *error = place ? watcher_start(row, scope, &state) : error_no_memory();
    if (error)
        return error;
    *place = (struct running_watcher){row, state};
    watchers->count++;
    return NULL;
}

static bool is_wanted(const struct watcher *row, const struct cluster_scope *scope) {
    bool here = scope->cluster == ENGINE_MANAGEMENT ? row->of_management : row->of_workers;
    return here && (!row->wanted || row->wanted(&scope->settings));
}

struct error *watcher_set_update(struct watcher_set *watchers, const struct cluster_scope *scope) {
    struct error *error = NULL;
    for (size_t r = 0; watcher_table[r] && !error; r++) {
        size_t i = 0;
        while (i < watchers->count && watchers->list[i].row != watcher_table[r])
            i++;
        const struct running_watcher *running = i < watchers->count ? &watchers->list[i] : NULL;
        bool wanted = is_wanted(watcher_table[r], scope);
        if (wanted && !running)
            error = watcher_set_add(watchers, watcher_table[r], scope, NULL);
        if (wanted || !running)
            continue;
        if (running->row->notice)
            running->row->notice(running->state, &(struct cluster_notice){.type = NOTICE_UNWANTED});
        watcher_stop(running->row, running->state);
        watchers->list[i] = watchers->list[--watchers->count];
    }
    return error;
}

int64_t watcher_set_step(const struct watcher_set *watchers, struct moment now) {
    int64_t next_ns = CLOCK_NEVER;
    for (size_t i = 0; i < watchers->count; i++) {
        const struct running_watcher *each = &watchers->list[i];
        next_ns = clock_earlier(next_ns, each->row->step ? each->row->step(each->state, now)
                                                         : watcher_tick_watches(each->state, true, now));
    }
    return next_ns;
}

void watcher_set_notify(const struct watcher_set *watchers, const struct cluster_notice *notice) {
    for (size_t i = 0; i < watchers->count; i++)
        if (watchers->list[i].row->notice)
            watchers->list[i].row->notice(watchers->list[i].state, notice);
}

void watcher_set_stop(struct watcher_set *watchers) {
    while (watchers->count > 0) {
        struct running_watcher *last = &watchers->list[--watchers->count];
        watcher_stop(last->row, last->state);
    }
    free(TAKE(watchers->list));
}
