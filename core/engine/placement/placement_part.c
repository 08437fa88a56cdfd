// SPDX-License-Identifier: Apache-2.0
// The part: labels of namespaces, retries after a change of a namespace in a worker, and the queue for maxActive.
#include "core/base/memory.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine.h"
#include "core/engine/engine_internal.h"
#include "core/engine/placement/placing.h"

#define CHANGED_NS CLOCK_SECOND   // between two passes over all entries
#define MISSES_MAX 64             // failed tries, after which the next round waits
#define ROUND_NS (100 * CLOCK_MS) // between such rounds
#define UNBOUNDED ((size_t)256)   // tried at most for a worker without maxActive

// Labels of the management cluster's namespaces, if a selector in the configuration needs labels -----------------

struct namespace_ {
    bool seen;          // in the present list
    const char *labels; // after the name; NULL: none
    char name[];
};

bool namespace_labels_of(const struct engine *engine, const struct entry *entry, const char **labels) {
    const struct namespace_ *found = map_get_len(&engine->placement.namespaces.map, entry->key, entry->name_at - 1U);
    *labels = found ? found->labels : NULL;
    return found || engine->placement.namespaces.listed;
}

static void decide_soon(struct engine *engine) {
    struct namespace_labels *table = &engine->placement.namespaces;
    if (table->due_ns == CLOCK_NEVER)
        table->due_ns = clock_later(engine->now.mono_ns, table->ticked_ns + CHANGED_NS);
}

// Without memory, a namespace keeps the former labels.
static void set_labels(struct engine *engine, const char *name, const char *labels) {
    struct namespace_labels *table = &engine->placement.namespaces;
    struct namespace_ *old = map_get(&table->map, name);
    const char *wanted = labels && *labels ? labels : NULL;
    bool same = old && text_equal(old->labels, wanted);
    size_t size = strlen(name) + 1, labels_size = wanted ? strlen(wanted) + 1 : 0;
    if (old)
        old->seen = true;
    if (!same || !table->listed)
        decide_soon(engine);
    struct namespace_ *made = same ? NULL : malloc(sizeof *made + size + labels_size);
    if (!made)
        return;
    made->seen = true;
    memcpy(made->name, name, size);
    made->labels = wanted ? memcpy(made->name + size, wanted, labels_size) : NULL;
    if (!map_put(&table->map, made->name, made))
        old = made;
    free(old);
}

static void begin_list(struct namespace_labels *table) {
    size_t cursor = 0;
    for (struct namespace_ *n; (n = map_next(&table->map, &cursor));)
        n->seen = false;
}

// Returns whether there were such namespaces.
static bool drop_unseen(struct namespace_labels *table) {
    size_t cursor = 0, before = table->map.count;
    for (struct namespace_ *n; (n = map_next(&table->map, &cursor));)
        if (!n->seen)
            free(map_remove(&table->map, n->name));
    return table->map.count < before;
}

static void on_labels(struct engine *engine, const struct engine_event *event) {
    struct namespace_labels *table = &engine->placement.namespaces;
    struct namespace_ *gone = NULL;
    switch (event->namespace_.news) {
    case NAMESPACES_LISTING:
        begin_list(table);
        break;
    case NAMESPACES_LISTED:
        if (drop_unseen(table) || !table->listed)
            decide_soon(engine);
        table->listed = true;
        break;
    case NAMESPACES_UNKNOWN:
        begin_list(table);
        (void)drop_unseen(table);
        table->listed = false;
        break;
    case NAMESPACE_SEEN:
        set_labels(engine, event->namespace_.name, event->namespace_.labels);
        break;
    case NAMESPACE_GONE:
        gone = map_remove(&table->map, event->namespace_.name);
        if (gone)
            decide_soon(engine);
        free(gone);
        break;
    }
}

// After a change of labels: decides anew on waiting workloads, at most once a second.
static void tick(struct engine *engine) {
    struct namespace_labels *table = &engine->placement.namespaces;
    if (table->due_ns > engine->now.mono_ns)
        return;
    table->ticked_ns = engine->now.mono_ns;
    table->due_ns = CLOCK_NEVER;
    for (size_t k = 0; k < engine->n_kinds; k++)
        cluster_queue_blocked(engine, k, SIZE_MAX);
}

// Retries ------------------------------------------------------------------------------------------------------

// Whether a change of the namespace or a quota can end the rejection.
static bool is_of_namespace(const char *reason) {
    static const char *const reasons[] = {"QuotaExceeded", "NamespaceNotFound", "NamespaceTerminating"};
    for (size_t i = 0; reason && i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reasons[i], reason) == 0)
            return true;
    return !reason;
}

void namespace_retry_wait(struct engine *engine, struct entry *entry, uint32_t cluster, const char *reason) {
    struct namespace_waiters *waiters = &engine->placement.namespace_waiters;
    if (!is_of_namespace(reason))
        return;
    cluster_relist(engine, cluster, RELIST_NAMESPACES); // the host watches namespaces for a while from now on
    if (entry->awaits_namespace ||
        !array_reserve(&waiters->list, &waiters->capacity, waiters->count + 1, sizeof *waiters->list))
        return;
    entry->awaits_namespace = true;
    waiters->list[waiters->count++] = entry;
}

static void drop_waiter(struct namespace_waiters *waiters, size_t at) {
    waiters->list[at]->awaits_namespace = false;
    waiters->list[at] = waiters->list[--waiters->count];
}

static void forget(struct engine *engine, struct entry *entry) {
    struct namespace_waiters *waiters = &engine->placement.namespace_waiters;
    for (size_t i = 0; entry->awaits_namespace && i < waiters->count; i++)
        if (waiters->list[i] == entry)
            drop_waiter(waiters, i);
}

// A worker has rejected the workload or not started the mirror.
static bool waits(const struct entry *entry) {
    for (const struct mirror *m = entry_mirrors(entry); m; m = mirror_next(m))
        if (m->facts.excluded_until_ns || m->facts.tried)
            return entry->workload->facts.exists && !entry->workload->facts.finished;
    return false;
}

static void retry(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    int64_t now_ns = engine->now.mono_ns, at_ns = now_ns;
    if (mirror->namespace_retry_s)
        at_ns = clock_later(now_ns, (mirror->namespace_retry_s + NAMESPACE_RETRY_S) * CLOCK_SECOND);
    bool later = at_ns > now_ns;
    if (later && mirror->facts.excluded_until_ns <= at_ns && !mirror->facts.tried)
        return; // soon enough
    mirror->namespace_retry_s = (uint32_t)(at_ns / CLOCK_SECOND);
    mirror->facts.changed |= mirror->facts.tried;
    mirror->facts.tried = false;
    mirror->facts.excluded_until_ns = later ? at_ns : 0;
    queue_entry(engine, entry);
}

// The namespace, or a quota in it, changed; NULL: any may have.
static void retry_namespace(struct engine *engine, size_t cluster, const char *namespace_) {
    struct namespace_waiters *waiters = &engine->placement.namespace_waiters;
    for (size_t i = waiters->count; i-- > 0;) {
        struct entry *entry = waiters->list[i];
        struct mirror *mirror = entry_mirror(entry, cluster);
        size_t len = entry->name_at - 1U;
        if (!waits(entry))
            drop_waiter(waiters, i);
        else if (mirror && (mirror->facts.excluded_until_ns > engine->now.mono_ns || mirror->facts.tried) &&
                 (!namespace_ || (strlen(namespace_) == len && memcmp(namespace_, entry->key, len) == 0)))
            retry(engine, entry, mirror);
    }
}

// The queue ------------------------------------------------------------------------------------------------------

static void put_in_queue(struct engine *engine, struct entry *entry) {
    struct placement_queue *queue = &engine->placement.queue;
    // Without memory the engine tries the entry again when a worker changes.
    (void)fair_queue_put(&queue->waiting, &entry->placement_turn, entry, WORK_CREATE, entry->kind, entry->key,
                         entry->name_at - 1U);
}

bool placement_queue_overtakes(struct engine *engine, struct entry *entry, size_t cluster) {
    struct placement_queue *queue = &engine->placement.queue;
    bool limited = engine->clusters[cluster].settings.max_active > 0 || engine->clusters[cluster].settings.max_kinds;
    if (!limited || entry->placement_turn.flow || queue->waiting.count == 0 || !(queue->freed || queue->trying))
        return false;
    put_in_queue(engine, entry);
    queue->freed = true;
    return entry->placement_turn.flow;
}

void placement_queue_note(struct engine *engine, struct entry *entry, enum placement_turn need) {
    if (need == PLACEMENT_TURN_NONE)
        fair_queue_remove(&entry->placement_turn);
    else if (need == PLACEMENT_TURN_WANTED)
        put_in_queue(engine, entry);
    if (entry != engine->placement.queue.tried)
        return;
    engine->placement.queue.tried = NULL;
    if (need == PLACEMENT_TURN_WANTED)
        engine->placement.queue.misses++;
    else if (engine->placement.queue.left > 0)
        engine->placement.queue.left--;
}

void placement_queue_retry(struct engine *engine) {
    engine->placement.queue.freed |= engine->placement.queue.waiting.count > 0;
}

// How many more workloads all workers together may get, at most.
static size_t free_slots(const struct engine *engine) {
    size_t left = 0;
    for (size_t c = 1; c < engine->n_clusters; c++) {
        const struct engine_cluster *slot = &engine->clusters[c];
        size_t active = engine->stats.clusters[c].active;
        if (!engine->clusters[c].name || slot->settings.policy != WORKER_ACTIVE)
            continue;
        if (slot->settings.max_active == 0)
            left += UNBOUNDED;
        else if (slot->settings.max_active > active)
            left += slot->settings.max_active - active;
    }
    return left;
}

static bool begin_round(struct engine *engine) {
    struct placement_queue *queue = &engine->placement.queue;
    if (!queue->freed || queue->next_ns > engine->now.mono_ns)
        return false;
    queue->freed = false;
    queue->misses = 0;
    fair_queue_begin_round(&queue->waiting);
    queue->left = free_slots(engine);
    queue->trying = true;
    return true;
}

static void end_round(struct engine *engine) {
    struct placement_queue *queue = &engine->placement.queue;
    queue->trying = false;
    queue->tried = NULL;
    queue->next_ns = queue->misses > MISSES_MAX ? engine->now.mono_ns + ROUND_NS : 0;
}

// The next entry to reconcile, until the workers take no more; NULL: none now.
static struct entry *next_in_queue(struct engine *engine) {
    struct placement_queue *queue = &engine->placement.queue;
    queue->tried = NULL;
    if (!queue->trying && !begin_round(engine))
        return NULL;
    if (queue->left > 0)
        queue->tried = fair_queue_look(&queue->waiting, WORK_CREATE);
    if (!queue->tried)
        end_round(engine);
    return queue->tried;
}

// The time of the next engine_step for the queue.
static int64_t queue_wake_ns(const struct engine *engine) {
    const struct placement_queue *queue = &engine->placement.queue;
    if (queue->trying)
        return engine->now.mono_ns;
    return queue->freed ? clock_later(queue->next_ns, engine->now.mono_ns) : CLOCK_NEVER;
}

// The part -----------------------------------------------------------------------------------------------------

static struct error *begin(struct engine *engine, const struct engine_options *options) {
    fair_queue_init(&engine->placement.queue.waiting, options->seed);
    map_init(&engine->placement.namespaces.map, options->seed);
    engine->placement.namespaces.due_ns = CLOCK_NEVER;
    return NULL;
}

static void end(struct engine *engine) {
    fair_queue_free(&engine->placement.queue.waiting);
    free(engine->placement.namespace_waiters.list);
    placement_drop_rules(engine);
    begin_list(&engine->placement.namespaces);
    (void)drop_unseen(&engine->placement.namespaces);
    map_free(&engine->placement.namespaces.map);
}

static void on_event(struct engine *engine, struct engine_event *event) {
    if (event->type == EVENT_LISTED)
        placement_queue_retry(engine); // the counts are higher
    else if (event->cluster == ENGINE_MANAGEMENT)
        on_labels(engine, event);
    else
        retry_namespace(engine, event->cluster, event->namespace_.name);
}

static int64_t due_ns(struct engine *engine) {
    return clock_earlier(queue_wake_ns(engine), engine->placement.namespaces.due_ns);
}

static void stand_by(struct engine *engine, struct entry *entry) {
    placement_queue_note(engine, entry, PLACEMENT_TURN_NONE);
}

static void facts(const struct engine *engine, const struct entry *entry, struct decide_facts *facts) {
    facts->namespaces = engine->settings.namespaces;
    facts->namespace_ = facts_namespace(engine, entry);
    facts->origin = engine->origin;
    facts->wait_when_lost = facts_worker_is_lost(engine, entry) && placement_waits_when_lost(engine, entry);
}

static void seen(struct engine *engine, struct entry *entry, const struct json *object, bool had) {
    (void)engine;
    (void)had;
    entry->workload->placement.has_placement_annotations =
        object_annotation(object, MARK_CLUSTER_NAMES) || object_annotation(object, MARK_CLUSTER_SELECTOR);
}

static void forget_scores(struct engine *engine, struct entry *entry) {
    (void)engine;
    free(scoring_take_text(entry));
}

struct namespaces_subject facts_namespace(const struct engine *engine, const struct entry *entry) {
    struct namespaces_subject subject = {.name = entry->key, .len = entry->name_at - 1U};
    subject.labels_known = namespace_labels_of(engine, entry, &subject.labels);
    return subject;
}

const struct part part_placement = {.name = "placement",
                                    .begin = begin,
                                    .end = end,
                                    .events = PART_EVENT(EVENT_LISTED) | PART_EVENT(EVENT_NAMESPACE),
                                    .event = on_event,
                                    .tick = tick,
                                    .turn = next_in_queue,
                                    .due_ns = due_ns,
                                    .stand_by = stand_by,
                                    .facts = facts,
                                    .workload_ends = forget_scores,
                                    .entry_ends = forget,
                                    .seen = seen};
