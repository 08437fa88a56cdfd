// SPDX-License-Identifier: Apache-2.0
// The free capacity of one worker: lists and watches the worker's nodes and unfinished pods, pruned by the parser,
// keeps only sums (node_table.h), and posts a view at most twice a second. When the worker refuses the watch, or the
// watch is lost, the post says so instead.
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/host/watchers/node_table.h"
#include "core/host/watchers/watcher.h"

#define POST_NS (500 * CLOCK_MS) // between two views
// Delay before nodes and pods that exceeded the memory budget are listed again, doubled each time.
#define OVER_FIRST_NS CLOCK_MINUTE
#define OVER_LAST_NS (30 * CLOCK_MINUTE)

struct part_state {
    bool listed; // at least once since the watch was opened
    bool relist; // an object was lost for lack of memory
};

struct capacity_watch {
    struct watcher_base base;
    struct part_state parts[NODE_TABLE_PARTS];
    struct node_table *table;
    enum capacity_state posted;
    char problem[256]; // why the capacity is unknown
    bool warned;
    size_t kept;     // counted in the budget: the table and the engine's view
    bool over;       // the table exceeds the budget: objects are ignored until the next tick
    int64_t over_ns; // the last delay; 0: never over the budget
    int64_t open_ns; // when the watch opens again
    size_t over_max; // the budget's maximum then
    int64_t post_ns;
};

// Counts the table and the engine's view in the budget.
static void count_kept(struct capacity_watch *watch) {
    struct node_table_size size = node_table_size(watch->table);
    size_t bytes = size.bytes + 2 * size.view;
    watch->over = !budget_keep(watch->base.scope->budget, watch->kept, bytes);
    if (!watch->over)
        watch->kept = bytes;
}

static void see_object(struct capacity_watch *watch, size_t part, const struct json *object) {
    if (watch->over)
        return;
    if (!node_table_put(watch->table, part, object))
        watch->parts[part].relist = true;
    count_kept(watch);
}

static void note_state(struct capacity_watch *watch, size_t part, enum reflector_state state, const char *problem) {
    struct object_watch *other = &watch->base.watches[!part];
    watch->parts[part].listed &= state != REFLECTOR_STARTING; // closed
    if (state == REFLECTOR_CONNECTED && other->open_ns == CLOCK_NEVER)
        object_watch_close(other, 0); // opens the watch
    if (state == REFLECTOR_CONNECTED || state == REFLECTOR_STARTING)
        return;
    AUTO_TEXT why = text_format("%s: %s", watch->base.watches[part].options.plural, problem ? problem : "lost");
    text_copy(watch->problem, sizeof watch->problem, why ? why : "lost");
}

static void post_state(struct capacity_watch *watch, enum capacity_state state, struct nodes *nodes) {
    watch->posted = state;
    struct engine_event event = {
        .type = EVENT_CAPACITY,
        .capacity = {state, state == CAPACITY_STALE || state == CAPACITY_UNKNOWN ? watch->problem : NULL, nodes}};
    cluster_post(watch->base.scope, &event);
    nodes_free(event.capacity.nodes); // which was not taken
}

static void warn_once(struct capacity_watch *watch, const char *text) {
    if (!watch->warned)
        log_fields(LOG_WARN, text, {"cluster", watch->base.scope->name}, {"error", watch->problem});
    watch->warned = true;
}

// Nodes alone, or pods alone, give no free capacity: the other watch is closed until this one is permitted.
static void handle_refusal(struct capacity_watch *watch, size_t part) {
    object_watch_close(&watch->base.watches[!part], CLOCK_NEVER);
    warn_once(watch,
              "the worker does not permit the host to watch its nodes and pods, so its free capacity is unknown, and "
              "nothing that requests pods is placed there; run \"wharf join\" again to grant list and watch of both, "
              "or set capacity: false for the worker");
    if (watch->posted != CAPACITY_UNKNOWN)
        post_state(watch, CAPACITY_UNKNOWN, NULL);
}

static void handle(void *state, const struct cluster_notice *notice) {
    struct capacity_watch *watch = state;
    if (notice->type == NOTICE_LISTING)
        node_table_list(watch->table, notice->kind);
    else if (notice->type == NOTICE_SEEN)
        see_object(watch, notice->kind, notice->object->value);
    else if (notice->type == NOTICE_GONE)
        node_table_remove(watch->table, notice->kind, notice->object->value);
    else if (notice->type == NOTICE_LISTED) {
        watch->parts[notice->kind].listed = true;
        node_table_listed(watch->table, notice->kind);
    } else if (notice->type == NOTICE_STATE)
        note_state(watch, notice->kind, notice->state, notice->problem);
    else if (notice->type == NOTICE_REFUSED)
        handle_refusal(watch, notice->kind);
    else if (notice->type == NOTICE_REACHED) {
        object_watch_hurry(&watch->base.watches[TABLE_NODES]);
        object_watch_hurry(&watch->base.watches[TABLE_PODS]);
    } else if (notice->type == NOTICE_UNWANTED)
        post_state(watch, CAPACITY_OFF, NULL);
}

static struct error *start(const struct cluster_scope *scope, void *state) {
    struct capacity_watch *watch = state;
    watch->table = node_table_new(scope->seed);
    if (!watch->table)
        return error_no_memory();
    for (int p = 0; p < NODE_TABLE_PARTS; p++)
        watch->base.watches[p].options.probe = scope->probe;
    post_state(watch, CAPACITY_READING, NULL);
    return NULL;
}

static void stop(void *state) {
    struct capacity_watch *watch = state;
    node_table_free(watch->table);
    (void)budget_keep(watch->base.scope->budget, watch->kept, 0);
}

// The worker has more nodes and pods than the budget allows. Both watches are tried again, after growing delays.
static void give_up(struct capacity_watch *watch, int64_t now_ns) {
    struct budget *budget = watch->base.scope->budget;
    struct node_table *empty = node_table_new(watch->base.scope->seed);
    if (!empty)
        return;
    struct node_table_size size = node_table_size(watch->table);
    node_table_free(watch->table);
    watch->table = empty;
    (void)budget_keep(budget, watch->kept, 0);
    watch->kept = 0;
    watch->over = false;
    watch->over_max = budget->max_kept;
    bool again = watch->over_ns > 0 && now_ns - watch->open_ns < OVER_LAST_NS;
    watch->over_ns = again ? clock_earlier(2 * watch->over_ns, OVER_LAST_NS) : OVER_FIRST_NS;
    watch->open_ns = now_ns + watch->over_ns;
    watch->warned = watch->warned && again;
    for (int p = 0; p < NODE_TABLE_PARTS; p++) {
        object_watch_close(&watch->base.watches[p], watch->open_ns);
        watch->parts[p].relist = false;
    }
    snprintf(watch->problem, sizeof watch->problem,
             "its nodes and pods exceed %zu bytes, a quarter of memory.perCluster (%zu nodes and %zu pods were listed)",
             budget->max_kept, size.nodes, size.pods);
    warn_once(watch, "the worker has too many nodes and pods, so free capacity is unknown, and nothing that requests "
                     "pods is placed there; raise memory.perCluster, or set capacity: false for the worker");
    post_state(watch, CAPACITY_UNKNOWN, NULL);
}

static void keep_within_budget(struct capacity_watch *watch, int64_t now_ns) {
    if (watch->over)
        give_up(watch, now_ns);
    if (now_ns >= watch->open_ns || watch->base.scope->budget->max_kept <= watch->over_max)
        return;
    watch->open_ns = now_ns; // the budget was raised
    for (int p = 0; p < NODE_TABLE_PARTS; p++)
        object_watch_close(&watch->base.watches[p], now_ns);
}

static void relist_lost(struct capacity_watch *watch) {
    for (int p = 0; p < NODE_TABLE_PARTS; p++)
        if (watch->parts[p].relist && watch->parts[p].listed) {
            watch->parts[p].relist = false;
            object_watch_relist(&watch->base.watches[p]);
        }
}

static bool is_lost(const struct object_watch *watch) {
    return watch->state == REFLECTOR_LOST || watch->state == REFLECTOR_ABSENT;
}

static bool is_current(const struct capacity_watch *watch) {
    for (int p = 0; p < NODE_TABLE_PARTS; p++) {
        const struct part_state *part = &watch->parts[p];
        if (!part->listed || part->relist || watch->base.watches[p].state != REFLECTOR_CONNECTED)
            return false;
    }
    return true;
}

// Posts the changes that are due. Returns the time of the next call needed.
static int64_t post_view(struct capacity_watch *watch, struct moment now) {
    bool lost = is_lost(&watch->base.watches[TABLE_NODES]) || is_lost(&watch->base.watches[TABLE_PODS]);
    if (lost && (watch->posted == CAPACITY_KNOWN || watch->posted == CAPACITY_READING)) {
        warn_once(watch, "the watch of the worker's nodes and pods is lost: its free capacity is unknown");
        post_state(watch, CAPACITY_STALE, NULL);
    }
    if (!is_current(watch))
        return CLOCK_NEVER;
    if (now.mono_ns < watch->post_ns)
        return watch->post_ns;
    bool changed = node_table_take_changed(watch->table);
    if (!changed && watch->posted == CAPACITY_KNOWN)
        return CLOCK_NEVER;
    watch->post_ns = now.mono_ns + POST_NS;
    watch->warned = false;
    struct nodes *view = node_table_view(watch->table);
    if (view)
        post_state(watch, CAPACITY_KNOWN, view);
    return view ? CLOCK_NEVER : watch->post_ns;
}

static int64_t step(void *state, struct moment now) {
    struct capacity_watch *watch = state;
    keep_within_budget(watch, now.mono_ns);
    relist_lost(watch);
    int64_t next_ns = watcher_tick_watches(&watch->base, true, now);
    return watch->over ? now.mono_ns : clock_earlier(next_ns, post_view(watch, now));
}

static bool is_wanted(const struct cluster_io_settings *settings) {
    return settings->capacity;
}

const struct watcher capacity_watcher = {
    .of_workers = true,
    .wanted = is_wanted,
    .size = sizeof(struct capacity_watch),
    .watches = {[TABLE_NODES] = {.plural = "nodes", .cluster_scoped = true, .only = node_table_of_nodes},
                [TABLE_PODS] = {.plural = "pods",
                                .only = node_table_of_pods,
                                .field_selector = "status.phase!=Succeeded,status.phase!=Failed"}},
    .persistent = true,
    .handle = handle,
    .start = start,
    .step = step,
    .stop = stop};
