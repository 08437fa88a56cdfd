// SPDX-License-Identifier: Apache-2.0
// The Workloads of a cluster's Kueue, posted to the engine (EVENT_QUEUED) for the workloads and mirrors of this host.
// The watch begins with the first queued object. The next step posts the state of an object, so after the event of the
// object.
#include "core/base/log.h"
#include "core/base/map.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/engine/kueue/kueue_object.h"
#include "core/host/watchers/watcher.h"
#include "core/json/pointer.h"

#include <stdio.h>

#define UNMATCHED_MAX 1024       // Workloads whose object was not seen yet
#define KEY_MAX (64 + 40)        // namespace/uid
#define NAME_BYTES ((size_t)253) // of a name or uid; the API server permits no longer ones

struct known_state {          // of an object, one block, see struct_copy_with_texts
    const char *name;         // of the object; "" until the object is seen
    struct kueue_state state; // of its Workload
};

struct item { // of one object
    struct known_state *known;
    size_t kind; // of the object, once seen
    struct item *next_due;
    struct item *older, *newer; // unmatched
    bool seen;                  // the object was seen; otherwise the item is unmatched
    bool due, posted;
    unsigned list;  // of the object's kind: the last list that contained the object, or the list before its watch event
    unsigned epoch; // the same of its Workload
    size_t kept;    // counted in the budget
    char key[KEY_MAX];
};

struct kueue_workloads {
    struct watcher_base base;
    struct budget *budget; // NULL: of the management cluster, which is trusted
    bool over_reported;

    struct map items; // by namespace and uid of the object: a Workload describes objects of its own namespace alone
    unsigned *lists;  // of the kinds
    size_t n_lists;   // capacity
    struct item *due;
    struct item *oldest, *newest; // unmatched
    size_t n_unmatched;
    const char *version; // served
    unsigned epoch;
    bool begun;
};

static const char *const versions[] = {"v1beta2", "v1beta1", NULL};

static void unlink_unmatched(struct kueue_workloads *workloads, struct item *item) {
    *(item->older ? &item->older->newer : &workloads->oldest) = item->newer;
    *(item->newer ? &item->newer->older : &workloads->newest) = item->older;
    item->older = item->newer = NULL;
    workloads->n_unmatched--;
}

static void link_unmatched(struct kueue_workloads *workloads, struct item *item) {
    item->older = workloads->newest;
    *(item->older ? &item->older->newer : &workloads->oldest) = item;
    workloads->newest = item;
    workloads->n_unmatched++;
}

// Counts the memory that the item needs with `known`. False: over the memory budget of the worker.
static bool count_memory(struct kueue_workloads *workloads, struct item *item, const struct known_state *known) {
    size_t bytes = sizeof *item + 2 * sizeof(struct map_slot) + sizeof *known + strlen(known->name) +
                   struct_texts_size(&known->state, KUEUE_STATE_TEXTS);
    if (budget_keep(workloads->budget, item->kept, bytes)) {
        item->kept = bytes;
        return true;
    }
    if (!workloads->over_reported)
        log_fields(
            LOG_WARN,
            "the worker's Kueue Workloads exceed its memory budget: reasons why further workloads are queued are "
            "unknown; raise memory.perCluster",
            {"cluster", workloads->base.scope->name});
    workloads->over_reported = true;
    return false;
}

static void free_item(struct kueue_workloads *workloads, struct item *item) {
    (void)budget_keep(workloads->budget, item->kept, 0);
    free(item->known);
    free(item);
}

static void remove_item(struct kueue_workloads *workloads, struct item *item) {
    struct item **at = &workloads->due;
    while (item->due && *at != item)
        at = &(*at)->next_due;
    if (item->due)
        *at = item->next_due;
    if (!item->seen)
        unlink_unmatched(workloads, item);
    map_remove(&workloads->items, item->key);
    free_item(workloads, item);
}

// Writes the key of the object with this uid in the namespace of `object`; "": there cannot be one.
static struct item *find_item(const struct kueue_workloads *workloads, const struct json *object, const char *uid,
                              char key[KEY_MAX]) {
    if (!*uid || snprintf(key, KEY_MAX, "%s/%s", object_namespace(object), uid) >= KEY_MAX)
        *key = '\0';
    return map_get(&workloads->items, key);
}

// Gives the item of this key, which is made if there is none, the object's name and a copy of the state. NULL: out of
// memory or over the budget; a former item stays.
static struct item *put_item(struct kueue_workloads *workloads, const char *key, const char *name,
                             const struct kueue_state *state) {
    struct item *former = map_get(&workloads->items, key), *item = former ? former : calloc(1, sizeof *item);
    if (!item)
        return NULL;
    const struct known_state wanted = {name, *state};
    struct known_state *known = struct_copy_with_texts(&wanted, sizeof wanted, 1 + KUEUE_STATE_TEXTS);
    bool kept = known && count_memory(workloads, item, known);
    if (!former)
        text_copy(item->key, sizeof item->key, key);
    if (kept && (former || map_put(&workloads->items, item->key, item))) {
        free(item->known);
        item->known = known;
        return item;
    }
    free(known);
    if (!former)
        free_item(workloads, item);
    return NULL;
}

// The watch no longer shows the object: the object was deleted, or has lost the label of the selector. When the label
// returns, no watch shows the Workload again.
static void leave_item(struct kueue_workloads *workloads, struct item *item) {
    if (!item->seen || item->known->state.phase == KUEUE_GONE) {
        remove_item(workloads, item);
        return;
    }
    item->seen = item->posted = false;
    link_unmatched(workloads, item);
}

static void set_due(struct kueue_workloads *workloads, struct item *item) {
    if (item->due || !item->seen)
        return;
    item->due = true;
    item->next_due = workloads->due;
    workloads->due = item;
}

// Keeps a copy of the Workload's state; an unmatched state is posted after its object is seen.
static void set_state(struct kueue_workloads *workloads, const char *key, const struct kueue_state *state) {
    struct item *former = map_get(&workloads->items, key);
    if (former)
        former->epoch = workloads->epoch;
    struct item *item = put_item(workloads, key, former ? former->known->name : "", state);
    if (!item)
        return;
    item->epoch = workloads->epoch;
    item->posted = false;
    set_due(workloads, item);
    if (!former)
        link_unmatched(workloads, item);
    while (workloads->n_unmatched > UNMATCHED_MAX)
        remove_item(workloads, workloads->oldest);
}

static struct kueue_state no_workload(void) {
    struct kueue_state none;
    kueue_state_read(NULL, "", &none);
    none.phase = KUEUE_GONE;
    return none;
}

// The object of a Workload, or one that may get a Workload.
static struct item *match_object(struct kueue_workloads *workloads, const char *key, size_t kind,
                                 const struct json *object) {
    struct item *former = map_get(&workloads->items, key);
    struct kueue_state none = no_workload();
    struct item *item = put_item(workloads, key, object_name(object), former ? &former->known->state : &none);
    if (!item)
        return NULL;
    if (former)
        unlink_unmatched(workloads, item);
    item->kind = kind;
    item->seen = true;
    item->posted = !former;
    return item;
}

static void see_object(struct kueue_workloads *workloads, size_t kind, const struct json *object) {
    char key[KEY_MAX];
    struct item *item = find_item(workloads, object, object_uid(object), key);
    bool queued = object_label(object, KUEUE_QUEUE_NAME);
    if ((!item && !queued) || !*key)
        return;
    workloads->begun |= queued;
    if (!item || !item->seen)
        item = match_object(workloads, key, kind, object);
    if (!item)
        return;
    item->list = kind < workloads->n_lists ? workloads->lists[kind] : 0;
    if (!item->posted)
        set_due(workloads, item);
}

static void begin_list(struct kueue_workloads *workloads, size_t kind) {
    if (array_reserve(&workloads->lists, &workloads->n_lists, kind + 1, sizeof *workloads->lists))
        workloads->lists[kind]++;
}

static void end_list(struct kueue_workloads *workloads, size_t kind) {
    size_t cursor = 0;
    for (struct item *item; (item = map_next(&workloads->items, &cursor));)
        if (item->seen && item->kind == kind && kind < workloads->n_lists && item->list != workloads->lists[kind])
            leave_item(workloads, item);
}

static void begin_workloads(struct kueue_workloads *workloads, const char *version) {
    for (size_t i = 0; versions[i]; i++)
        if (text_equal(versions[i], version))
            workloads->version = versions[i];
    workloads->epoch++;
}

static bool is_named(const struct json *workload) {
    const char *queue = json_string_or(json_path(workload, "spec", "queueName", NULL), "");
    return text_is_within(object_name(workload), NAME_BYTES) && text_is_within(object_uid(workload), NAME_BYTES) &&
           text_is_within(queue, NAME_BYTES);
}

static void see_workload(struct kueue_workloads *workloads, const struct json *workload) {
    const char *owner = kueue_state_owner(workload);
    struct kueue_state state;
    char key[KEY_MAX];
    (void)find_item(workloads, workload, owner, key);
    if (!is_named(workload) || !*key)
        return;
    kueue_state_read(workload, workloads->version ? workloads->version : versions[0], &state);
    set_state(workloads, key, &state);
}

static void set_gone(struct kueue_workloads *workloads, struct item *item) {
    struct kueue_state none = no_workload();
    if (item->seen)
        set_state(workloads, item->key, &none);
    else
        remove_item(workloads, item);
}

// An older Workload of the object does not count: Kueue recreates Workloads.
static void remove_workload(struct kueue_workloads *workloads, const struct json *workload) {
    char key[KEY_MAX];
    struct item *item = find_item(workloads, workload, kueue_state_owner(workload), key);
    if (item && text_equal(item->known->state.uid, object_uid(workload)))
        set_gone(workloads, item);
}

static void end_workloads(struct kueue_workloads *workloads) {
    size_t cursor = 0;
    for (struct item *item; (item = map_next(&workloads->items, &cursor));)
        if (item->known->state.phase != KUEUE_GONE && item->epoch != workloads->epoch)
            set_gone(workloads, item);
}

static void handle_workload(void *state, const struct cluster_notice *notice) {
    struct kueue_workloads *workloads = state;
    if (notice->type == NOTICE_LISTING)
        begin_workloads(workloads, notice->version);
    else if (notice->type == NOTICE_SEEN)
        see_workload(workloads, notice->object->value);
    else if (notice->type == NOTICE_GONE)
        remove_workload(workloads, notice->object->value);
    else if (notice->type == NOTICE_LISTED)
        end_workloads(workloads);
    else if (notice->type == NOTICE_REFUSED)
        log_fields(
            LOG_WARN,
            "the cluster does not let the host watch Kueue's Workloads: the reasons why workloads are queued there are "
            "unknown; grant list and watch of workloads.kueue.x-k8s.io",
            {"cluster", workloads->base.scope->name}, {"error", notice->problem});
}

static struct error *start(const struct cluster_scope *scope, void *state) {
    struct kueue_workloads *workloads = state;
    workloads->budget = scope->cluster == ENGINE_MANAGEMENT ? NULL : scope->budget;
    map_init(&workloads->items, scope->seed);
    return NULL;
}

static void stop(void *state) {
    struct kueue_workloads *workloads = state;
    size_t cursor = 0;
    for (struct item *item; (item = map_next(&workloads->items, &cursor));)
        free_item(workloads, item);
    map_free(&workloads->items);
    free(workloads->lists);
}

static void post_due(struct kueue_workloads *workloads) {
    while (workloads->due) {
        struct item *item = workloads->due;
        workloads->due = item->next_due;
        item->due = false;
        if (!item->seen)
            continue;
        item->posted = true;
        const char *uid = strrchr(item->key, '/') + 1;
        char namespace_[KEY_MAX];
        text_copy(namespace_, (size_t)(uid - item->key), item->key);
        cluster_post(workloads->base.scope, &(struct engine_event){.type = EVENT_QUEUED,
                                                                   .kind = item->kind,
                                                                   .queued = {.namespace_ = namespace_,
                                                                              .name = item->known->name,
                                                                              .uid = uid,
                                                                              .state = &item->known->state}});
    }
}

static int64_t step(void *state, struct moment now) {
    struct kueue_workloads *workloads = state;
    int64_t next_ns = watcher_tick_watches(&workloads->base, workloads->begun, now);
    post_due(workloads);
    return next_ns;
}

// A worker has nothing but mirrors of this host.
static bool is_delegated(const struct cluster_scope *scope, size_t k, const struct json *object) {
    if (scope->cluster != ENGINE_MANAGEMENT)
        return true;
    const struct kind *kind = scope->settings.kinds[k];
    return text_equal(json_string(pointer_find(object, kind->abi.managed_by)), kind->managed_by);
}

static void lose_object(struct kueue_workloads *workloads, const struct json *object) {
    char key[KEY_MAX];
    struct item *item = find_item(workloads, object, object_uid(object), key);
    if (item)
        leave_item(workloads, item);
}

static void handle_object(void *state, const struct cluster_notice *notice) {
    struct kueue_workloads *workloads = state;
    const struct json *object = notice->object ? notice->object->value : NULL;
    if (notice->type == NOTICE_LISTING)
        begin_list(workloads, notice->kind);
    else if (notice->type == NOTICE_SEEN && is_delegated(workloads->base.scope, notice->kind, object))
        see_object(workloads, notice->kind, object);
    else if (notice->type == NOTICE_GONE)
        lose_object(workloads, object);
    else if (notice->type == NOTICE_LISTED)
        end_list(workloads, notice->kind);
}

static void handle(void *state, const struct cluster_notice *notice) {
    (notice->own ? handle_workload : handle_object)(state, notice);
}

const struct watcher kueue_watcher = {
    .of_management = true,
    .of_workers = true,
    .size = sizeof(struct kueue_workloads),
    .watches = {{.group = "kueue.x-k8s.io", .plural = "workloads", .versions = versions}},
    .of_kinds = true,
    .handle = handle,
    .start = start,
    .step = step,
    .stop = stop};
