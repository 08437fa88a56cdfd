// SPDX-License-Identifier: Apache-2.0
#include "core/engine/history/changes.h"

#include "core/engine/history/attempt_history.h"
#include "core/engine/part.h"

#include <stdlib.h>
#include <string.h>

// A million changes a second, for the whole life of the process, do not reach the numbers of the next one. All
// numbers stay below 2^53, the limit of JSON numbers, for centuries.
#define SECOND_BITS 20

struct changes {
    struct entry *newest, *oldest;
    struct entry *next;  // the first one after `after`, if known
    uint64_t after;      // of the last call
    uint64_t last;       // sequence
    uint64_t gone_since; // older deletions are dropped
    struct gone gone[CHANGES_GONE];
    size_t n_gone; // ever
};

static struct error *begin(struct engine *engine, const struct engine_options *options) {
    (void)options;
    int64_t wall_ns = engine->now.wall_ns;
    struct changes *changes = calloc(1, sizeof *changes);
    if (!changes)
        return error_no_memory();
    changes->last = changes->gone_since = (uint64_t)(wall_ns > 0 ? wall_ns / CLOCK_SECOND : 0) << SECOND_BITS;
    engine->history = changes;
    return NULL;
}

static void end(struct engine *engine) {
    struct changes *changes = engine->history;
    for (size_t i = 0; changes && i < CHANGES_GONE; i++)
        free(changes->gone[i].key);
    free(changes);
}

static void unlink_entry(struct changes *changes, struct entry *entry) {
    struct last_change *change = &entry->workload->history.change;
    if (change->sequence == 0)
        return;
    if (changes->next == entry)
        changes->next = change->newer;
    *(change->newer ? &change->newer->workload->history.change.older : &changes->newest) = change->older;
    *(change->older ? &change->older->workload->history.change.newer : &changes->oldest) = change->newer;
    change->newer = change->older = NULL;
    change->sequence = 0;
}

static void link_newest(struct changes *changes, struct entry *entry) {
    struct last_change *change = &entry->workload->history.change;
    change->sequence = ++changes->last;
    change->older = changes->newest;
    *(change->older ? &change->older->workload->history.change.newer : &changes->oldest) = entry;
    changes->newest = entry;
    if (!changes->next && changes->after)
        changes->next = entry;
}

static uint32_t mix(uint32_t hash, uint64_t value) {
    uint64_t wide = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(wide ^ wide >> 32);
}

static uint32_t shown(const struct entry *entry) {
    const struct workload_facts *facts = &entry->workload->facts;
    const struct attempt *attempt = entry->workload->history.attempts.newest;
    uint32_t hash = mix(1, facts->cluster);
    hash = mix(hash, facts->attempt);
    hash = mix(hash, (uint64_t)entry->workload->phase << 2 | (uint64_t)facts->suspended << 1 | facts->being_deleted);
    hash = mix(hash, (uint64_t)entry->workload->waiting << 32 |
                         (entry->workload->waiting ? entry->workload->history.change.waits_for : 0));
    hash = mix(hash, entry->workload->waiting ? (uint64_t)entry->workload->history.change.until_ns : 0);
    if (attempt)
        hash = mix(hash, (uint64_t)attempt->outcome << 2 | (uint64_t)!attempt->created_ns << 1 | !attempt->started_ns);
    return hash ? hash : 1;
}

static void follow(struct engine *engine, struct entry *entry, const struct action *action) {
    struct last_change *change = &entry->workload->history.change;
    attempt_history_follow(engine, entry);
    if (action->waiting != WAITING_ANSWER) {
        change->until_ns = action->type == ACTION_WAIT ? action->at_ns : CLOCK_NEVER;
        change->waits_for = (uint32_t)action->cluster;
    }
    uint32_t hash = shown(entry);
    if (hash == change->shown)
        return;
    change->shown = hash;
    change->at_ns = engine->now.wall_ns;
    unlink_entry(engine->history, entry);
    link_newest(engine->history, entry);
}

static void remember_gone(struct changes *changes, size_t kind, const char *key) {
    struct gone *gone = &changes->gone[changes->n_gone++ % CHANGES_GONE];
    if (gone->key)
        changes->gone_since = gone->sequence;
    free(gone->key);
    *gone = (struct gone){.sequence = ++changes->last, .kind = kind, .key = strdup(key)};
    if (!gone->key) // not available, so readers begin anew
        changes->gone_since = gone->sequence;
}

static void forget(struct engine *engine, struct entry *entry) {
    bool listed = entry->workload->history.change.sequence;
    attempt_history_clear(&entry->workload->history.attempts);
    unlink_entry(engine->history, entry);
    entry->workload->history.change = (struct last_change){.until_ns = CLOCK_NEVER};
    if (listed)
        remember_gone(engine->history, entry->kind, entry->key);
}

uint64_t changes_last(const struct engine *engine) {
    return engine->history->last;
}

bool changes_known_since(const struct engine *engine, uint64_t since) {
    return since >= engine->history->gone_since && since <= engine->history->last;
}

// From both ends, since most readers want the newest or all.
static struct entry *search(const struct changes *changes, uint64_t after) {
    struct entry *low = changes->oldest, *high = changes->newest, *above = NULL;
    while (low && high) {
        if (low->workload->history.change.sequence > after)
            return low;
        if (high->workload->history.change.sequence <= after)
            return above;
        above = high;
        low = low->workload->history.change.newer;
        high = high->workload->history.change.older;
    }
    return NULL;
}

struct entry *changes_next(struct engine *engine, uint64_t after) {
    struct changes *changes = engine->history;
    struct entry *found = after && changes->after == after ? changes->next : search(changes, after);
    changes->after = found ? found->workload->history.change.sequence : after;
    changes->next = found ? found->workload->history.change.newer : NULL;
    return found;
}

static bool is_back(const struct engine *engine, const struct gone *gone) {
    const struct entry *entry = map_get(&engine->store.maps[gone->kind], gone->key);
    return entry && entry->workload->facts.exists;
}

const struct gone *changes_gone(const struct engine *engine, uint64_t since, size_t *cursor) {
    const struct changes *changes = engine->history;
    size_t first = changes->n_gone > CHANGES_GONE ? changes->n_gone - CHANGES_GONE : 0;
    for (size_t i = *cursor > first ? *cursor : first; i < changes->n_gone; i++) {
        const struct gone *gone = &changes->gone[i % CHANGES_GONE];
        if (!gone->key || gone->sequence <= since || is_back(engine, gone))
            continue;
        *cursor = i + 1;
        return gone;
    }
    *cursor = changes->n_gone;
    return NULL;
}

const struct part part_history = {
    .name = "history", .begin = begin, .end = end, .after = follow, .workload_ends = forget};
