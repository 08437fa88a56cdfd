// SPDX-License-Identifier: Apache-2.0
// The numbers of the clusters, with the tables indexed by number, and the events about watches, connections and
// workers. A number without a worker is vacant: never connected or eligible, and the engine ignores its events.
#include "core/base/memory.h"
#include "core/engine/capacity/capacity.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/clusters/clusters.h"
#include "core/engine/clusters/missing_worker.h"
#include "core/engine/dependencies/dependencies.h"
#include "core/engine/elsewhere/elsewhere.h"
#include "core/engine/engine.h"
#include "core/engine/engine_internal.h"
#include "core/engine/fence/fence.h"
#include "core/engine/limits/limits.h"
#include "core/engine/placement/placing.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/status/status.h"

// Numbers --------------------------------------------------------------------------------------------------------

// As array_reserve, from a known length on: new items are zero.
static bool grow(void *array, size_t from, size_t to, size_t size) {
    return array_reserve(array, &from, to, size);
}

// The rows of `workers` follow the pointers.
static struct worker_facts **copy_workers(const struct engine *engine, size_t n_clusters, size_t n_kinds) {
    struct worker_facts **table = calloc(1, n_kinds * (sizeof *table + n_clusters * sizeof **table) + 1);
    for (size_t k = 0; table && k < n_kinds; k++) {
        table[k] = (struct worker_facts *)(void *)(table + n_kinds) + k * n_clusters;
        if (engine->workers && k < engine->n_kinds)
            memcpy(table[k], engine->workers[k], engine->n_clusters * sizeof **table);
    }
    return table;
}

static struct watch_state *copy_watches(const struct engine *engine, size_t n_clusters, size_t n_kinds) {
    struct watch_state *watches = calloc(n_clusters * n_kinds + 1, sizeof *watches);
    for (size_t c = 0; watches && engine->n_kinds > 0 && c < engine->n_clusters; c++)
        memcpy(&watches[c * n_kinds], cluster_watch(engine, c, 0), engine->n_kinds * sizeof *watches);
    return watches;
}

// Grows the tables for more clusters or kinds. A table that has grown before another one fails keeps unused rows.
static bool grow_tables(struct engine *engine, size_t n_clusters, size_t n_kinds) {
    size_t clusters = engine->n_clusters, kinds = engine->n_kinds;
    bool grown = grow(&engine->clusters, clusters, n_clusters, sizeof *engine->clusters) &&
                 grow(&engine->stats.clusters, clusters, n_clusters, sizeof *engine->stats.clusters) &&
                 grow(&engine->stats.kinds, kinds, n_kinds, sizeof *engine->stats.kinds);
    for (size_t c = 0; grown && c < clusters; c++)
        if (!cluster_is_vacant(engine, c))
            grown = grow(&engine->stats.clusters[c].watches, kinds, n_kinds, sizeof(struct stats_watch));
    struct watch_state *watches = copy_watches(engine, n_clusters, n_kinds);
    struct worker_facts **workers = copy_workers(engine, n_clusters, n_kinds);
    if (!grown || !watches || !workers) {
        free(watches);
        free(workers);
        return false;
    }
    free(engine->watches);
    free(engine->workers);
    engine->watches = watches;
    engine->workers = workers;
    engine->n_clusters = engine->stats.n_clusters = n_clusters;
    engine->n_kinds = engine->stats.n_kinds = n_kinds;
    for (size_t c = clusters; c < n_clusters; c++)
        engine->stats.clusters[c].vacant = true;
    return true;
}

// Fills the row of a kind in a cluster (or a vacant number) when the kind or the cluster is new.
static void fill_row(struct engine *engine, size_t cluster, size_t kind) {
    if (!cluster_is_vacant(engine, cluster)) {
        struct worker_facts *worker = &engine->workers[kind][cluster];
        cluster_watch(engine, cluster, kind)->lost_since_ns = engine->now.mono_ns;
        worker->name = engine->clusters[cluster].name;
        worker->name_hash = decide_name_hash(engine->clusters[cluster].name);
        worker->active = engine->stats.clusters[cluster].active; // of all kinds
        worker->finished = *completions_of(engine, cluster);
    }
    cluster_refresh(engine, cluster, kind);
}

static void fill(struct engine *engine, size_t cluster, struct pace *pace) {
    struct stats_cluster *stats = &engine->stats.clusters[cluster];
    pacing_join(engine, cluster, pace);
    stats->vacant = false;
    stats->number = cluster;
    text_copy(stats->name, sizeof stats->name, engine->clusters[cluster].name);
    for (size_t k = 0; k < engine->n_kinds; k++)
        fill_row(engine, cluster, k);
}

// Gives a vacant number, which may be the first one beyond the tables, to a cluster. Takes the texts of the settings.
// False when out of memory: nothing changed.
static bool take_slot(struct engine *engine, size_t cluster, const char *name, const struct worker_settings *settings) {
    if (cluster >= engine->n_clusters && !grow_tables(engine, cluster + 1, engine->n_kinds))
        return false;
    char *copy = strdup(name);
    struct pace *pace = calloc(1, sizeof *pace);
    struct stats_watch *watches = calloc(engine->n_kinds + 1, sizeof *watches);
    if (!copy || !pace || !watches) {
        free(copy);
        free(pace);
        free(watches);
        return false;
    }
    engine->clusters[cluster] = (struct engine_cluster){.name = copy,
                                                        .settings = *settings,
                                                        .lane = engine->clusters[cluster].lane,
                                                        .membership.join = engine->membership.joins++};
    engine->stats.clusters[cluster].watches = watches;
    fill(engine, cluster, pace);
    return true;
}

static void free_row(struct engine *engine, size_t cluster) {
    pacing_leave(engine, cluster);
    free(engine->stats.clusters[cluster].watches);
    free(engine->clusters[cluster].name);
    worker_settings_clear(&engine->clusters[cluster].settings);
    completions_free(engine, cluster);
}

// Empties the tables' rows; no entry may refer to the cluster, and no request to the cluster may be in flight.
static void vacate_slot(struct engine *engine, size_t cluster) {
    free_row(engine, cluster);
    engine->stats.clusters[cluster] = (struct stats_cluster){.vacant = true};
    engine->clusters[cluster] =
        (struct engine_cluster){.lane = engine->clusters[cluster].lane, .settings.policy = WORKER_LEFT};
    placement_workers_changed(engine);
    for (size_t k = 0; k < engine->n_kinds; k++) {
        *cluster_watch(engine, cluster, k) = (struct watch_state){0};
        engine->workers[k][cluster] = (struct worker_facts){0};
        cluster_refresh(engine, cluster, k);
    }
}

struct error *engine_add_kinds(struct engine *engine, struct kind *const *kinds, size_t n_kinds, struct moment now) {
    size_t from = engine->n_kinds;
    if (n_kinds <= from)
        return NULL;
    if (!store_grow(&engine->store, n_kinds, engine->seed) || !grow_tables(engine, engine->n_clusters, n_kinds))
        return error_no_memory();
    engine->kinds = kinds;
    engine->store.n_kinds = n_kinds;
    engine->now = now;
    for (size_t c = 0; c < engine->n_clusters; c++)
        for (size_t k = from; k < n_kinds; k++)
            fill_row(engine, c, k);
    return NULL;
}

// The management cluster and the first workers. On failure free_slots is still called.
static struct error *init_slots(struct engine *engine, const struct engine_options *options) {
    static const struct worker_settings none;
    if (!grow_tables(engine, options->n_workers + 1, options->n_kinds) ||
        !take_slot(engine, ENGINE_MANAGEMENT, "management", &none))
        return error_no_memory();
    for (size_t w = 0; w < options->n_workers; w++)
        if (!take_slot(engine, w + 1, options->worker_names[w], &none))
            return error_no_memory();
    return NULL;
}

// After the store: entries wait in the clusters' queues.
static void free_slots(struct engine *engine) {
    for (size_t c = 0; c < engine->n_clusters; c++)
        free_row(engine, c);
    free(engine->workers);
    free(engine->clusters);
    free(engine->watches);
    free(engine->stats.clusters);
}

// Workers ------------------------------------------------------------------------------------------------------

// The time at which the host gives the mirror up: rule 2, as in an unreachable worker.
static int64_t given_up_ns(const struct engine *engine, const struct entry *entry, const struct mirror *mirror) {
    const struct worker_facts *worker = &engine->workers[entry->kind][mirror->facts.cluster];
    int64_t since_ns = worker->connected ? engine->now.mono_ns : worker->lost_since_ns;
    int64_t at_ns = clock_after(since_ns, engine->settings.worker_lost_timeout_ns);
    // An operator removes the worker, so the wait has an end.
    int64_t fenced_ns = fence_until_ns(engine, entry, mirror->facts.cluster);
    return fenced_ns == CLOCK_NEVER ? at_ns : clock_later(at_ns, fenced_ns);
}

static void forget_mirror(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    struct workload_facts *w = &entry->workload->facts;
    const struct mirror_facts *m = &mirror->facts;
    bool current = w->exists && !w->being_deleted && !w->finished && m->of_workload && m->attempt == w->attempt &&
                   m->cluster == w->cluster;
    if (current && final_status_is_due(mirror)) {
        final_status_keep(engine, entry, mirror);
        w->status_due = true;
    }
    if (!current && m->of_workload && (m->present || m->may_exist))
        w->earlier_until_ns = clock_later(w->earlier_until_ns, given_up_ns(engine, entry, mirror));
    orphans_forget(engine, mirror);
    entry_remove_mirror(&engine->store, entry, mirror);
    queue_entry(engine, entry);
}

static void forget_in(struct engine *engine, struct entry *entry, uint32_t cluster) {
    struct mirror *mirror = entry_mirror(entry, cluster);
    struct workload *w = entry->workload;
    bool placed = w->facts.exists && w->facts.cluster == cluster;
    if (mirror)
        forget_mirror(engine, entry, mirror);
    if (w->facts.exists && w->active_in == cluster)
        cluster_count_active(engine, entry, 0);
    if (w->facts.exists && w->requested_cluster == cluster)
        w->requested_cluster = DECIDE_UNKNOWN_CLUSTER;
    if (w->facts.exists && w->accepted_cluster == cluster)
        w->accepted_attempt = 0;
    if (placed) {
        missing_worker_begin(engine, entry);
        missing_worker_report(engine, entry, engine->clusters[cluster].name);
        missing_worker_count(engine, entry, engine->clusters[cluster].name);
        w->facts.misplaced = false;
    }
    if (placed || entry->blocked)
        queue_entry(engine, entry);
}

static void leave(struct engine *engine, size_t cluster) {
    answer_end_requests(engine, cluster);
    struct store_cursor at = {0};
    for (struct entry *e; (e = store_next(&engine->store, &at));)
        forget_in(engine, e, (uint32_t)cluster);
    report_log(engine, LOG_INFO, cluster, LOG_NO_KIND, "the worker left");
    missing_worker_left(engine, engine->clusters[cluster].name, engine->clusters[cluster].membership.identity.first);
    capacity_left(engine, cluster);
    vacate_slot(engine, cluster);
    identity_left(engine);
}

static void log_policy(struct engine *engine, size_t cluster, enum worker_policy policy) {
    static const char *const words[] = {
        [WORKER_ACTIVE] = "the worker gets new workloads",
        [WORKER_CORDONED] = "the worker is cordoned: nothing new is placed there",
        [WORKER_DRAIN_FINISH] =
            "the worker is drained: nothing new is placed there, and running workloads finish there",
        [WORKER_DRAIN_MOVE] =
            "the worker is drained: the host deletes the mirrors there and reschedules to other workers",
    };
    report_log(engine, LOG_INFO, cluster, LOG_NO_KIND, "%s", words[policy]);
}

static void change_policy(struct engine *engine, size_t cluster, const struct worker_settings *settings) {
    if (settings->policy == WORKER_DRAIN_MOVE)
        engine->clusters[cluster].membership.moves_since_ns = engine->now.mono_ns;
    engine->stats.clusters[cluster].policy = settings->policy;
    if (settings->policy == WORKER_ACTIVE)
        suspects_trust(engine, cluster);
    if (!settings->quiet)
        log_policy(engine, cluster, settings->policy);
}

static void on_worker(struct engine *engine, const struct engine_event *event) {
    const struct worker_settings *settings = &event->worker;
    size_t cluster = event->cluster;
    bool vacant = cluster_is_vacant(engine, cluster);
    if (cluster == ENGINE_MANAGEMENT || (vacant && settings->policy == WORKER_LEFT))
        return;
    if (settings->policy == WORKER_LEFT) {
        leave(engine, cluster);
        return;
    }
    struct worker_settings copy, former = {.name = NULL};
    if (!worker_settings_copy(settings, &copy))
        return;
    if (vacant && !take_slot(engine, cluster, copy.name, &copy)) {
        worker_settings_clear(&copy);
        return;
    }
    if (vacant) {
        missing_worker_joined(engine, cluster);
        report_log(engine, LOG_INFO, cluster, LOG_NO_KIND, "the worker joined");
    } else {
        former = engine->clusters[cluster].settings;
        engine->clusters[cluster].settings = copy;
        pacing_refresh_rate(engine, cluster);
    }
    if (former.policy != copy.policy)
        change_policy(engine, cluster, &copy);
    worker_settings_clear(&former);
    placement_workers_changed(engine);
    identity_expect(engine, cluster, copy.uid, copy.recorded);
    cluster_changed(engine, cluster);
}

// The cluster has, or may have, a mirror of the entry that the host has not given up.
static bool needs_cluster(const struct engine *engine, const struct entry *entry, size_t cluster) {
    const struct mirror *mirror = entry_mirror(entry, cluster);
    bool there = mirror && (mirror->facts.present || mirror->facts.may_exist);
    if (mirror && (mirror->facts.busy || (there && given_up_ns(engine, entry, mirror) > engine->now.mono_ns)))
        return true;
    return entry->workload->facts.exists && entry->workload->facts.cluster == cluster &&
           !entry->workload->facts.finished && !entry->workload->facts.being_deleted &&
           !entry->workload->facts.suspended;
}

// Rule 2: the management cluster's first lists have to be complete.
bool engine_may_leave(const struct engine *engine, size_t cluster) {
    struct store_cursor at = {0};
    if (cluster_is_vacant(engine, cluster))
        return true;
    for (const struct entry *e; (e = store_next(&engine->store, &at));)
        if (needs_cluster(engine, e, cluster))
            return false;
    return cluster_unlisted_kind(engine) == engine->n_kinds && dependencies_may_leave(engine, cluster);
}

// A kind without complete list, or with ignored objects.
static bool may_hide_mirrors(const struct engine *engine, size_t cluster, size_t kind) {
    const struct watch_state *watch = cluster_watch(engine, cluster, kind);
    bool absent = watch->state == REFLECTOR_ABSENT;
    return (!absent && (!cluster_is_connected(engine, cluster, kind) || watch->listing)) ||
           (watch->paused & PAUSE_FULL) || watch->large_ignored;
}

static bool uses_cluster(const struct entry *entry, size_t cluster) {
    const struct mirror *mirror = entry_mirror(entry, (uint32_t)cluster);
    const struct workload_facts *w = &entry->workload->facts;
    return (mirror && (mirror->facts.present || mirror->facts.may_exist || mirror->facts.busy)) ||
           (w->exists && w->cluster == cluster && !w->finished && !w->suspended);
}

bool engine_is_unused(const struct engine *engine, size_t cluster) {
    struct store_cursor at = {0};
    if (cluster_is_vacant(engine, cluster))
        return true;
    if (cluster_unlisted_kind(engine) < engine->n_kinds)
        return false;
    for (size_t k = 0; k < engine->n_kinds; k++)
        if (may_hide_mirrors(engine, cluster, k))
            return false;
    for (const struct entry *e; (e = store_next(&engine->store, &at));)
        if (uses_cluster(e, cluster))
            return false;
    return dependencies_may_leave(engine, cluster);
}

// Watches and connections --------------------------------------------------------------------------------------

static void on_state(struct engine *engine, const struct engine_event *event) {
    struct watch_state *watch = cluster_watch(engine, event->cluster, event->kind);
    bool was_connected = watch->state == REFLECTOR_CONNECTED;
    watch->state = event->watch.state;
    struct stats_watch *stats = &engine->stats.clusters[event->cluster].watches[event->kind];
    text_shorten(stats->problem, sizeof stats->problem, event->watch.problem ? event->watch.problem : "");
    watch->state_known = watch->state_known || event->watch.state != REFLECTOR_STARTING;
    if (was_connected && event->watch.state != REFLECTOR_CONNECTED) {
        if (engine->clusters[event->cluster].membership.contact != CONTACT_LOST &&
            !cluster_is_other(engine, event->cluster))
            watch->lost_since_ns = event->now.mono_ns;
        stats->losses++;
    }
    cluster_watch_changed(engine, event->cluster, event->kind);
}

// A silent cluster counts as lost from the last byte on, even while watches stay open.
static void on_contact(struct engine *engine, const struct engine_event *event) {
    size_t cluster = event->cluster;
    bool is_lost = event->contact.state == CONTACT_LOST && engine->clusters[cluster].membership.contact != CONTACT_LOST;
    for (size_t k = 0; k < engine->n_kinds; k++) {
        struct watch_state *watch = cluster_watch(engine, cluster, k);
        if (is_lost && watch->state == REFLECTOR_CONNECTED)
            watch->lost_since_ns = event->contact.heard_ns;
    }
    int64_t *refused_since_ns = &engine->clusters[cluster].membership.refused_since_ns;
    if (event->contact.state == CONTACT_GOOD || event->contact.state == CONTACT_REJECTED)
        *refused_since_ns = 0;
    else if (event->contact.repeated && *refused_since_ns == 0)
        *refused_since_ns = event->now.mono_ns;
    engine->clusters[cluster].membership.contact = engine->stats.clusters[cluster].contact = event->contact.state;
    for (size_t k = 0; k < engine->n_kinds; k++)
        cluster_watch_changed(engine, cluster, k);
}

// A list begins with the version, which adapters need for the objects.
static void set_version(struct engine *engine, const struct engine_event *event) {
    struct watch_state *watch = cluster_watch(engine, event->cluster, event->kind);
    for (const char *const *v = engine->kinds[event->kind]->abi.versions; event->version && *v; v++)
        if (strcmp(*v, event->version) == 0)
            watch->version = *v;
}

static void on_listing(struct engine *engine, const struct engine_event *event) {
    struct watch_state *watch = cluster_watch(engine, event->cluster, event->kind);
    set_version(engine, event);
    watch->listing = true;
    watch->overflowed = false;
    watch->epoch++;
}

static void on_listed(struct engine *engine, const struct engine_event *event) {
    struct watch_state *watch = cluster_watch(engine, event->cluster, event->kind);
    set_version(engine, event);
    watch->listing = false;
    watch->listed = true;
    engine->stats.clusters[event->cluster].watches[event->kind].lists++;
}

static void on_event(struct engine *engine, struct engine_event *event) {
    struct stats_cluster *stats = &engine->stats.clusters[event->cluster];
    if (event->type == EVENT_LISTING)
        on_listing(engine, event);
    else if (event->type == EVENT_LISTED)
        on_listed(engine, event);
    else if (event->type == EVENT_SEEN)
        stats->watches[event->kind].seen++;
    else if (event->type == EVENT_GONE)
        stats->watches[event->kind].gone++;
    else if (event->type == EVENT_STATE)
        on_state(engine, event);
    else if (event->type == EVENT_CONTACT)
        on_contact(engine, event);
    else
        on_worker(engine, event);
}

static struct error *begin(struct engine *engine, const struct engine_options *options) {
    map_init(&engine->membership.missing, options->seed);
    struct error *error = init_slots(engine, options);
    if (!error && options->management_uid)
        text_copy(engine->clusters[ENGINE_MANAGEMENT].membership.identity.first, STORE_UID_MAX,
                  options->management_uid);
    return error;
}

static void end(struct engine *engine) {
    free_slots(engine);
    missing_workers_free(engine);
}

static void configure(struct engine *engine, const struct engine_settings *former) {
    (void)former;
    for (size_t c = 0; c < engine->n_clusters; c++)
        if (!cluster_is_vacant(engine, c))
            pacing_refresh_rate(engine, c);
}

static void forget(struct engine *engine, struct entry *entry) {
    cluster_count_active(engine, entry, 0);
    missing_worker_count(engine, entry, NULL);
}

const struct part part_clusters = {.name = "clusters",
                                   .begin = begin,
                                   .end = end,
                                   .configure = configure,
                                   .events = PART_EVENT(EVENT_LISTING) | PART_EVENT(EVENT_LISTED) |
                                             PART_EVENT(EVENT_SEEN) | PART_EVENT(EVENT_GONE) | PART_EVENT(EVENT_STATE) |
                                             PART_EVENT(EVENT_CONTACT) | PART_EVENT(EVENT_WORKER),
                                   .event = on_event,
                                   .workload_ends = forget,
                                   .count = missing_workers_stats};

// After the other parts have handled a list, the counts are higher.
static void refresh(struct engine *engine, struct engine_event *event) {
    for (size_t c = 0; c < engine->n_clusters; c++)
        cluster_refresh(engine, c, event->kind);
}

const struct part part_worker_facts = {.name = "worker facts", .events = PART_EVENT(EVENT_LISTED), .event = refresh};

bool engine_has_worker(const struct engine *engine, size_t cluster) {
    return !cluster_is_vacant(engine, cluster);
}

bool engine_in_sync(const struct engine *engine) {
    if (engine->stats.queued > 0 || pacing_waiting(engine) > 0 || cluster_unlisted_kind(engine) < engine->n_kinds)
        return false;
    for (size_t c = 0; c < engine->n_clusters; c++)
        for (size_t k = 0; k < engine->n_kinds && !cluster_is_vacant(engine, c); k++)
            if (!cluster_watch(engine, c, k)->state_known)
                return false;
    return true;
}
