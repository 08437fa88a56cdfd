// SPDX-License-Identifier: Apache-2.0
// What the events say of watches and connections.
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/clusters/slots.h"
#include "core/engine/clusters/unknown.h"
#include "core/engine/clusters/worker.h"
#include "core/engine/engine.h"
#include "core/engine/part.h"
#include "core/engine/request/pacing.h"

#include <string.h>

static void on_state(struct engine *engine, const struct engine_event *event) {
    struct watch_state *watch = cluster_watch(engine, event->cluster, event->kind);
    bool was_connected = watch->state == REFLECTOR_CONNECTED;
    watch->state = event->watch.state;
    struct stats_watch *stats = &engine->stats.clusters[event->cluster].watches[event->kind];
    text_shorten(stats->problem, sizeof stats->problem, event->watch.problem ? event->watch.problem : "");
    watch->settled = watch->settled || event->watch.state != REFLECTOR_STARTING;
    if (was_connected && event->watch.state != REFLECTOR_CONNECTED) {
        if (engine->clusters[event->cluster].membership.contact != CONTACT_LOST &&
            !cluster_is_other(engine, event->cluster))
            watch->lost_since_ns = event->now.mono_ns;
        stats->losses++;
    }
    cluster_watch_changed(engine, event->cluster, event->kind);
}

// A silent cluster counts as lost from its last byte on, even while its watches stay open.
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

// Known from the beginning of a list: adapters need the objects' version.
static void take_version(struct engine *engine, const struct engine_event *event) {
    struct watch_state *watch = cluster_watch(engine, event->cluster, event->kind);
    for (const char *const *v = engine->kinds[event->kind]->abi.versions; event->version && *v; v++)
        if (strcmp(*v, event->version) == 0)
            watch->version = *v;
}

static void on_listing(struct engine *engine, const struct engine_event *event) {
    struct watch_state *watch = cluster_watch(engine, event->cluster, event->kind);
    take_version(engine, event);
    watch->listing = true;
    watch->overflowed = false;
    watch->epoch++;
}

static void on_listed(struct engine *engine, const struct engine_event *event) {
    struct watch_state *watch = cluster_watch(engine, event->cluster, event->kind);
    take_version(engine, event);
    watch->listing = false;
    watch->listed = true;
    watch->revision = event->revision;
    engine->stats.clusters[event->cluster].watches[event->kind].lists++;
}

static void on_event(struct engine *engine, struct engine_event *event) {
    switch (event->type) {
    case EVENT_LISTING:
        on_listing(engine, event);
        break;
    case EVENT_LISTED:
        on_listed(engine, event);
        break;
    case EVENT_SEEN:
        engine->stats.clusters[event->cluster].watches[event->kind].seen++;
        break;
    case EVENT_GONE:
        engine->stats.clusters[event->cluster].watches[event->kind].gone++;
        break;
    case EVENT_STATE:
        on_state(engine, event);
        break;
    case EVENT_CONTACT:
        on_contact(engine, event);
        break;
    default:
        worker_take(engine, event);
    }
}

static struct error *begin(struct engine *engine, const struct engine_options *options) {
    map_init(&engine->membership.missing, options->seed);
    struct error *error = slots_init(engine, options->worker_names, options->n_workers);
    if (!error && options->management_uid)
        text_copy(engine->clusters[ENGINE_MANAGEMENT].membership.identity.first, STORE_UID_MAX,
                  options->management_uid);
    return error;
}

static void end(struct engine *engine) {
    slots_free(engine);
    unknown_free(engine);
}

static void configure(struct engine *engine, const struct engine_settings *former) {
    bool other = engine->settings.qps != former->qps || engine->settings.burst != former->burst;
    for (size_t c = 0; other && c < engine->n_clusters; c++)
        if (!cluster_is_vacant(engine, c))
            pacing_refresh_rate(engine, c);
}

static void forget(struct engine *engine, struct entry *entry) {
    cluster_count_active(engine, entry, 0);
    unknown_count(engine, entry, NULL);
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
                                   .count = unknown_stats};

// After the other parts have taken a list: more is counted.
static void refresh(struct engine *engine, struct engine_event *event) {
    for (size_t c = 0; c < engine->n_clusters; c++)
        cluster_refresh(engine, c, event->kind);
}

const struct part part_worker_facts = {.name = "worker facts", .events = PART_EVENT(EVENT_LISTED), .event = refresh};

bool engine_has_worker(const struct engine *engine, size_t cluster) {
    return !cluster_is_vacant(engine, cluster);
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
