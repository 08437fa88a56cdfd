// SPDX-License-Identifier: Apache-2.0
#include "core/engine/capacity/capacity.h"

#include "core/adapter/pods.h"
#include "core/base/memory.h"
#include "core/engine/capacity/free_capacity.h"
#include "core/engine/elsewhere/elsewhere.h"
#include "core/engine/request/command.h"

#define SETS_MAX 64                 // different pods of one workload; the host ignores further ones
#define REBUILD_NS (500 * CLOCK_MS) // between two, when only reservations have ended

struct claim_list { // a list
    struct capacity_claim *first, *last;
};

// The pods of a workload that waits for capacity or has a reservation in a worker.
struct capacity_claim {
    struct capacity_claim *next, *previous;
    struct claim_list *in; // NULL: neither waiting nor reserved
    struct entry *entry;
    uint64_t source;  // hash of uid and generation of the workload with these pods
    int64_t until_ns; // reserved until then
    uint32_t cluster; // of the reservation, 0: none
    uint32_t done;    // attempt with an ended reservation, 0: none
    size_t n_sets;
    struct pod_set *sets;
};

struct worker_capacity {
    enum capacity_state state;
    int64_t until_ns; // READING, STALE: the last view counts until then
    struct free_capacity spare;
    struct claim_list reserved;
    int64_t built_ns;
    bool ended; // a reservation has ended since then
};

struct capacity {
    struct pod_shapes shapes;
    struct worker_capacity **workers; // by cluster; NULL: without limits
    size_t n_workers;
    struct claim_list waiting;
    int64_t next_ns; // of the tick
};

static struct worker_capacity *worker_at(const struct engine *engine, size_t cluster) {
    const struct capacity *capacity = engine->capacity;
    return capacity && cluster < capacity->n_workers ? capacity->workers[cluster] : NULL;
}

static struct worker_capacity *make_worker(struct engine *engine, size_t cluster) {
    if (!engine->capacity) {
        engine->capacity = calloc(1, sizeof *engine->capacity);
        if (!engine->capacity)
            return NULL;
        pod_shapes_init(&engine->capacity->shapes, engine->seed);
    }
    struct capacity *capacity = engine->capacity;
    if (!array_reserve(&capacity->workers, &capacity->n_workers, cluster + 1, sizeof *capacity->workers))
        return NULL;
    struct worker_capacity **worker = &capacity->workers[cluster];
    if (!*worker && (*worker = calloc(1, sizeof **worker)))
        (*worker)->spare = (struct free_capacity){.worker = cluster, .shapes = &capacity->shapes};
    return *worker;
}

// Claims -------------------------------------------------------------------------------------------------------

static void move_claim(struct capacity_claim *claim, struct claim_list *to) {
    if (claim->in == to)
        return;
    if (claim->in) {
        *(claim->previous ? &claim->previous->next : &claim->in->first) = claim->next;
        *(claim->next ? &claim->next->previous : &claim->in->last) = claim->previous;
    }
    claim->in = to;
    claim->next = NULL;
    claim->previous = to ? to->last : NULL;
    if (to)
        to->last = *(to->last ? &to->last->next : &to->first) = claim;
}

static void end_reservation(struct capacity *capacity, struct capacity_claim *claim) {
    struct worker_capacity *worker = capacity->workers[claim->cluster];
    worker->ended = true;
    capacity->next_ns = clock_earlier(capacity->next_ns, worker->built_ns + REBUILD_NS);
    claim->cluster = 0;
    claim->done = claim->entry->workload->facts.attempt;
    move_claim(claim, NULL);
}

static void drop_sets(struct capacity *capacity, struct capacity_claim *claim) {
    while (claim->n_sets > 0)
        pod_shape_unref(&capacity->shapes, claim->sets[--claim->n_sets].shape);
    free(claim->sets);
    claim->sets = NULL;
}

static void free_claim(struct capacity *capacity, struct capacity_claim *claim) {
    if (claim->cluster)
        end_reservation(capacity, claim);
    move_claim(claim, NULL);
    drop_sets(capacity, claim);
    claim->entry->workload->capacity = NULL;
    free(claim);
}

static uint64_t source_of(const struct entry *entry) {
    return text_hash(TEXT_HASH, entry->workload->uid) ^ (uint64_t)entry->workload->generation;
}

static bool add_set(struct capacity *capacity, const struct json *set, struct capacity_claim *claim) {
    int64_t count = json_int64(json_get(set, "count"), 0);
    if (count <= 0 || claim->n_sets == SETS_MAX)
        return true;
    struct pod_shape *shape = pod_shape_ref(&capacity->shapes, json_path(set, "template", "spec", NULL));
    if (!shape)
        return false;
    size_t i = 0;
    while (i < claim->n_sets && claim->sets[i].shape != shape)
        i++;
    if (i == claim->n_sets)
        claim->sets[claim->n_sets++] = (struct pod_set){shape, count};
    else {
        claim->sets[i].count = int64_plus(claim->sets[i].count, count);
        pod_shape_unref(&capacity->shapes, shape);
    }
    return true;
}

// False: out of memory, or the adapter does not name the pods.
static bool read_sets(struct engine *engine, struct entry *entry, struct capacity_claim *claim) {
    struct adapter_call call;
    AUTO_JSON sets = NULL;
    AUTO_JSON marked = elsewhere_marked(engine, entry);
    const struct json *workload = marked ? marked : doc_tree(&engine->store, &entry->workload->doc);
    if (!workload)
        return false;
    call_begin(engine, entry, WHARF_MIRROR_NONE, &call);
    bool read = pods_of(&call, workload, &sets) == WHARF_OK;
    adapter_call_end(&call);
    drop_sets(engine->capacity, claim);
    claim->source = source_of(entry);
    claim->sets = read ? calloc(size_least(json_size(sets), SETS_MAX) + 1, sizeof *claim->sets) : NULL;
    read = claim->sets;
    for (const struct json *set = read ? json_first(sets) : NULL; set && read; set = json_next(set))
        read = add_set(engine->capacity, set, claim);
    return read;
}

// The present request of the workload; NULL: unknown.
static struct capacity_claim *claim_of(struct engine *engine, struct entry *entry) {
    struct capacity_claim *claim = entry->workload->capacity;
    if (claim && claim->source == source_of(entry))
        return claim;
    if (!claim && !(claim = calloc(1, sizeof *claim)))
        return NULL;
    entry->workload->capacity = claim;
    claim->entry = entry;
    if (read_sets(engine, entry, claim))
        return claim;
    free_claim(engine->capacity, claim);
    return NULL;
}

// Reservations -------------------------------------------------------------------------------------------------

static void subtract_claim(struct worker_capacity *worker, const struct capacity_claim *claim) {
    for (size_t i = 0; worker->spare.nodes && i < claim->n_sets; i++)
        (void)free_capacity_take(&worker->spare, &claim->sets[i]);
}

// The newest first: the view may have the pods of older ones, and what no longer fits takes nothing.
static void rebuild(struct engine *engine, struct worker_capacity *worker) {
    free_capacity_reset(&worker->spare);
    worker->ended = false;
    worker->built_ns = engine->now.mono_ns;
    for (const struct capacity_claim *claim = worker->reserved.last; claim; claim = claim->previous)
        subtract_claim(worker, claim);
}

static void expire(struct engine *engine, struct worker_capacity *worker) {
    struct capacity *capacity = engine->capacity;
    for (struct capacity_claim *claim = worker->reserved.first, *next; claim; claim = next) {
        next = claim->next;
        if (claim->until_ns <= engine->now.mono_ns)
            end_reservation(capacity, claim);
        else
            capacity->next_ns = clock_earlier(capacity->next_ns, claim->until_ns);
    }
}

static bool is_known(const struct engine *engine, const struct worker_capacity *worker) {
    return worker && worker->spare.nodes && (worker->state == CAPACITY_KNOWN || engine->now.mono_ns < worker->until_ns);
}

// The worker that has the pods, or will have the pods soon, perhaps not in the view yet; 0: none.
static uint32_t place_of(const struct entry *entry) {
    const struct workload *workload = entry->workload;
    const struct workload_facts *w = &workload->facts;
    if (!w->exists || w->being_deleted || w->finished || w->suspended)
        return 0;
    if (entry->busy && workload->requested_attempt > w->attempt) // a placement is in flight
        return workload->requested_cluster == DECIDE_UNKNOWN_CLUSTER ? 0 : workload->requested_cluster;
    bool gone = w->gone_attempt == w->attempt; // a new placement is due
    return w->attempt == 0 || workload->active_in != w->cluster || gone ? 0 : w->cluster;
}

bool capacity_fits(struct engine *engine, struct entry *entry, size_t cluster, int64_t *next_ns) {
    struct worker_capacity *worker = worker_at(engine, cluster);
    struct capacity_claim *claim = worker ? claim_of(engine, entry) : NULL;
    if (!claim || claim->n_sets == 0)
        return true;
    if (claim->cluster && claim->cluster != place_of(entry))
        end_reservation(engine->capacity, claim);
    if (claim->cluster == cluster) // by the reservation
        return true;
    if (is_known(engine, worker) && free_capacity_fits(&worker->spare, claim->sets, claim->n_sets))
        return true;
    *next_ns = clock_earlier(*next_ns, engine->now.mono_ns + CAPACITY_RETRY_NS);
    return false;
}

static void reserve(struct engine *engine, struct entry *entry, size_t cluster) {
    struct worker_capacity *worker = worker_at(engine, cluster);
    struct capacity_claim *claim = claim_of(engine, entry);
    if (!claim)
        return;
    claim->cluster = (uint32_t)cluster;
    claim->until_ns = CLOCK_NEVER;
    claim->done = 0;
    move_claim(claim, &worker->reserved);
    subtract_claim(worker, claim);
}

void capacity_placed(struct engine *engine, struct entry *entry, size_t cluster) {
    struct capacity_claim *claim = entry->workload->capacity;
    if (claim && claim->cluster)
        end_reservation(engine->capacity, claim);
    if (is_known(engine, worker_at(engine, cluster)))
        reserve(engine, entry, cluster);
}

// The first deadline holds: a repetition does not extend the reservation.
static void follow_mirror(struct engine *engine, const struct entry *entry, struct capacity_claim *claim) {
    const struct mirror *mirror = facts_placed_mirror(entry);
    if (!mirror || mirror->facts.cluster != claim->cluster)
        return;
    int64_t after_ns = entry->workload->phase == WHARF_ACTIVE ? CAPACITY_SEEN_NS : CAPACITY_RESERVE_NS;
    claim->until_ns = clock_earlier(claim->until_ns, engine->now.mono_ns + after_ns);
    engine->capacity->next_ns = clock_earlier(engine->capacity->next_ns, claim->until_ns);
}

static void follow(struct engine *engine, struct entry *entry, const struct action *action) {
    struct capacity *capacity = engine->capacity;
    if (!capacity)
        return;
    bool waits = action->waiting == WAITING_CAPACITY, active = entry->workload->phase == WHARF_ACTIVE;
    uint32_t cluster = place_of(entry);
    struct capacity_claim *claim = entry->workload->capacity;
    if (claim && claim->cluster && claim->cluster != cluster)
        end_reservation(capacity, claim);
    // A host that has just started does not know the recent placements of the former host.
    bool reserved = claim && (claim->cluster || claim->done == entry->workload->facts.attempt);
    if (cluster && worker_at(engine, cluster) && !active && !reserved)
        reserve(engine, entry, cluster);
    claim = entry->workload->capacity;
    if (!claim)
        return;
    if (claim->cluster)
        follow_mirror(engine, entry, claim);
    else if (!waits && (!cluster || active))
        free_claim(capacity, claim);
    else
        move_claim(claim, waits ? &capacity->waiting : NULL);
}

static void forget(struct engine *engine, struct entry *entry) {
    if (entry->workload->capacity)
        free_claim(engine->capacity, entry->workload->capacity);
}

// Events -------------------------------------------------------------------------------------------------------

// Queues the waiting workloads that fit together, the longest wait first.
static void wake(struct engine *engine, struct worker_capacity *worker) {
    bool limited = is_known(engine, worker), taken = false;
    for (struct capacity_claim *claim = engine->capacity->waiting.first; claim; claim = claim->next) {
        if (limited && !free_capacity_fits(&worker->spare, claim->sets, claim->n_sets))
            continue;
        if (limited)
            subtract_claim(worker, claim);
        taken |= limited;
        queue_entry(engine, claim->entry);
    }
    if (taken)
        rebuild(engine, worker);
}

static int64_t due_ns(struct engine *engine) {
    return engine->capacity ? engine->capacity->next_ns : CLOCK_NEVER;
}

static void tick(struct engine *engine) {
    struct capacity *capacity = engine->capacity;
    if (engine->now.mono_ns < due_ns(engine))
        return;
    capacity->next_ns = CLOCK_NEVER;
    for (size_t c = 1; c < capacity->n_workers; c++) {
        struct worker_capacity *worker = capacity->workers[c];
        if (!worker)
            continue;
        expire(engine, worker);
        if (worker->ended && worker->spare.nodes && engine->now.mono_ns - worker->built_ns >= REBUILD_NS) {
            rebuild(engine, worker);
            wake(engine, worker);
        }
    }
}

static void count_stats(const struct nodes *nodes, struct stats_capacity *stats) {
    for (size_t r = 0; nodes && r < nodes->names.count && stats->n_resources < STATS_RESOURCES; r++) {
        const char *name = nodes->names.list[r];
        if (nodes->allocatable[r] <= 0 || text_has_prefix(name, "hugepages-") ||
            text_has_prefix(name, "attachable-volumes-"))
            continue;
        struct stats_resource *out = &stats->resources[stats->n_resources++];
        text_copy(out->name, sizeof out->name, name);
        out->allocatable = nodes->allocatable[r];
        for (size_t n = 0; n < nodes->count; n++)
            out->left = int64_plus(out->left, nodes->left[n * nodes->names.count + r]);
    }
}

// Takes `nodes`.
static void update_worker(struct engine *engine, struct worker_capacity *worker, enum capacity_state state,
                          struct nodes *nodes) {
    bool stale = state == CAPACITY_READING || state == CAPACITY_STALE;
    if (stale && (worker->state == CAPACITY_KNOWN || worker->state == CAPACITY_OFF))
        worker->until_ns = engine->now.mono_ns + CAPACITY_STALE_NS;
    worker->state = state;
    if (state == CAPACITY_UNKNOWN)
        free_capacity_clear(&worker->spare);
    if (nodes && !free_capacity_set(&worker->spare, nodes))
        worker->state = CAPACITY_UNKNOWN;
    if (!worker->spare.nodes)
        return;
    expire(engine, worker);
    rebuild(engine, worker);
}

static void on_event(struct engine *engine, struct engine_event *event) {
    struct nodes *nodes = TAKE(event->capacity.nodes);
    bool off = event->capacity.state == CAPACITY_OFF;
    struct worker_capacity *worker =
        off || event->cluster == ENGINE_MANAGEMENT ? NULL : make_worker(engine, event->cluster);
    if (off)
        capacity_left(engine, event->cluster);
    if (worker)
        update_worker(engine, worker, event->capacity.state, nodes);
    else
        nodes_free(nodes);
    if (!worker && !off)
        return;
    struct stats_capacity *stats = &engine->stats.clusters[event->cluster].capacity;
    nodes = worker ? worker->spare.nodes : NULL;
    *stats = (struct stats_capacity){.state = worker ? worker->state : CAPACITY_OFF, .nodes = nodes ? nodes->count : 0};
    text_copy(stats->problem, sizeof stats->problem, event->capacity.problem ? event->capacity.problem : "");
    count_stats(nodes, stats);
    if (engine->capacity)
        wake(engine, worker);
}

void capacity_left(struct engine *engine, size_t cluster) {
    struct worker_capacity *worker = worker_at(engine, cluster);
    if (!worker)
        return;
    while (worker->reserved.first)
        end_reservation(engine->capacity, worker->reserved.first);
    free_capacity_clear(&worker->spare);
    free(worker);
    engine->capacity->workers[cluster] = NULL;
}

static void end(struct engine *engine) {
    struct capacity *capacity = engine->capacity;
    if (!capacity)
        return;
    struct store_cursor at = {0};
    for (struct entry *entry; (entry = store_next(&engine->store, &at));)
        forget(engine, entry);
    for (size_t c = 0; c < capacity->n_workers; c++)
        capacity_left(engine, c);
    pod_shapes_free(&capacity->shapes);
    free(capacity->workers);
    free(capacity);
    engine->capacity = NULL;
}

// Explanations -------------------------------------------------------------------------------------------------

bool capacity_lacks(const struct engine *engine, const struct entry *entry, size_t cluster, char *out, size_t size) {
    struct worker_capacity *worker = worker_at(engine, cluster);
    const struct capacity_claim *claim = entry->workload->capacity;
    AUTO_BUFFER(text, 1024);
    if (!worker || !claim || claim->in != &engine->capacity->waiting || claim->n_sets == 0)
        return false;
    if (!is_known(engine, worker)) {
        text_copy(out, size, "free capacity is unknown");
        return true;
    }
    if (free_capacity_fits(&worker->spare, claim->sets, claim->n_sets))
        return false;
    free_capacity_explain(&worker->spare, claim->sets, claim->n_sets, &text);
    text_copy(out, size, text.len > 0 ? text.data : "does not fit");
    return true;
}

const char *capacity_problem(const struct engine *engine, size_t cluster) {
    const struct worker_capacity *worker = worker_at(engine, cluster);
    if (!worker || is_known(engine, worker))
        return NULL;
    const char *problem = engine->stats.clusters[cluster].capacity.problem;
    return *problem ? problem : "the host is listing the nodes and pods";
}

unsigned capacity_fullness(struct engine *engine, struct entry *entry, size_t cluster) {
    struct worker_capacity *worker = worker_at(engine, cluster);
    const struct capacity_claim *claim = is_known(engine, worker) ? claim_of(engine, entry) : NULL;
    return claim ? free_capacity_fullness(&worker->spare, claim->sets, claim->n_sets) : 0;
}

// In units; cpu is kept in thousandths.
static struct json *amount_value(const char *resource, int64_t amount) {
    if (strcmp(resource, "cpu") != 0)
        return json_new_int64(amount);
    AUTO_TEXT text = text_format("%jd.%03jd", (intmax_t)(amount / 1000), (intmax_t)(amount % 1000));
    struct json *value = NULL;
    error_free(text ? json_parse(text, strlen(text), &value) : NULL);
    return value;
}

struct json *capacity_sums(const struct engine *engine, size_t cluster) {
    struct worker_capacity *worker = worker_at(engine, cluster);
    if (!is_known(engine, worker))
        return NULL;
    const struct free_capacity *spare = &worker->spare;
    size_t n_names = spare->nodes->names.count;
    AUTO_JSON sums = json_new_object();
    for (size_t r = 0; sums && r < n_names; r++) {
        int64_t sum = 0;
        for (size_t n = 0; n < spare->nodes->count; n++)
            sum = int64_plus(sum, spare->left[n * n_names + r] > 0 ? spare->left[n * n_names + r] : 0);
        if (spare->nodes->allocatable[r] > 0 &&
            !json_set(sums, spare->nodes->names.list[r], amount_value(spare->nodes->names.list[r], sum)))
            return NULL;
    }
    return TAKE(sums);
}

bool capacity_is_used(const struct engine *engine) {
    return engine->capacity;
}

const struct part part_capacity = {.name = "capacity",
                                   .end = end,
                                   .events = PART_EVENT(EVENT_CAPACITY),
                                   .event = on_event,
                                   .tick = tick,
                                   .due_ns = due_ns,
                                   .stand_by = forget, // the other host has the reservation
                                   .after = follow,
                                   .workload_ends = forget};
