// SPDX-License-Identifier: Apache-2.0
#include "core/host/watchers/watcher.h"

#include "core/base/memory.h"

// In calling order. Capacity comes first: the engine needs to know about capacity before any watch is connected.
static const struct watcher *const rows[WATCHERS] = {
    &capacity_watcher,          &pod_events_watcher, &field_check_watcher, &kueue_watcher,
    &worker_namespaces_watcher, &namespaces_watcher, &guard_lease_watcher, &denied_rights_watcher};

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
    struct watcher_base *base = state;
    for (size_t i = 0; i < WATCHER_WATCHES; i++)
        object_watch_clear(&base->watches[i]);
    if (row->stop)
        row->stop(state);
    free(state);
}

struct error *watcher_start(const struct watcher *row, const struct cluster_scope *scope, void **state) {
    struct watcher_base *base = *state = calloc(1, row->size);
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
        watcher_stop(row, TAKE(*state));
    return error;
}

int64_t watcher_tick_watches(struct watcher_base *base, bool wanted, struct moment now) {
    int64_t next_ns = CLOCK_NEVER;
    for (size_t i = 0; i < WATCHER_WATCHES; i++)
        if (base->watches[i].transport)
            next_ns = clock_earlier(next_ns, object_watch_tick(&base->watches[i], wanted, now));
    return next_ns;
}

struct error *watcher_set_update(struct watcher_set *watchers, const struct cluster_scope *scope) {
    for (size_t r = 0; r < WATCHERS; r++) {
        struct running_watcher *place = &watchers->list[r];
        bool here = scope->cluster == ENGINE_MANAGEMENT ? rows[r]->of_management : rows[r]->of_workers;
        bool wanted = here && (!rows[r]->wanted || rows[r]->wanted(&scope->settings));
        if (wanted == !!place->row)
            continue;
        if (wanted) {
            TRY(watcher_start(rows[r], scope, &place->state));
            place->row = rows[r];
            continue;
        }
        if (place->row->handle)
            place->row->handle(place->state, &(struct cluster_notice){.type = NOTICE_UNWANTED});
        watcher_stop(TAKE(place->row), place->state);
    }
    return NULL;
}

int64_t watcher_set_step(const struct watcher_set *watchers, struct moment now) {
    int64_t next_ns = CLOCK_NEVER;
    for (const struct running_watcher *each = watchers->list; each < watchers->list + WATCHERS; each++)
        if (each->row)
            next_ns = clock_earlier(next_ns, each->row->step ? each->row->step(each->state, now)
                                                             : watcher_tick_watches(each->state, true, now));
    return next_ns;
}

void watcher_set_notify(const struct watcher_set *watchers, const struct cluster_notice *notice) {
    for (const struct running_watcher *each = watchers->list; each < watchers->list + WATCHERS; each++)
        if (each->row && each->row->handle && (each->row->of_kinds || notice->type >= NOTICE_REACHED))
            each->row->handle(each->state, notice);
}

void watcher_set_stop(struct watcher_set *watchers) {
    for (size_t r = 0; r < WATCHERS; r++)
        if (watchers->list[r].row)
            watcher_stop(TAKE(watchers->list[r].row), watchers->list[r].state);
}
