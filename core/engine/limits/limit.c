// SPDX-License-Identifier: Apache-2.0
// memory.maxWorkloads.
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine.h"
#include "core/engine/engine_internal.h"
#include "core/engine/limits/limits.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/report/report.h"
#include "core/engine/shard/shard.h"

#define SOON_NS (10 * CLOCK_SECOND)     // between lists, if the host can accept many workloads
#define LATER_NS CLOCK_MINUTE           // between lists, if the host can accept a few
#define UNLISTED_NS (10 * CLOCK_MINUTE) // until the host repeats the request for an incomplete list
#define MANY 20                         // many: at least one in so many of the limit

struct refused {
    size_t kind;
    uint32_t epoch; // of the last list with the workload, or of the list before the last watch event
    bool reported;
    char uid[STORE_UID_MAX];
};

static void drop(struct admission *admission, struct refused *refused) {
    map_remove(&admission->refused, refused->uid);
    free(refused);
}

size_t limits_count_workloads(const struct engine *engine, size_t kind) {
    uint64_t count = 0;
    for (size_t p = 0; p < STATS_PHASES; p++)
        count += engine->stats.kinds[kind].phases[p];
    return (size_t)count;
}

static size_t count_all_workloads(const struct engine *engine) {
    size_t count = 0;
    for (size_t k = 0; k < engine->n_kinds; k++)
        count += limits_count_workloads(engine, k);
    return count;
}

// An Event needs an entry, which the host does not keep. False: another host holds the shard's lease.
static bool report_refusal(struct engine *engine, size_t kind, const struct json *object) {
    struct entry *entry = store_make(&engine->store, kind, object_namespace(object), object_name(object));
    if (!entry)
        return true;
    bool held = true;
    if (store_begin_workload(entry)) {
        text_copy(entry->workload->uid, sizeof entry->workload->uid, object_uid(object));
        held = shard_is_held(engine, entry);
        report_event(
            engine, entry, true, "TooManyWorkloads", "Observe",
            "not handled: memory.maxWorkloads allows %zu workloads, and there are as many; the host accepts this "
            "one when others are deleted",
            engine->settings.max_workloads);
    }
    store_remove(&engine->store, entry);
    return held;
}

// NULL: the host only counts the workload.
static struct refused *remember(struct engine *engine, size_t kind, const struct json *object) {
    struct admission *admission = &engine->limits.admission;
    struct refused *refused = admission->refused.count < LIMIT_REMEMBERED ? calloc(1, sizeof *refused) : NULL;
    if (!refused)
        return NULL;
    refused->kind = kind;
    text_copy(refused->uid, sizeof refused->uid, object_uid(object));
    if (!map_put(&admission->refused, refused->uid, refused)) {
        free(refused);
        return NULL;
    }
    engine->stats.kinds[kind].refused++;
    return refused;
}

static void refuse(struct engine *engine, size_t kind, const struct json *object) {
    struct admission *admission = &engine->limits.admission;
    struct refused *refused = map_get(&admission->refused, object_uid(object));
    if (admission->refused.count == 0 && admission->rest == 0)
        report_log(engine, LOG_WARN, ENGINE_MANAGEMENT, kind,
                   "there are %zu workloads, the most that memory.maxWorkloads allows: the host handles no further "
                   "ones until others are deleted, the first is %s/%s",
                   engine->settings.max_workloads, object_namespace(object), object_name(object));
    if (!refused && !(refused = remember(engine, kind, object))) {
        admission->rest++;
        return;
    }
    refused->epoch = cluster_watch(engine, ENGINE_MANAGEMENT, kind)->epoch;
    if (!refused->reported)
        refused->reported = report_refusal(engine, kind, object);
    admission->unreported |= !refused->reported;
}

bool limit_refuses(struct engine *engine, size_t kind, const struct json *object) {
    bool full = engine->settings.max_workloads > 0 && !object_annotation(object, MARK_CLUSTER) &&
                count_all_workloads(engine) >= engine->settings.max_workloads;
    if (full)
        refuse(engine, kind, object);
    else
        limit_forget(engine, object_uid(object));
    return full;
}

void limit_forget(struct engine *engine, const char *uid) {
    struct admission *admission = &engine->limits.admission;
    struct refused *refused = admission->refused.count > 0 ? map_get(&admission->refused, uid) : NULL;
    if (!refused)
        return;
    engine->stats.kinds[refused->kind].refused--;
    drop(admission, refused);
}

static void on_listed(struct engine *engine, struct engine_event *event) {
    if (event->cluster != ENGINE_MANAGEMENT)
        return;
    struct watch_state *watch = cluster_watch(engine, ENGINE_MANAGEMENT, event->kind);
    watch->asked_ns = 0;
    size_t cursor = 0;
    for (struct refused *r; (r = map_next(&engine->limits.admission.refused, &cursor));)
        if (r->kind == event->kind && r->epoch != watch->epoch)
            limit_forget(engine, r->uid);
}

bool limit_may_have_refused(const struct engine *engine, const char *uid) {
    return engine->limits.admission.rest > 0 || map_get(&engine->limits.admission.refused, uid);
}

// With a new lease, this host reports the earlier refusals.
static void check_leases(struct engine *engine) {
    struct admission *admission = &engine->limits.admission;
    uint64_t mask = shard_mask(engine), gained = mask & ~admission->shards;
    admission->shards = mask;
    if (!gained || !admission->unreported)
        return;
    admission->unreported = false;
    for (size_t k = 0; k < engine->n_kinds; k++)
        if (engine->stats.kinds[k].refused > 0)
            cluster_relist(engine, ENGINE_MANAGEMENT, k);
}

static void list_again(struct engine *engine) {
    struct admission *admission = &engine->limits.admission;
    int64_t now_ns = engine->now.mono_ns;
    bool all = true;
    for (size_t k = 0; k < engine->n_kinds; k++) {
        struct watch_state *watch = cluster_watch(engine, ENGINE_MANAGEMENT, k);
        if (admission->rest == 0 && engine->stats.kinds[k].refused == 0)
            continue;
        if (watch->asked_ns && now_ns < watch->asked_ns + UNLISTED_NS) { // a slow list would begin anew
            all = false;
            continue;
        }
        cluster_relist(engine, ENGINE_MANAGEMENT, k);
        watch->asked_ns = now_ns;
    }
    admission->listed_ns = now_ns;
    admission->rest = all ? 0 : admission->rest;
}

static int64_t due_ns(struct engine *engine) {
    const struct admission *admission = &engine->limits.admission;
    check_leases(engine);
    size_t max = engine->settings.max_workloads, waiting = admission->refused.count + admission->rest;
    size_t count = waiting > 0 && max > 0 ? count_all_workloads(engine) : 0;
    if (waiting == 0 || (max > 0 && count >= max))
        return CLOCK_NEVER;
    size_t acceptable = max == 0 ? waiting : max - count;
    bool many = acceptable >= waiting || acceptable * MANY >= max;
    int64_t at_ns = admission->listed_ns ? admission->listed_ns + (many ? SOON_NS : LATER_NS) : engine->now.mono_ns;
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
    struct admission *admission = &engine->limits.admission;
    size_t cursor = 0;
    for (struct refused *r; (r = map_next(&admission->refused, &cursor));)
        drop(admission, r);
    map_free(&admission->refused);
}

const struct part part_admission = {.name = "maxWorkloads",
                                    .begin = begin,
                                    .end = end,
                                    .events = PART_EVENT(EVENT_LISTED),
                                    .event = on_listed,
                                    .due_ns = due_ns};
