// SPDX-License-Identifier: Apache-2.0
#include "core/engine/shard/shard.h"

#include "core/engine/engine.h"
#include "core/engine/engine_internal.h"
#include "core/engine/fence/fence.h"
#include "core/engine/status/status.h"

uint32_t shard_of_key(const struct engine *engine, const char *plural_group, const char *key) {
    return engine->shard.count < 2 ? 0 : shard_hash_at(shard_hash(plural_group, key), engine->shard.count);
}

uint32_t shard_of(const struct engine *engine, const struct entry *entry) {
    return shard_of_key(engine, engine->kinds[entry->kind]->plural_group, entry->key);
}

uint64_t shard_mask(const struct engine *engine) {
    uint64_t mask = 0;
    if (!engine->shard.list)
        return 1;
    for (uint32_t i = 0; i < engine->shard.count; i++)
        mask |= (uint64_t)engine->shard.list[i].open << i;
    return mask;
}

uint64_t shard_all(const struct engine *engine) {
    return engine->shard.count < 2 ? 1 : ~UINT64_C(0) >> (SHARDS_MAX - engine->shard.count);
}

static struct error *begin(struct engine *engine, const struct engine_options *options) {
    uint32_t count = options->shards;
    engine->shard.count = count;
    engine->stats.shards = count;
    if (count == 0)
        return NULL;
    engine->shard.list = calloc(count, sizeof *engine->shard.list);
    return engine->shard.list ? NULL : error_no_memory();
}

static const struct shard *shard_at(const struct engine *engine, const struct entry *entry) {
    return &engine->shard.list[shard_of(engine, entry)];
}

uint32_t shard_term(const struct engine *engine, const struct entry *entry) {
    return engine->shard.list ? shard_at(engine, entry)->term : 0;
}

static bool has_time(const struct engine *engine, const struct shard *shard) {
    return shard->until_ns > engine->now.mono_ns + SHARD_MARGIN_NS;
}

bool shard_is_held(const struct engine *engine, const struct entry *entry) {
    return !engine->shard.list || shard_at(engine, entry)->open;
}

bool shard_is_fresh(const struct engine *engine, const struct entry *entry) {
    return !engine->shard.list || entry->read_term == shard_at(engine, entry)->term;
}

// As after a restart: another host has written meanwhile.
static void forget_own_writes(struct entry *entry) {
    struct workload *w = entry->workload;
    struct workload_facts *facts = &w->facts;
    if (facts->exists) {
        facts->clean_attempt = facts->drained_attempt = 0;
        facts->misplaced = facts->record_unsure = false;
        facts->given_up = facts->attempt > 1 ? DECIDE_GIVEN_UP_SEVERAL : 0;
        facts->status_due = !facts->finished;
        w->placed_attempt = w->requested_cluster = w->requested_attempt = w->accepted_attempt = 0;
        status_forget_writes(w);
        w->unsure = true;
    }
    for (struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m)) {
        m->facts.absent_ns = 0;
        m->facts.excluded_until_ns = 0; // of an attempt that may be over
        m->record_unsure = m->record;
        m->noop_patch_hash = 0;
        m->patched_source = 0;
    }
}

static void open_shard(struct engine *engine, uint32_t number, bool anew) {
    engine->shard.list[number].open = true;
    engine->stats.shards_held++;
    struct store_cursor at = {0};
    for (struct entry *e; (e = store_next(&engine->store, &at));) {
        if (shard_of(engine, e) != number)
            continue;
        if (anew)
            forget_own_writes(e);
        queue_entry(engine, e);
    }
}

static void close_shard(struct engine *engine, struct shard *shard) {
    shard->open = false;
    engine->stats.shards_held--;
}

static void on_lease(struct engine *engine, const struct engine_event *event) {
    if (event->lease.shard >= engine->shard.count)
        return;
    struct shard *shard = &engine->shard.list[event->lease.shard];
    bool other = shard->term != (uint32_t)event->lease.term;
    shard->until_ns = event->lease.until_ns;
    shard->term = (uint32_t)event->lease.term;
    if (shard->open && (other || !has_time(engine, shard)))
        close_shard(engine, shard);
    if (shard->open || !has_time(engine, shard))
        return;
    bool anew = shard->opened != shard->term; // the host may learn of a lease with too little time left
    shard->opened = shard->term;
    if (anew)
        fence_begin(engine, event->lease.shard, engine->now);
    open_shard(engine, event->lease.shard, anew);
}

static void on_event(struct engine *engine, struct engine_event *event) {
    for (uint32_t i = 0; i < engine->shard.count; i++)
        if (engine->shard.list[i].open && !has_time(engine, &engine->shard.list[i]))
            close_shard(engine, &engine->shard.list[i]);
    if (event->type == EVENT_LEASE)
        on_lease(engine, event);
}

static void end(struct engine *engine) {
    free(engine->shard.list);
}

const struct part part_shard = {.name = "shards", .begin = begin, .end = end, .events = PART_EVENTS, .event = on_event};
