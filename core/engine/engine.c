// SPDX-License-Identifier: Apache-2.0
#include "core/engine/engine.h"

#include "core/adapter/services.h"
#include "core/base/memory.h"
#include "core/engine/act.h"
#include "core/engine/asleep.h"
#include "core/engine/capacity/capacity.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/clusters/identity.h"
#include "core/engine/clusters/slots.h"
#include "core/engine/clusters/unknown.h"
#include "core/engine/clusters/worker.h"
#include "core/engine/engine_internal.h"
#include "core/engine/facts.h"
#include "core/engine/fence/fence.h"
#include "core/engine/history/changes.h"
#include "core/engine/kueue/kueue_ticket.h"
#include "core/engine/limits/large_mirrors.h"
#include "core/engine/limits/limit.h"
#include "core/engine/limits/orphans.h"
#include "core/engine/limits/oversized.h"
#include "core/engine/mirror/rejection.h"
#include "core/engine/observe/observe.h"
#include "core/engine/observe/rewound.h"
#include "core/engine/pause/pause.h"
#include "core/engine/placement/namespace_labels.h"
#include "core/engine/placement/namespace_retry.h"
#include "core/engine/placement/placement_queue.h"
#include "core/engine/queue.h"
#include "core/engine/report/remark.h"
#include "core/engine/report/report.h"
#include "core/engine/request/answer.h"
#include "core/engine/request/command.h"
#include "core/engine/request/pacing.h"
#include "core/engine/settings.h"
#include "core/engine/shard/shard.h"
#include "core/engine/status/status_budget.h"

#include <stdlib.h>
#include <string.h>

static struct error *make_tables(struct engine *engine, const struct engine_options *options) {
    engine->clock = calloc(1, sizeof *engine->clock);
    engine->stats.kinds = calloc(engine->n_kinds + 1, sizeof *engine->stats.kinds);
    engine->stats.n_kinds = engine->n_kinds;
    engine->origin = strdup(options->origin);
    if (!engine->clock || !engine->stats.kinds || !engine->origin)
        return error_no_memory();
    engine->clock->ticks = options->ticks;
    engine->processor = options->processor;
    engine->pacing = (struct pace_options){options->window_max, options->seed};
    struct error *error = shard_init(engine, options->shards);
    return error ? error : slots_init(engine, options->worker_names, options->n_workers);
}

struct error *engine_new(const struct engine_options *options, struct moment now, struct engine **out) {
    *out = NULL;
    struct engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return error_no_memory();
    engine->kinds = options->kinds;
    engine->n_kinds = options->n_kinds;
    engine->seals = options->seals;
    engine->adopt_until_ns = options->adopt_until_ns;
    engine->settle_until_ns = now.mono_ns + ENGINE_SETTLE_NS;
    engine->now = now;
    engine->placing = true;
    engine->random.state = options->seed;
    engine->turn_of = SIZE_MAX;
    engine->wake_ns = CLOCK_NEVER;
    heap_init(&engine->timers);
    map_init(&engine->unknown, options->seed);
    fair_queue_init(&engine->placement_queue.waiting, options->seed);
    map_init(&engine->limit.refused, options->seed);
    struct error *error = store_init(&engine->store, engine->n_kinds, ENGINE_TREES, options->seed);
    if (!error)
        error = changes_new(now.wall_ns, &engine->changes);
    if (!error)
        error = settings_take(engine, &options->settings);
    if (!error)
        error = namespace_labels_new(options->seed, &engine->namespace_labels);
    if (!error)
        error = make_tables(engine, options);
    if (error) {
        engine_free(engine);
        return error;
    }
    if (options->management_uid)
        text_copy(engine->identities[ENGINE_MANAGEMENT].first, STORE_UID_MAX, options->management_uid);
    *out = engine;
    return NULL;
}

void engine_free(struct engine *engine) {
    if (!engine)
        return;
    capacity_free(engine);
    heap_free(&engine->timers); // before the store: timers live in entries
    store_free(&engine->store);
    changes_free(engine->changes);
    fair_queue_free(&engine->placement_queue.waiting);
    free(engine->namespace_waiters.list);
    settings_free(engine);
    namespace_labels_free(engine->namespace_labels);
    slots_free(engine);
    unknown_free(engine);
    limit_free(&engine->limit);
    free(engine->clock);
    free(engine->origin);
    for (size_t i = 0; i < engine->n_pending; i++)
        free(engine->pending[i].record);
    free(engine->pending);
    free(engine->shards);
    free(engine->stats.kinds);
    free(engine);
}

static void on_state(struct engine *engine, const struct engine_event *event) {
    struct watch_state *watch = cluster_watch(engine, event->cluster, event->kind);
    bool was_connected = watch->state == REFLECTOR_CONNECTED;
    watch->state = event->watch.state;
    struct stats_watch *stats = &engine->stats.clusters[event->cluster].watches[event->kind];
    text_shorten(stats->problem, sizeof stats->problem, event->watch.problem ? event->watch.problem : "");
    watch->settled = watch->settled || event->watch.state != REFLECTOR_STARTING;
    if (was_connected && event->watch.state != REFLECTOR_CONNECTED) {
        if (engine->contacts[event->cluster] != CONTACT_LOST && !cluster_is_other(engine, event->cluster))
            watch->lost_since_ns = event->now.mono_ns;
        stats->losses++;
    }
    if (event->watch.state == REFLECTOR_LOST)
        identity_forget(engine, event->cluster);
    cluster_watch_changed(engine, event->cluster, event->kind);
}

// A silent cluster counts as lost from its last byte on, even while its watches stay open.
static void on_contact(struct engine *engine, const struct engine_event *event) {
    size_t cluster = event->cluster;
    bool is_lost = event->contact.state == CONTACT_LOST && engine->contacts[cluster] != CONTACT_LOST;
    for (size_t k = 0; k < engine->n_kinds; k++) {
        struct watch_state *watch = cluster_watch(engine, cluster, k);
        if (is_lost && watch->state == REFLECTOR_CONNECTED)
            watch->lost_since_ns = event->contact.heard_ns;
    }
    rejection_contact(engine, event);
    int64_t *refused_since_ns = &engine->slots[cluster].refused_since_ns;
    if (event->contact.state == CONTACT_GOOD || event->contact.state == CONTACT_REJECTED)
        *refused_since_ns = 0;
    else if (event->contact.repeated && *refused_since_ns == 0)
        *refused_since_ns = event->now.mono_ns;
    engine->contacts[cluster] = engine->stats.clusters[cluster].contact = event->contact.state;
    if (is_lost)
        identity_forget(engine, cluster);
    for (size_t k = 0; k < engine->n_kinds; k++)
        cluster_watch_changed(engine, cluster, k);
}

// Known from the beginning of a list: adapters need the objects' version.
static void take_version(struct engine *engine, const struct engine_event *event) {
    struct watch_state *watch = cluster_watch(engine, event->cluster, event->kind);
    for (const char *const *v = engine->kinds[event->kind]->abi.versions; event->version && *v; v++)
        if (strcmp(*v, event->version) == 0)
            watch->version = *v;
}

static void on_listed(struct engine *engine, const struct engine_event *event) {
    struct watch_state *watch = cluster_watch(engine, event->cluster, event->kind);
    take_version(engine, event);
    watch->listing = false;
    watch->listed = true;
    watch->revision = event->revision;
    pause_listed(engine, event->cluster, event->kind);
    orphans_listed(engine, event->cluster, event->kind);
    engine->stats.clusters[event->cluster].watches[event->kind].lists++;
    observe_listed(engine, event->cluster, event->kind);
    if (event->cluster == ENGINE_MANAGEMENT)
        limit_listed(engine, event->kind);
    placement_queue_retry(engine); // more is counted
    for (size_t c = 0; c < engine->n_clusters; c++)
        cluster_refresh(engine, c, event->kind);
}

static void on_seen(struct engine *engine, size_t cluster, size_t kind, struct object *object) {
    if (cluster == ENGINE_MANAGEMENT)
        orphans_note_revision(engine, kind, object->value);
    else
        large_mirrors_bound(engine, cluster, kind, &object);
    if (object->too_large)
        oversized_seen(engine, cluster, kind, object);
    else
        observe_seen(engine, cluster, kind, object);
}

static void on_gone(struct engine *engine, size_t cluster, size_t kind, struct object *object) {
    engine->stats.clusters[cluster].watches[kind].gone++;
    if (cluster == ENGINE_MANAGEMENT)
        orphans_note_revision(engine, kind, object->value);
    observe_gone(engine, cluster, kind, object);
}

// Of a connection to a worker that left meanwhile. Answers and time have no cluster.
static bool is_late(const struct engine *engine, const struct engine_event *event) {
    return event->type != EVENT_WORKER && event->type != EVENT_ANSWER && event->type != EVENT_TIME &&
           cluster_is_vacant(engine, event->cluster);
}

static void take_event(struct engine *engine, struct engine_event *event) {
    if (is_late(engine, event)) {
        if (event->type == EVENT_SEEN || event->type == EVENT_GONE) {
            object_free(event->object);
            event->object = NULL;
        }
        if (event->type == EVENT_CAPACITY)
            nodes_free(TAKE(event->capacity.nodes));
        return;
    }
    switch (event->type) {
    case EVENT_LISTING:
        take_version(engine, event);
        cluster_watch(engine, event->cluster, event->kind)->listing = true;
        cluster_watch(engine, event->cluster, event->kind)->overflowed = false;
        cluster_watch(engine, event->cluster, event->kind)->epoch++;
        break;
    case EVENT_SEEN:
        engine->stats.clusters[event->cluster].watches[event->kind].seen++;
        on_seen(engine, event->cluster, event->kind, event->object);
        event->object = NULL;
        break;
    case EVENT_GONE:
        on_gone(engine, event->cluster, event->kind, event->object);
        event->object = NULL;
        break;
    case EVENT_LISTED:
        on_listed(engine, event);
        break;
    case EVENT_STATE:
        on_state(engine, event);
        break;
    case EVENT_ANSWER:
        answer_handle(engine, event);
        break;
    case EVENT_CONTACT:
        on_contact(engine, event);
        break;
    case EVENT_IDENTITY:
        identity_take(engine, event->cluster, event->identity.uid, event->identity.problem);
        break;
    case EVENT_REWOUND:
        rewound_take(engine, event->cluster, event->kind);
        break;
    case EVENT_WORKER:
        worker_take(engine, event);
        break;
    case EVENT_QUEUED:
        kueue_ticket_take(engine, event);
        break;
    case EVENT_REMARK:
        remark_take(engine, event);
        break;
    case EVENT_LEASE:
        shard_take(engine, event);
        break;
    case EVENT_NAMESPACE:
        if (event->cluster == ENGINE_MANAGEMENT)
            namespace_labels_take(engine, event);
        else
            namespace_retry_changed(engine, event->cluster, event->namespace_.name);
        break;
    case EVENT_CAPACITY:
        capacity_take(engine, event);
        event->capacity.nodes = NULL;
        break;
    case EVENT_FIELD:
        pause_field(engine, event->kind, event->lacks);
        break;
    case EVENT_TIME:
        break;
    case EVENT_FENCE:
        fence_take(engine, event);
        break;
    case EVENT_DENIED:
        rejection_denied(engine, event);
        break;
    }
}

static void end_settling(struct engine *engine) {
    if (engine->n_settled == engine->n_kinds || engine->now.mono_ns < engine->settle_until_ns)
        return;
    size_t first = engine->n_settled;
    engine->n_settled = engine->n_kinds;
    for (size_t k = first; k < engine->n_kinds; k++)
        cluster_queue_blocked(engine, k, SIZE_MAX);
}

static void reconcile(struct engine *engine, struct entry *entry) {
    size_t lane = queue_lane(engine, entry);
    act_reconcile(engine, entry);
    queue_charge(engine, lane);
}

// Some of those whose turn it is. Costly ones end the step, so that events of other clusters are seen in between.
static void reconcile_some(struct engine *engine, struct entry *(*next)(struct engine *engine), int64_t until_ns) {
    struct entry *entry;
    for (int i = 0; i < ENGINE_BATCH && (i == 0 || engine->charged_ns < until_ns) && (entry = next(engine)); i++)
        reconcile(engine, entry);
}

// A fact that was written without a workload would be one of all entries that have none.
static void check_none(struct engine *engine) {
    static const struct workload empty;
    if (memcmp(&engine->store.none, &empty, sizeof empty) == 0)
        return;
    report_log(engine, LOG_ERROR, ENGINE_MANAGEMENT, LOG_NO_KIND, "a fact of a workload was written without one");
    engine->store.none = empty;
}

void engine_step(struct engine *engine, struct engine_event *event, struct update *update) {
    engine->update = update;
    asleep_check(engine, event->now);
    engine->now = event->now;
    size_t events = update->n_events;
    engine->received_ns = event->received_ns ? event->received_ns : event->now.mono_ns;
    engine->charged_ns = engine->processor ? engine->processor() : 0;
    int64_t until_ns = engine->charged_ns + ENGINE_COSTLY_NS;
    shard_tick(engine);
    take_event(engine, event);
    if (engine->room_grew)
        pause_room_grew(engine);
    end_settling(engine);
    int64_t labels_ns = namespace_labels_tick(engine);
    capacity_tick(engine);
    for (struct timer *t; (t = heap_first(&engine->timers)) && t->at_ns <= engine->now.mono_ns;) {
        struct entry *entry = (struct entry *)(void *)t;
        heap_remove(&engine->timers, t);
        queue_entry(engine, entry);
    }
    queue_charge(engine, event->cluster);
    reconcile_some(engine, queue_take, until_ns);
    reconcile_some(engine, pacing_next, until_ns);
    reconcile_some(engine, placement_queue_next, until_ns);
    pacing_pause(engine);
    pacing_charge(engine, ENGINE_MANAGEMENT, update->n_events - events);
    const struct timer *first = heap_first(&engine->timers);
    update->wake_ns = engine->stats.queued > 0 ? engine->now.mono_ns : first ? first->at_ns : CLOCK_NEVER;
    update->wake_ns = clock_earlier(update->wake_ns, pacing_wake_ns(engine));
    update->wake_ns = clock_earlier(update->wake_ns, limit_tick(engine));
    update->wake_ns = clock_earlier(update->wake_ns, placement_queue_wake_ns(engine));
    update->wake_ns = clock_earlier(update->wake_ns, labels_ns);
    update->wake_ns = clock_earlier(update->wake_ns, capacity_wake_ns(engine));
    if (engine->n_settled < engine->n_kinds)
        update->wake_ns = clock_earlier(update->wake_ns, engine->settle_until_ns);
    engine->wake_ns = update->wake_ns;
    check_none(engine);
    engine->update = NULL;
}

void engine_drain(struct engine *engine) {
    engine->placing = false;
}

size_t engine_pending(const struct engine *engine) {
    return engine->in_flight + pacing_waiting(engine);
}

const struct stats *engine_stats(struct engine *engine) {
    pacing_count(engine);
    status_budget_count(engine);
    unknown_stats(engine);
    return &engine->stats;
}

struct engine_time engine_time_of(const struct engine *engine, size_t cluster) {
    return cluster < engine->n_clusters ? engine->lanes[cluster].time : (struct engine_time){0};
}

bool engine_has_worker(const struct engine *engine, size_t cluster) {
    return !cluster_is_vacant(engine, cluster);
}

const char *engine_identity(const struct engine *engine, size_t cluster) {
    return identity_known(engine, cluster);
}

bool engine_may_leave(const struct engine *engine, size_t cluster) {
    return cluster_is_vacant(engine, cluster) || worker_may_leave(engine, cluster);
}

bool engine_in_sync(const struct engine *engine) {
    if (engine->stats.queued > 0 || pacing_waiting(engine) > 0)
        return false;
    for (size_t k = 0; k < engine->n_kinds; k++) {
        for (size_t c = 0; c < engine->n_clusters; c++) {
            const struct watch_state *watch = cluster_watch(engine, c, k);
            if (cluster_is_vacant(engine, c))
                continue;
            if (!watch->settled || (c == ENGINE_MANAGEMENT && !watch->listed && watch->state != REFLECTOR_ABSENT))
                return false;
        }
    }
    return true;
}

static void view_of_waiting(const struct engine *engine, const struct entry *e, struct engine_view *view) {
    const struct mirror *current = facts_followed_mirror(engine, e);
    view->mirror = current && !current->facts.being_deleted && !current->unmarked ? current->uid : "";
    view->being_deleted = e->workload->facts.being_deleted;
    view->suspended = e->workload->facts.suspended;
    view->told = e->workload->reported || e->workload->waiting_reported;
    view->wake_ns = e->timer.place == HEAP_NOT_IN ? CLOCK_NEVER : e->timer.at_ns;
    view->why = e->why;
    view->in_flight = e->busy || e->lookups > 0 || e->node.flow;
    for (const struct mirror *m = entry_mirrors(e); m; m = mirror_next(m))
        view->in_flight |= m->facts.busy || m->node.flow;
}

void engine_each(const struct engine *engine, void (*visit)(void *ctx, const struct engine_view *view), void *ctx) {
    for (size_t k = 0; k < engine->n_kinds; k++) {
        size_t cursor = 0;
        for (const struct entry *e; (e = map_next(&engine->store.maps[k], &cursor));) {
            char space[254];
            entry_namespace(e, space);
            struct engine_view view = {.kind = k,
                                       .namespace_ = space,
                                       .name = entry_name(e),
                                       .uid = e->workload->uid,
                                       .attempt = e->workload->facts.attempt,
                                       .phase = (wharf_phase_kind)e->workload->phase};
            if (e->workload->facts.cluster && e->workload->facts.cluster != DECIDE_UNKNOWN_CLUSTER)
                view.cluster = engine->names[e->workload->facts.cluster];
            for (const struct mirror *m = entry_mirrors(e); m; m = mirror_next(m))
                view.mirrors += m->facts.present ? 1 : 0;
            view_of_waiting(engine, e, &view);
            if (e->workload->facts.exists)
                visit(ctx, &view);
        }
    }
}

void engine_each_waiter(const struct engine *engine, void (*visit)(void *ctx, const struct engine_waiter *waiter),
                        void *ctx) {
    for (size_t c = 0; c < engine->n_clusters; c++)
        for (int work = 0; engine->paces[c] && work < WORK_CLASSES; work++) {
            const struct flow *first = engine->paces[c]->queue.classes[work].turn, *flow = first;
            for (bool more = first; more; flow = flow->next, more = flow != first)
                for (const struct fair_node *node = flow->first; node; node = node->next)
                    visit(ctx, &(struct engine_waiter){c, node->entry->kind, (enum work_class)work, node->entry->key});
        }
}
