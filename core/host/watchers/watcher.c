// SPDX-License-Identifier: Apache-2.0
#include "core/host/watchers/watcher.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/host/watchers/boundary.h"

#define REFUSED_NS (10 * CLOCK_MINUTE) // delay after a refusal
// The first delay for a kind that is not served yet, doubled each time.
#define ABSENT_FIRST_NS CLOCK_SECOND
#define ABSENT_LAST_NS CLOCK_MINUTE
#define NO_MEMORY_NS CLOCK_SECOND

// In calling order. Capacity comes first: the engine needs to know about capacity before any watch is connected.
static const struct watcher *const rows[WATCHERS] = {
    &capacity_watcher,          &pod_events_watcher,   &field_check_watcher, &kueue_watcher,
    &worker_namespaces_watcher, &namespaces_watcher,   &guard_lease_watcher, &denied_rights_watcher,
    &tenants_watcher,           &dependencies_watcher, &pod_causes_watcher};

void cluster_post(const struct cluster_scope *scope, struct engine_event *event) {
    char name[NAMESPACE_SIZE];
    event->cluster = scope->cluster;
    if (boundary_event(scope, event, name))
        scope->post(scope->ctx, event);
    else
        engine_event_drop(event);
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

void watcher_warn(const struct cluster_scope *scope, uint64_t *logged, const char *message, const char *problem) {
    uint64_t hash = problem ? text_hash(TEXT_HASH, problem) : 0;
    if (problem && hash != *logged)
        log_fields(LOG_WARN, message, {"cluster", scope->name}, {"error", problem});
    *logged = hash;
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
        void **state = &watchers->states[r];
        bool here = scope->cluster == ENGINE_MANAGEMENT ? rows[r]->of_management : rows[r]->of_workers;
        bool wanted = here && (!rows[r]->wanted || rows[r]->wanted(&scope->settings));
        if (wanted && !*state)
            TRY(watcher_start(rows[r], scope, state));
        if (wanted || !*state)
            continue;
        if (rows[r]->handle)
            rows[r]->handle(*state, &(struct cluster_notice){.type = NOTICE_UNWANTED});
        watcher_stop(rows[r], TAKE(*state));
    }
    return NULL;
}

int64_t watcher_set_step(const struct watcher_set *watchers, struct moment now) {
    int64_t next_ns = CLOCK_NEVER;
    for (size_t r = 0; r < WATCHERS; r++)
        if (watchers->states[r])
            next_ns = clock_earlier(next_ns, rows[r]->step ? rows[r]->step(watchers->states[r], now)
                                                           : watcher_tick_watches(watchers->states[r], true, now));
    return next_ns;
}

void watcher_set_notify(const struct watcher_set *watchers, const struct cluster_notice *notice) {
    for (size_t r = 0; r < WATCHERS; r++)
        if (watchers->states[r] && rows[r]->handle && (rows[r]->of_kinds || notice->type >= NOTICE_REACHED))
            rows[r]->handle(watchers->states[r], notice);
}

void watcher_set_stop(struct watcher_set *watchers) {
    for (size_t r = 0; r < WATCHERS; r++)
        if (watchers->states[r])
            watcher_stop(rows[r], TAKE(watchers->states[r]));
}

// Watches of one kind --------------------------------------------------------------------------------------------

static void notify(const struct object_watch *watch, struct cluster_notice *notice) {
    notice->kind = watch->kind;
    notice->own = !watch->gives;
    watch->handle(watch->ctx, notice);
    if (!watch->gives)
        object_free(notice->object);
}

static void on_listing(void *ctx, const char *version) {
    struct object_watch *watch = ctx;
    watch->listing = true;
    notify(watch, &(struct cluster_notice){.type = NOTICE_LISTING, .version = version});
}

static void on_seen(void *ctx, struct object *object) {
    notify(ctx, &(struct cluster_notice){.type = NOTICE_SEEN, .object = object});
}

static void on_gone(void *ctx, struct object *object) {
    notify(ctx, &(struct cluster_notice){.type = NOTICE_GONE, .object = object});
}

static void on_listed(void *ctx, const char *version) {
    struct object_watch *watch = ctx;
    bool restored = watch->restored;
    watch->listing = watch->restored = false;
    notify(watch, &(struct cluster_notice){.type = NOTICE_LISTED, .version = version, .restored = restored});
}

static void on_state(void *ctx, enum reflector_state state, const char *problem) {
    struct object_watch *watch = ctx;
    watch->state = state;
    notify(watch, &(struct cluster_notice){.type = NOTICE_STATE, .state = state, .problem = problem});
    if (state != REFLECTOR_CONNECTED)
        return;
    watch->reported = false;
    watch->absent_ns = ABSENT_FIRST_NS;
}

static void on_rewound(void *ctx, const char *problem) {
    struct object_watch *watch = ctx;
    bool known = watch->restored;
    watch->restored = true;
    notify(watch, &(struct cluster_notice){.type = NOTICE_RESTORED, .problem = problem, .restored = known});
}

void object_watch_init(struct object_watch *watch, const struct reflector_options *options, struct transport *transport,
                       notice_handler handle, void *ctx) {
    *watch = (struct object_watch){.options = *options,
                                   .transport = transport,
                                   .handle = handle,
                                   .ctx = ctx,
                                   .random = {options->seed},
                                   .absent_ns = ABSENT_FIRST_NS};
}

void object_watch_clear(struct object_watch *watch) {
    reflector_free(watch->reflector);
    *watch = (struct object_watch){.reflector = NULL};
}

void object_watch_close(struct object_watch *watch, int64_t open_ns) {
    watch->open_ns = open_ns;
    if (!watch->reflector)
        return;
    reflector_free(TAKE(watch->reflector));
    watch->listing = false;
    on_state(watch, REFLECTOR_STARTING, NULL);
}

static void open_reflector(struct object_watch *watch, struct moment now) {
    struct reflector_handler handler = {on_listing, on_seen, on_gone, on_listed, on_state, on_rewound, watch};
    struct error *error = reflector_new(&watch->options, watch->transport, &handler, &watch->reflector);
    if (error) {
        log_fields(LOG_ERROR, "a kind cannot be watched yet", {"cluster", watch->options.cluster},
                   {"kind", watch->options.plural}, {"error", error_text(error)});
        watch->open_ns = now.mono_ns + NO_MEMORY_NS;
    }
    error_free(error);
}

// With a jitter of a quarter, so that a kind that comes to several clusters is not looked for in all at once.
static void close_for_now(struct object_watch *watch, struct moment now) {
    uint64_t jitter = random_below(&watch->random, (uint64_t)watch->absent_ns / 4);
    object_watch_close(watch, now.mono_ns + watch->absent_ns + (int64_t)jitter);
    watch->absent_ns = clock_earlier(2 * watch->absent_ns, ABSENT_LAST_NS);
}

static void handle_refusal(struct object_watch *watch, struct moment now) {
    bool first = !watch->reported;
    if (!first && watch->persistent)
        return;
    const char *text = reflector_problem(watch->reflector);
    AUTO_TEXT problem = text ? strdup(text) : NULL;
    bool denied = reflector_ending(watch->reflector) == REASON_FORBIDDEN;
    watch->reported = true;
    if (watch->eager)
        close_for_now(watch, now);
    else if (!watch->persistent)
        object_watch_close(watch, now.mono_ns + REFUSED_NS);
    if (first || watch->eager)
        notify(watch, &(struct cluster_notice){
                          .type = NOTICE_REFUSED, .problem = problem ? problem : "refused", .denied = denied});
}

int64_t object_watch_tick(struct object_watch *watch, bool wanted, struct moment now) {
    if (!wanted) {
        object_watch_close(watch, watch->open_ns);
        return CLOCK_NEVER;
    }
    if (!watch->reflector && now.mono_ns >= watch->open_ns)
        open_reflector(watch, now);
    int64_t next_ns = watch->reflector ? reflector_tick(watch->reflector, now) : watch->open_ns;
    if (watch->state == REFLECTOR_LOST && reason_is_refusal(reflector_ending(watch->reflector)))
        handle_refusal(watch, now);
    else if (watch->state == REFLECTOR_ABSENT && !watch->persistent)
        close_for_now(watch, now);
    return watch->reflector ? next_ns : watch->open_ns;
}

void object_watch_select(struct object_watch *watch, const char *field_selector) {
    watch->options.field_selector = field_selector;
    object_watch_close(watch, watch->reflector ? 0 : watch->open_ns);
}

void object_watch_hurry(struct object_watch *watch) {
    if (watch->reflector)
        reflector_hurry(watch->reflector);
}

void object_watch_relist(struct object_watch *watch) {
    if (watch->reflector)
        reflector_relist(watch->reflector);
}

void object_watch_rewind(struct object_watch *watch, const char *problem) {
    if (watch->reflector)
        reflector_rewind(watch->reflector, problem);
}
