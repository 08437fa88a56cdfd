// SPDX-License-Identifier: Apache-2.0
#include "core/engine/capacity/capacity.h"

#include "core/adapter/pods.h"
#include "core/base/memory.h"
#include "core/base/saturate.h"
#include "core/engine/capacity/room.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/queue.h"

#include <stdlib.h>
#include <string.h>

#define SETS_MAX 64                 // different pods of one workload; further ones are ignored
#define REBUILD_NS (500 * CLOCK_MS) // between two, when only reservations have ended

struct room_claims { // a list
    struct room_claim *first, *last;
};

// What a workload asks for, kept while it waits for room and while it is reserved somewhere.
struct room_claim {
    struct room_claim *next, *previous;
    struct room_claims *in; // the list that it is in
    struct entry *entry;
    uint64_t source;  // hash of the uid and generation that it was read from
    int64_t until_ns; // reserved until then
    uint32_t cluster; // where it is reserved, 0: nowhere
    uint32_t done;    // attempt that need not be reserved any more, 0: none
    bool seen;        // its mirror was
    bool started;     // and had started
    size_t n_sets;
    struct pod_set sets[];
};

struct worker_room {
    enum capacity_state state;
    int64_t until_ns;  // READING, STALE: what was known counts until then
    char problem[192]; // UNKNOWN, STALE: why
    struct room room;
    struct room_claims reserved;
    int64_t expires_ns; // the first of them does not end before
    int64_t built_ns;
    bool ended; // some reservation did, since it was built
    bool grew;  // it was built anew, and what waits has not been looked at since
};

struct capacity {
    struct pod_shapes shapes;
    struct worker_room *workers; // by cluster
    size_t n_workers;
    struct room_claims waiting, idle;
    int64_t next_ns; // of capacity_tick
};

// Claims -------------------------------------------------------------------------------------------------------

static void unlink_claim(struct room_claim *claim) {
    *(claim->previous ? &claim->previous->next : &claim->in->first) = claim->next;
    *(claim->next ? &claim->next->previous : &claim->in->last) = claim->previous;
    claim->next = claim->previous = NULL;
}

static void link_claim(struct room_claim *claim, struct room_claims *to) {
    claim->in = to;
    claim->previous = to->last;
    *(to->last ? &to->last->next : &to->first) = claim;
    to->last = claim;
}

static void move_claim(struct room_claim *claim, struct room_claims *to) {
    if (claim->in == to)
        return;
    unlink_claim(claim);
    link_claim(claim, to);
}

static void give_shape(struct capacity *capacity, struct pod_shape *shape) {
    for (size_t c = 1; shape->refs == 1 && c < capacity->n_workers; c++)
        room_forget_shape(&capacity->workers[c].room, shape);
    (void)pod_shape_give(&capacity->shapes, shape);
}

static void free_claim(struct capacity *capacity, struct room_claim *claim) {
    if (claim->cluster) {
        capacity->workers[claim->cluster].ended = true;
        capacity->next_ns = 0;
    }
    unlink_claim(claim);
    for (size_t i = 0; i < claim->n_sets; i++)
        give_shape(capacity, claim->sets[i].shape);
    claim->entry->claim = NULL;
    free(claim);
}

static uint64_t source_of(const struct entry *entry) {
    return text_hash(TEXT_HASH, entry->uid) ^ (uint64_t)entry->generation;
}

// The pods that the workload asks for; NULL: out of memory, or its adapter does not say.
static struct json *pods_asked_for(struct engine *engine, struct entry *entry) {
    struct adapter_call call;
    struct json *sets = NULL;
    const struct json *workload = doc_tree(&engine->store, &entry->doc);
    if (!workload)
        return NULL;
    const struct kind *kind = engine->kinds[entry->kind];
    const char *version = cluster_watch(engine, ENGINE_MANAGEMENT, entry->kind)->version;
    adapter_call_begin(&call, &(struct call_context){.kind = &kind->abi,
                                                     .given = kind->given,
                                                     .adapter = kind->adapter ? kind->adapter->name : NULL,
                                                     .now = engine->now,
                                                     .version = version ? version : kind->abi.versions[0],
                                                     .object = entry->key,
                                                     .mirror_state = WHARF_MIRROR_NONE,
                                                     .clock = engine->clock,
                                                     .times = engine->stats.kinds[entry->kind].calls});
    if (pods_of(&call, workload, &sets) != WHARF_OK)
        sets = NULL;
    adapter_call_end(&call);
    return sets;
}

static bool add_set(struct capacity *capacity, const struct json *set, struct room_claim *claim) {
    int64_t count = json_int64(json_get(set, "count"), 0);
    if (count <= 0 || claim->n_sets == SETS_MAX)
        return true;
    struct pod_shape *shape = pod_shape_take(&capacity->shapes, json_path(set, "template", "spec", NULL));
    if (!shape)
        return false;
    size_t i = 0;
    while (i < claim->n_sets && claim->sets[i].shape != shape)
        i++;
    if (i < claim->n_sets) {
        give_shape(capacity, shape);
        claim->sets[i].count = int64_plus(claim->sets[i].count, count);
        return true;
    }
    claim->sets[claim->n_sets++] = (struct pod_set){shape, count};
    return true;
}

static struct room_claim *make_claim(struct engine *engine, struct entry *entry) {
    struct capacity *capacity = engine->capacity;
    AUTO_JSON sets = pods_asked_for(engine, entry);
    size_t count = sets ? size_least(json_size(sets), SETS_MAX) : 0;
    struct room_claim *claim = sets ? calloc(1, sizeof *claim + count * sizeof *claim->sets) : NULL;
    if (!claim)
        return NULL;
    claim->entry = entry;
    claim->source = source_of(entry);
    link_claim(claim, &capacity->idle);
    entry->claim = claim;
    for (const struct json *set = json_first(sets); set; set = json_next(set))
        if (!add_set(capacity, set, claim)) {
            free_claim(capacity, claim);
            return NULL;
        }
    return claim;
}

// What it asks for now; NULL: not known.
static struct room_claim *claim_of(struct engine *engine, struct entry *entry) {
    struct room_claim *claim = entry->claim;
    if (claim && claim->source == source_of(entry))
        return claim;
    uint32_t cluster = claim ? claim->cluster : 0;
    int64_t until_ns = claim ? claim->until_ns : 0;
    if (claim)
        free_claim(engine->capacity, claim);
    claim = make_claim(engine, entry);
    if (claim && cluster) { // scaled while it is reserved
        claim->cluster = cluster;
        claim->until_ns = until_ns;
        move_claim(claim, &engine->capacity->workers[cluster].reserved);
    }
    return claim;
}

// Rooms --------------------------------------------------------------------------------------------------------

static bool make_capacity(struct engine *engine) {
    if (!engine->capacity) {
        engine->capacity = calloc(1, sizeof *engine->capacity);
        if (!engine->capacity)
            return false;
        pod_shapes_init(&engine->capacity->shapes, engine->pacing.seed);
    }
    struct capacity *capacity = engine->capacity;
    if (capacity->n_workers >= engine->n_clusters)
        return true;
    struct worker_room *former = capacity->workers;
    struct worker_room *workers = calloc(engine->n_clusters, sizeof *workers);
    if (!workers)
        return false;
    for (size_t c = 0; c < capacity->n_workers; c++) { // claims know where their list is
        workers[c] = former[c];
        for (struct room_claim *claim = workers[c].reserved.first; claim; claim = claim->next)
            claim->in = &workers[c].reserved;
    }
    free(former);
    capacity->workers = workers;
    capacity->n_workers = engine->n_clusters;
    return true;
}

static struct worker_room *worker_of(const struct engine *engine, size_t cluster) {
    const struct capacity *capacity = engine->capacity;
    return capacity && cluster > 0 && cluster < capacity->n_workers ? &capacity->workers[cluster] : NULL;
}

static void end_claim(struct capacity *capacity, struct room_claim *claim) {
    capacity->workers[claim->cluster].ended = true;
    capacity->next_ns = 0;
    claim->cluster = 0;
    claim->done = claim->entry->facts.attempt;
    move_claim(claim, &capacity->idle);
}

static void expire(struct engine *engine, struct worker_room *worker) {
    if (engine->now.mono_ns < worker->expires_ns)
        return;
    worker->expires_ns = CLOCK_NEVER;
    for (struct room_claim *claim = worker->reserved.first, *next; claim; claim = next) {
        next = claim->next;
        if (claim->until_ns <= engine->now.mono_ns)
            end_claim(engine->capacity, claim);
        else
            worker->expires_ns = clock_earlier(worker->expires_ns, claim->until_ns);
    }
}

// Of each shape once, however many claims have it.
static void rebuild(struct engine *engine, struct worker_room *worker) {
    struct capacity *capacity = engine->capacity;
    room_reset(&worker->room);
    worker->ended = false;
    worker->built_ns = engine->now.mono_ns;
    int64_t *counts = calloc(capacity->shapes.count + 1, sizeof *counts);
    for (struct room_claim *claim = worker->reserved.first; claim; claim = claim->next)
        for (size_t i = 0; i < claim->n_sets; i++) {
            const struct pod_set *set = &claim->sets[i];
            if (counts)
                counts[set->shape->number] = int64_plus(counts[set->shape->number], set->count);
            else
                (void)room_take(&worker->room, &capacity->shapes, set);
        }
    for (size_t s = 0; counts && s < capacity->shapes.count; s++)
        if (counts[s] > 0)
            (void)room_take(&worker->room, &capacity->shapes, &(struct pod_set){capacity->shapes.list[s], counts[s]});
    free(counts);
}

enum knowledge { UNLIMITED, LIMITED, AWAITED };

static enum knowledge knowledge_of(const struct engine *engine, const struct worker_room *worker) {
    if (!worker || worker->state == CAPACITY_OFF)
        return UNLIMITED;
    bool recent = worker->state == CAPACITY_KNOWN || engine->now.mono_ns < worker->until_ns;
    return worker->room.nodes && recent ? LIMITED : AWAITED;
}

static void refresh(struct engine *engine, struct worker_room *worker) {
    expire(engine, worker);
    if (!worker->ended || !worker->room.nodes || engine->now.mono_ns - worker->built_ns < REBUILD_NS)
        return;
    rebuild(engine, worker);
    worker->grew = true;
    engine->capacity->next_ns = 0;
}

// Where its pods are, or are about to be, that may not be in the view yet; 0: nowhere.
static uint32_t place_of(const struct entry *entry) {
    const struct workload_facts *w = &entry->facts;
    if (!w->exists || w->being_deleted || w->finished || w->suspended)
        return 0;
    if (w->busy && entry->requested_attempt > w->attempt) // it is being placed
        return entry->requested_cluster == DECIDE_UNKNOWN_CLUSTER ? 0 : entry->requested_cluster;
    bool gone = w->gone_attempt == w->attempt; // it has to be placed anew
    return w->attempt == 0 || entry->active_in != w->cluster || gone ? 0 : w->cluster;
}

bool capacity_has_room(struct engine *engine, struct entry *entry, size_t cluster, int64_t *next_ns) {
    struct worker_room *worker = worker_of(engine, cluster);
    enum knowledge knowledge = knowledge_of(engine, worker);
    if (knowledge == UNLIMITED)
        return true;
    struct room_claim *claim = claim_of(engine, entry);
    if (!claim || claim->n_sets == 0)
        return true;
    if (claim->cluster && claim->cluster != place_of(entry))
        end_claim(engine->capacity, claim);
    if (claim->cluster == cluster) // it has what it needs there
        return true;
    refresh(engine, worker);
    if (knowledge == LIMITED && room_fits(&worker->room, &engine->capacity->shapes, claim->sets, claim->n_sets))
        return true;
    *next_ns = clock_earlier(*next_ns, engine->now.mono_ns + CAPACITY_RETRY_NS);
    return false;
}

// Reservations -------------------------------------------------------------------------------------------------

static void reserve(struct engine *engine, struct room_claim *claim, size_t cluster) {
    struct worker_room *worker = worker_of(engine, cluster);
    claim->cluster = (uint32_t)cluster;
    claim->until_ns = CLOCK_NEVER;
    claim->done = 0;
    claim->seen = claim->started = false;
    move_claim(claim, &worker->reserved);
    for (size_t i = 0; worker->room.nodes && i < claim->n_sets; i++)
        (void)room_take(&worker->room, &engine->capacity->shapes, &claim->sets[i]);
}

void capacity_placed(struct engine *engine, struct entry *entry, size_t cluster) {
    struct worker_room *worker = worker_of(engine, cluster);
    if (!engine->capacity)
        return;
    if (entry->claim && entry->claim->cluster)
        end_claim(engine->capacity, entry->claim);
    struct room_claim *claim = knowledge_of(engine, worker) == LIMITED ? claim_of(engine, entry) : NULL;
    if (claim)
        reserve(engine, claim, cluster);
}

static void ends_at(struct engine *engine, struct room_claim *claim, int64_t at_ns) {
    struct worker_room *worker = worker_of(engine, claim->cluster);
    claim->until_ns = clock_earlier(claim->until_ns, at_ns);
    worker->expires_ns = clock_earlier(worker->expires_ns, claim->until_ns);
    engine->capacity->next_ns = clock_earlier(engine->capacity->next_ns, worker->expires_ns);
}

static void follow_mirror(struct engine *engine, struct entry *entry, struct room_claim *claim) {
    const struct mirror_facts *mirror =
        decide_placed(&(struct decide_facts){.workload = &entry->facts, .mirrors = entry->mirrors});
    if (!mirror || mirror->cluster != claim->cluster)
        return;
    if (!claim->seen)
        ends_at(engine, claim, engine->now.mono_ns + CAPACITY_RESERVE_NS);
    bool started = entry->phase == WHARF_ACTIVE;
    if (started && !claim->started)
        ends_at(engine, claim, engine->now.mono_ns + CAPACITY_SEEN_NS);
    claim->seen = true;
    claim->started |= started;
}

// A host that has just started does not know what its predecessor has placed a moment ago.
static bool is_to_be_reserved(const struct engine *engine, const struct entry *entry, uint32_t cluster) {
    const struct worker_room *worker = worker_of(engine, cluster);
    return worker && knowledge_of(engine, worker) != UNLIMITED && entry->phase != WHARF_ACTIVE &&
           !(entry->claim && (entry->claim->cluster || entry->claim->done == entry->facts.attempt));
}

static void begin_to_wait(struct engine *engine, struct room_claim *claim) {
    struct capacity *capacity = engine->capacity;
    if (!capacity->waiting.first)
        capacity->next_ns = engine->now.mono_ns;
    move_claim(claim, &capacity->waiting);
}

void capacity_follow(struct engine *engine, struct entry *entry, bool waits) {
    struct capacity *capacity = engine->capacity;
    if (!capacity)
        return;
    uint32_t cluster = place_of(entry);
    if (entry->claim && entry->claim->cluster && entry->claim->cluster != cluster)
        end_claim(capacity, entry->claim);
    if (cluster && is_to_be_reserved(engine, entry, cluster)) {
        struct room_claim *claim = claim_of(engine, entry);
        if (claim)
            reserve(engine, claim, cluster);
    }
    struct room_claim *claim = entry->claim;
    if (!claim)
        return;
    if (claim->cluster)
        follow_mirror(engine, entry, claim);
    else if (waits)
        begin_to_wait(engine, claim);
    else if (!cluster || entry->phase == WHARF_ACTIVE)
        free_claim(capacity, claim);
    else
        move_claim(claim, &capacity->idle);
}

void capacity_forget(struct engine *engine, struct entry *entry) {
    if (entry->claim)
        free_claim(engine->capacity, entry->claim);
}

// Events -------------------------------------------------------------------------------------------------------

// In the order in which they began to wait: those that find room together.
static void wake(struct engine *engine, struct worker_room *worker) {
    struct capacity *capacity = engine->capacity;
    bool limited = knowledge_of(engine, worker) == LIMITED, taken = false;
    for (struct room_claim *claim = capacity->waiting.first; claim; claim = claim->next) {
        if (limited && !room_fits(&worker->room, &capacity->shapes, claim->sets, claim->n_sets))
            continue;
        for (size_t i = 0; limited && i < claim->n_sets; i++)
            (void)room_take(&worker->room, &capacity->shapes, &claim->sets[i]);
        taken |= limited;
        queue_entry(engine, claim->entry);
    }
    if (taken)
        rebuild(engine, worker);
}

int64_t capacity_wake_ns(const struct engine *engine) {
    return engine->capacity && engine->capacity->waiting.first ? engine->capacity->next_ns : CLOCK_NEVER;
}

void capacity_tick(struct engine *engine) {
    struct capacity *capacity = engine->capacity;
    if (engine->now.mono_ns < capacity_wake_ns(engine))
        return;
    int64_t next_ns = CLOCK_NEVER;
    for (size_t c = 1; c < capacity->n_workers; c++) {
        struct worker_room *worker = &capacity->workers[c];
        refresh(engine, worker);
        if (worker->grew)
            wake(engine, worker);
        worker->grew = false;
        if (worker->ended && worker->room.nodes)
            next_ns = clock_earlier(next_ns, worker->built_ns + REBUILD_NS);
        next_ns = clock_earlier(next_ns, worker->expires_ns);
    }
    capacity->next_ns = next_ns;
}

static bool is_shown(const char *name, const struct nodes *nodes, size_t resource) {
    return nodes->allocatable[resource] > 0 && !text_has_prefix(name, "hugepages-") &&
           !text_has_prefix(name, "attachable-volumes-");
}

static void count_stats(struct engine *engine, size_t cluster) {
    const struct worker_room *worker = &engine->capacity->workers[cluster];
    const struct nodes *nodes = worker->room.nodes;
    struct stats_capacity *stats = &engine->stats.clusters[cluster].capacity;
    *stats = (struct stats_capacity){.state = worker->state, .nodes = nodes ? nodes->count : 0};
    text_copy(stats->problem, sizeof stats->problem, worker->problem);
    for (size_t r = 0; nodes && r < nodes->n_resources && stats->n_resources < STATS_RESOURCES; r++) {
        if (!is_shown(nodes->names[r], nodes, r))
            continue;
        struct stats_resource *out = &stats->resources[stats->n_resources++];
        text_copy(out->name, sizeof out->name, nodes->names[r]);
        out->allocatable = nodes->allocatable[r];
        for (size_t n = 0; n < nodes->count; n++)
            out->left = int64_plus(out->left, nodes->left[n * nodes->n_resources + r]);
    }
}

void capacity_take(struct engine *engine, const struct engine_event *event) {
    struct nodes *nodes = event->capacity.nodes;
    if (event->cluster == ENGINE_MANAGEMENT || !make_capacity(engine)) {
        nodes_free(nodes);
        return;
    }
    struct worker_room *worker = &engine->capacity->workers[event->cluster];
    enum capacity_state before = worker->state;
    worker->state = event->capacity.state;
    text_copy(worker->problem, sizeof worker->problem, event->capacity.problem ? event->capacity.problem : "");
    bool counts = worker->state == CAPACITY_READING || worker->state == CAPACITY_STALE;
    if (counts && (before == CAPACITY_KNOWN || before == CAPACITY_OFF))
        worker->until_ns = engine->now.mono_ns + CAPACITY_STALE_NS;
    if (worker->state == CAPACITY_OFF || worker->state == CAPACITY_UNKNOWN) {
        nodes_free(worker->room.nodes);
        worker->room.nodes = NULL;
    }
    if (nodes && !room_set(&worker->room, nodes))
        worker->state = CAPACITY_UNKNOWN;
    if (worker->room.nodes) {
        expire(engine, worker);
        rebuild(engine, worker);
    }
    count_stats(engine, event->cluster);
    wake(engine, worker);
}

void capacity_left(struct engine *engine, size_t cluster) {
    struct worker_room *worker = worker_of(engine, cluster);
    if (!worker)
        return;
    while (worker->reserved.first)
        end_claim(engine->capacity, worker->reserved.first);
    room_free(&worker->room);
    *worker = (struct worker_room){.state = CAPACITY_OFF};
}

static void free_claims(struct capacity *capacity, struct room_claims *claims) {
    while (claims->first)
        free_claim(capacity, claims->first);
}

void capacity_free(struct engine *engine) {
    struct capacity *capacity = engine->capacity;
    if (!capacity)
        return;
    free_claims(capacity, &capacity->waiting);
    free_claims(capacity, &capacity->idle);
    for (size_t c = 0; c < capacity->n_workers; c++) {
        free_claims(capacity, &capacity->workers[c].reserved);
        room_free(&capacity->workers[c].room);
    }
    pod_shapes_free(&capacity->shapes);
    free(capacity->workers);
    free(capacity);
    engine->capacity = NULL;
}

// For people and policies --------------------------------------------------------------------------------------

bool capacity_lacks(const struct engine *engine, const struct entry *entry, size_t cluster, char *out, size_t size) {
    struct worker_room *worker = worker_of(engine, cluster);
    const struct room_claim *claim = entry->claim;
    AUTO_BUFFER(text, 1024);
    if (!claim || claim->in != &engine->capacity->waiting || claim->n_sets == 0 ||
        knowledge_of(engine, worker) == UNLIMITED)
        return false;
    if (knowledge_of(engine, worker) == AWAITED) {
        text_copy(out, size, "free capacity is unknown");
        return true;
    }
    if (room_fits(&worker->room, &engine->capacity->shapes, claim->sets, claim->n_sets))
        return false;
    room_explain(&worker->room, &engine->capacity->shapes, claim->sets, claim->n_sets, &text);
    text_copy(out, size, text.len > 0 ? text.data : "has no room");
    return true;
}

const char *capacity_problem(const struct engine *engine, size_t cluster) {
    const struct worker_room *worker = worker_of(engine, cluster);
    if (knowledge_of(engine, worker) != AWAITED)
        return NULL;
    return *worker->problem ? worker->problem : "its nodes and pods are being listed";
}

unsigned capacity_fullness(struct engine *engine, struct entry *entry, size_t cluster) {
    struct worker_room *worker = worker_of(engine, cluster);
    const struct room_claim *claim = knowledge_of(engine, worker) == LIMITED ? claim_of(engine, entry) : NULL;
    return claim ? room_fullness(&worker->room, &engine->capacity->shapes, claim->sets, claim->n_sets) : 0;
}
