// SPDX-License-Identifier: Apache-2.0
#include "core/engine/engine.h"

#include "core/config/dependencies.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine_internal.h"
#include "core/engine/placement/placing.h"
#include "core/engine/report/report.h"

static void clear_settings(struct engine_settings *settings) {
    free((char *)settings->namespaces);
    dependency_options_clear(&settings->dependencies);
}

// The former settings keep their texts; placement's rules are those of placement_set_rules.
static struct error *use_settings(struct engine *engine, const struct engine_settings *settings,
                                  struct engine_settings *former) {
    struct engine_settings used = *settings;
    used.namespaces = strdup(settings->namespaces ? settings->namespaces : "");
    used.dependencies = (struct dependency_options){.copy = NULL};
    used.placement.rules = NULL;
    used.placement.n_rules = 0;
    used.placement.otherwise = (struct placement_rule){.kinds = NULL};
    bool copied = used.namespaces && dependency_options_set(&used.dependencies, &settings->dependencies);
    struct error *error = copied ? placement_set_rules(engine, &settings->placement) : error_no_memory();
    if (error) {
        clear_settings(&used);
        return error;
    }
    *former = engine->settings;
    engine->settings = used;
    return NULL;
}

static struct error *begin(struct engine *engine, const struct engine_options *options) {
    engine->clock = calloc(1, sizeof *engine->clock);
    engine->origin = strdup(options->origin);
    engine->calls = part_calls_new();
    if (!engine->clock || !engine->origin || !engine->calls)
        return error_no_memory();
    engine->clock->ticks = options->ticks;
    struct error *error = store_init(&engine->store, options->n_kinds, ENGINE_TREES, options->seed);
    struct engine_settings none;
    if (!error)
        error = use_settings(engine, &options->settings, &none);
    EACH_PART(part, begin) if (!error) error = part->begin(engine, options);
    return error;
}

struct error *engine_new(const struct engine_options *options, struct moment now, struct engine **out) {
    *out = NULL;
    struct engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return error_no_memory();
    engine->kinds = options->kinds;
    engine->seals = options->seals;
    engine_set_scorers(engine, options->scorers, options->n_scorers);
    engine->queue.processor = options->processor;
    engine->now = now;
    engine->placing = true;
    engine->random.state = engine->seed = options->seed;
    engine->wake_ns = CLOCK_NEVER;
    heap_init(&engine->queue.timers);
    struct error *error = begin(engine, options);
    if (error)
        engine_free(engine);
    else
        *out = engine;
    return error;
}

void engine_free(struct engine *engine) {
    if (!engine)
        return;
    if (engine->calls)
        EACH_PART(part, end) part->end(engine);
    free(engine->calls);
    clear_settings(&engine->settings);
    free(engine->clock);
    free(engine->origin);
    free(engine->stats.kinds);
    free(engine);
}

// Parts later in the table have queues of entries, and entries have timers.
static void end_store(struct engine *engine) {
    struct store_cursor at = {0};
    for (struct entry *e; engine->store.maps && (e = store_next(&engine->store, &at));)
        if (e->workload->facts.exists)
            EACH_PART(part, workload_ends) part->workload_ends(engine, e);
    heap_free(&engine->queue.timers);
    store_free(&engine->store);
}

const struct part part_store = {.name = "store", .end = end_store};

static void handle_event(struct engine *engine, struct engine_event *event) {
    bool has_cluster = event->type != EVENT_WORKER && event->type != EVENT_ANSWER && event->type != EVENT_TIME;
    if (has_cluster && cluster_is_vacant(engine, event->cluster)) // from a connection to a removed worker
        engine_event_drop(event);
    else
        EACH_PART(part, event) if (part->events & PART_EVENT(event->type)) part->event(engine, event);
}

// Reconciles a batch of entries. Costly entries end the step, so that events of other clusters come in between.
static void reconcile_some(struct engine *engine, struct entry *(*next)(struct engine *engine), int64_t until_ns) {
    struct entry *entry;
    for (int i = 0; i < ENGINE_BATCH && (i == 0 || engine->queue.charged_ns < until_ns) && (entry = next(engine));
         i++) {
        size_t lane = queue_lane(engine, entry);
        act_reconcile(engine, entry);
        queue_charge(engine, lane);
    }
}

static void queue_due(struct engine *engine) {
    for (struct timer *t; (t = heap_first(&engine->queue.timers)) && t->at_ns <= engine->now.mono_ns;) {
        heap_remove(&engine->queue.timers, t);
        queue_entry(engine, (struct entry *)(void *)t);
    }
}

static int64_t due_ns(struct engine *engine) {
    const struct timer *first = heap_first(&engine->queue.timers);
    int64_t at_ns = engine->stats.queued > 0 ? engine->now.mono_ns : first ? first->at_ns : CLOCK_NEVER;
    EACH_PART(part, due_ns) at_ns = clock_earlier(at_ns, part->due_ns(engine));
    return at_ns;
}

// A fact without a workload would apply to all entries that have none.
static void check_none(struct engine *engine) {
    static const char empty[sizeof(struct workload)];
    if (memcmp((const char *)&engine->store.none, empty, sizeof empty) == 0)
        return;
    report_log(engine, LOG_ERROR, ENGINE_MANAGEMENT, LOG_NO_KIND, "a part has written a fact without a workload");
    engine->store.none = (struct workload){0};
}

void engine_step(struct engine *engine, struct engine_event *event, struct update *update) {
    engine->update = update;
    engine->stepped_ns = engine->now.mono_ns;
    engine->now = event->now;
    engine->events_before = update->n_events;
    engine->received_ns = event->received_ns ? event->received_ns : event->now.mono_ns;
    engine->queue.charged_ns = engine->queue.processor ? engine->queue.processor() : 0;
    int64_t until_ns = engine->queue.charged_ns + ENGINE_COSTLY_NS;
    handle_event(engine, event);
    EACH_PART(part, tick) part->tick(engine);
    queue_due(engine);
    queue_charge(engine, event->cluster);
    reconcile_some(engine, queue_take, until_ns);
    EACH_PART(part, turn) reconcile_some(engine, part->turn, until_ns);
    EACH_PART(part, step_ends) part->step_ends(engine);
    engine->wake_ns = update->wake_ns = due_ns(engine);
    check_none(engine);
    engine->update = NULL;
}

struct error *engine_configure(struct engine *engine, const struct engine_settings *settings) {
    struct engine_settings former;
    struct error *error = use_settings(engine, settings, &former);
    if (error)
        return error;
    EACH_PART(part, configure) part->configure(engine, &former);
    clear_settings(&former);
    cluster_changed(engine, ENGINE_MANAGEMENT); // all entries
    return NULL;
}

void engine_drain(struct engine *engine) {
    engine->placing = false;
}

const struct stats *engine_stats(struct engine *engine) {
    EACH_PART(part, count) part->count(engine);
    return &engine->stats;
}

void engine_set_scorers(struct engine *engine, const struct scorer *const *scorers, size_t n_scorers) {
    engine->scorers = scorers;
    engine->n_scorers = n_scorers;
}

size_t engine_n_kinds(const struct engine *engine) {
    return engine->n_kinds;
}
