// SPDX-License-Identifier: Apache-2.0
#include "core/engine/limits/limit.h"

#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/part.h"
#include "core/engine/report/report.h"
#include "core/engine/shard/shard.h"

#include <stdlib.h>
#include <string.h>

#define SOON_NS (10 * CLOCK_SECOND)     // between lists, with room for many
#define LATER_NS CLOCK_MINUTE           // with room for a few
#define UNLISTED_NS (10 * CLOCK_MINUTE) // until a list is asked for again that has not been completed
#define MANY 20                         // the part of the limit, one in so many, that is worth a list soon

struct refused {
    size_t kind;
    uint32_t epoch; // of the list in which or since which it was seen
    bool told;
    char uid[STORE_UID_MAX];
};

static void drop(struct limit *limit, struct refused *refused) {
    map_remove(&limit->refused, refused->uid);
    free(refused);
}

static void free_limit(struct limit *limit) {
    size_t cursor = 0;
    for (struct refused *r; (r = map_next(&limit->refused, &cursor));)
        drop(limit, r);
    map_free(&limit->refused);
}

static size_t count_workloads(const struct engine *engine) {
    uint64_t count = 0;
    for (size_t k = 0; k < engine->n_kinds; k++)
        for (size_t p = 0; p < STATS_PHASES; p++)
            count += engine->stats.kinds[k].phases[p];
    return (size_t)count;
}

// An Event needs an entry, which is not kept. False: another host holds its lease.
static bool tell(struct engine *engine, size_t kind, const struct json *object) {
    struct entry *entry = store_make(&engine->store, kind, object_namespace(object), object_name(object));
    if (!entry)
        return true;
    if (!store_begin_workload(entry)) {
        store_remove(&engine->store, entry);
        return true;
    }
    text_copy(entry->workload->uid, sizeof entry->workload->uid, object_uid(object));
    bool held = shard_is_held(engine, entry);
    report_event(engine, entry, true, "TooManyWorkloads", "Observe",
                 "it is not handled: there are %zu workloads, the most that memory.maxWorkloads allows; it is taken in "
                 "when others are deleted",
                 engine->settings.max_workloads);
    store_remove(&engine->store, entry);
    return held;
}

static void tell_once(struct engine *engine, struct refused *refused, const struct json *object) {
    if (!refused->told)
        refused->told = tell(engine, refused->kind, object);
    engine->limits.admission.untold |= !refused->told;
}

static void refuse(struct engine *engine, size_t kind, const struct json *object) {
    struct limit *limit = &engine->limits.admission;
    uint32_t epoch = cluster_watch(engine, ENGINE_MANAGEMENT, kind)->epoch;
    struct refused *refused = map_get(&limit->refused, object_uid(object));
    if (refused) {
        refused->epoch = epoch;
        tell_once(engine, refused, object);
        return;
    }
    if (limit->refused.count == 0 && limit->rest == 0)
        report_log(
            engine, LOG_WARN, ENGINE_MANAGEMENT, kind,
            "there are %zu workloads, the most that memory.maxWorkloads allows: further ones are not handled until "
            "others are deleted, the first is %s/%s",
            engine->settings.max_workloads, object_namespace(object), object_name(object));
    refused = limit->refused.count < LIMIT_REMEMBERED ? malloc(sizeof *refused) : NULL;
    if (refused) {
        *refused = (struct refused){.kind = kind, .epoch = epoch};
        text_copy(refused->uid, sizeof refused->uid, object_uid(object));
    }
    if (!refused || !map_put(&limit->refused, refused->uid, refused)) {
        free(refused);
        limit->rest++;
        return;
    }
    engine->stats.kinds[kind].refused++;
    tell_once(engine, refused, object);
}

bool limit_refuses(struct engine *engine, size_t kind, const struct json *object) {
    struct limit *limit = &engine->limits.admission;
    bool full = engine->settings.max_workloads > 0 && !object_annotation(object, MARK_CLUSTER) &&
                count_workloads(engine) >= engine->settings.max_workloads;
    if (full)
        refuse(engine, kind, object);
    else if (limit->refused.count > 0)
        limit_forget(engine, object_uid(object));
    return full;
}

void limit_forget(struct engine *engine, const char *uid) {
    struct refused *refused =
        engine->limits.admission.refused.count > 0 ? map_get(&engine->limits.admission.refused, uid) : NULL;
    if (!refused)
        return;
    engine->stats.kinds[refused->kind].refused--;
    drop(&engine->limits.admission, refused);
}

static void on_listed(struct engine *engine, struct engine_event *event) {
    size_t kind = event->kind;
    if (event->cluster != ENGINE_MANAGEMENT)
        return;
    struct watch_state *watch = cluster_watch(engine, ENGINE_MANAGEMENT, kind);
    uint32_t epoch = watch->epoch;
    watch->asked_ns = 0;
    size_t cursor = 0;
    for (struct refused *r; (r = map_next(&engine->limits.admission.refused, &cursor));) {
        if (r->kind != kind || r->epoch == epoch)
            continue;
        engine->stats.kinds[kind].refused--;
        drop(&engine->limits.admission, r);
    }
}

bool limit_may_have_refused(const struct engine *engine, const char *uid) {
    return engine->limits.admission.rest > 0 || map_get(&engine->limits.admission.refused, uid);
}

// A lease is held from now on: what was refused before is told by this host.
static void look_at_leases(struct engine *engine) {
    struct limit *limit = &engine->limits.admission;
    uint64_t mask = shard_mask(engine), gained = mask & ~limit->shards;
    limit->shards = mask;
    if (!gained || !limit->untold)
        return;
    limit->untold = false;
    for (size_t k = 0; k < engine->n_kinds; k++)
        if (engine->stats.kinds[k].refused > 0)
            cluster_relist(engine, ENGINE_MANAGEMENT, k);
}

// Another request would begin a list anew that takes its time.
static bool is_listing(const struct engine *engine, const struct watch_state *watch) {
    return watch->asked_ns && engine->now.mono_ns < watch->asked_ns + UNLISTED_NS;
}

static void list_again(struct engine *engine) {
    struct limit *limit = &engine->limits.admission;
    bool all = true;
    for (size_t k = 0; k < engine->n_kinds; k++) {
        struct watch_state *watch = cluster_watch(engine, ENGINE_MANAGEMENT, k);
        if (limit->rest == 0 && engine->stats.kinds[k].refused == 0)
            continue;
        if (is_listing(engine, watch)) {
            all = false;
            continue;
        }
        cluster_relist(engine, ENGINE_MANAGEMENT, k);
        watch->asked_ns = engine->now.mono_ns;
    }
    limit->listed_ns = engine->now.mono_ns;
    limit->rest = all ? 0 : limit->rest;
}

static int64_t due_ns(struct engine *engine) {
    struct limit *limit = &engine->limits.admission;
    look_at_leases(engine);
    size_t waiting = limit->refused.count + limit->rest;
    if (waiting == 0)
        return CLOCK_NEVER;
    size_t count = count_workloads(engine),
           room = engine->settings.max_workloads == 0 ? waiting : engine->settings.max_workloads - count;
    if (engine->settings.max_workloads > 0 && count >= engine->settings.max_workloads)
        return CLOCK_NEVER;
    bool many = room >= waiting || room * MANY >= engine->settings.max_workloads;
    int64_t at_ns = limit->listed_ns ? limit->listed_ns + (many ? SOON_NS : LATER_NS) : engine->now.mono_ns;
    if (engine->now.mono_ns < at_ns)
        return at_ns;
    list_again(engine);
    return engine->now.mono_ns + SOON_NS;
}

static struct error *begin(struct engine *engine, const struct engine_options *options) {
    map_init(&engine->limits.admission.refused, options->seed);
    return NULL;
}

static void end(struct engine *engine) {
    free_limit(&engine->limits.admission);
}

const struct part part_admission = {.name = "maxWorkloads",
                                    .begin = begin,
                                    .end = end,
                                    .events = PART_EVENT(EVENT_LISTED),
                                    .event = on_listed,
                                    .due_ns = due_ns};
