// SPDX-License-Identifier: Apache-2.0
// The free capacity of one worker: lists and watches the worker's nodes and unfinished pods, pruned by the parser,
// keeps only sums (node_table.h), and posts a view at most twice a second. When the worker refuses the watch, or the
// watch is lost, the post says so instead.
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/host/watchers/node_table.h"
#include "core/host/watchers/object_watch.h"
#include "core/host/watchers/watcher.h"

#include <stdlib.h>
#include <string.h>

#define POST_NS (500 * CLOCK_MS) // between two views
// Delay before nodes and pods that exceeded the memory budget are listed again, doubled each time.
#define OVER_FIRST_NS CLOCK_MINUTE
#define OVER_LAST_NS (30 * CLOCK_MINUTE)

enum part { PART_NODES, PART_PODS, PARTS };

static const struct part_row {
    const char *plural;
    const char *const *only;
    const char *field_selector;
    void (*list)(struct node_table *table);
    bool (*put)(struct node_table *table, const struct json *object);
    void (*remove)(struct node_table *table, const struct json *object);
    void (*listed)(struct node_table *table);
} rows[PARTS] = {[PART_NODES] = {"nodes", node_table_of_nodes, NULL, node_table_list_nodes, node_table_node,
                                 node_table_node_gone, node_table_nodes_listed},
                 [PART_PODS] = {"pods", node_table_of_pods, "status.phase!=Succeeded,status.phase!=Failed",
                                node_table_list_pods, node_table_pod, node_table_pod_gone, node_table_pods_listed}};

struct part_watch {
    struct capacity_watch *watch;
    enum part part;
    struct object_watch objects;
    bool lost;   // or absent, and not connected since
    bool listed; // at least once since the watch was opened
    bool held;   // closed until the other watch is permitted
    bool relist; // an object was lost for lack of memory
};

struct capacity_watch {
    const struct cluster_scope *scope;
    struct part_watch parts[PARTS];
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

static struct part_watch *other_part(const struct part_watch *part) {
    return &part->watch->parts[part->part == PART_NODES ? PART_PODS : PART_NODES];
}

static void on_listing(void *ctx, const char *version) {
    struct part_watch *part = ctx;
    (void)version;
    rows[part->part].list(part->watch->table);
}

// Counts the table and the engine's view in the budget.
static void count_kept(struct capacity_watch *watch) {
    struct node_table_size size = node_table_size(watch->table);
    size_t bytes = size.bytes + 2 * size.view;
    watch->over = !budget_keep(watch->scope->budget, watch->kept, bytes);
    if (!watch->over)
        watch->kept = bytes;
}

static void on_seen(void *ctx, struct object *object) {
    struct part_watch *part = ctx;
    if (part->watch->over)
        return;
    if (!rows[part->part].put(part->watch->table, object->value))
        part->relist = true;
    count_kept(part->watch);
}

static void on_gone(void *ctx, struct object *object) {
    struct part_watch *part = ctx;
    rows[part->part].remove(part->watch->table, object->value);
}

static void on_listed(void *ctx, bool restored) {
    struct part_watch *part = ctx;
    (void)restored;
    part->listed = true;
    rows[part->part].listed(part->watch->table);
}

static void on_state(void *ctx, enum reflector_state state, const char *problem) {
    struct part_watch *part = ctx;
    struct capacity_watch *watch = part->watch;
    if (state == REFLECTOR_CONNECTED) {
        part->lost = false;
        struct part_watch *other = other_part(part);
        if (other->held)
            object_watch_close(&other->objects, 0); // opens the watch
        other->held = false;
    } else if (state == REFLECTOR_STARTING) // closed
        part->listed = false;
    if (state == REFLECTOR_CONNECTED || state == REFLECTOR_STARTING)
        return;
    part->lost = true;
    AUTO_TEXT why = text_format("%s: %s", rows[part->part].plural, problem ? problem : "lost");
    text_copy(watch->problem, sizeof watch->problem, why ? why : "lost");
}

static void post_state(struct capacity_watch *watch, enum capacity_state state, struct nodes *nodes) {
    watch->posted = state;
    struct engine_event event = {
        .type = EVENT_CAPACITY,
        .capacity = {state, state == CAPACITY_STALE || state == CAPACITY_UNKNOWN ? watch->problem : NULL, nodes}};
    cluster_post(watch->scope, &event);
    nodes_free(event.capacity.nodes); // which was not taken
}

static void warn(struct capacity_watch *watch, const char *text) {
    if (!watch->warned)
        log_fields(LOG_WARN, text, {"cluster", watch->scope->name}, {"error", watch->problem});
    watch->warned = true;
}

// Nodes alone, or pods alone, give no free capacity.
static void on_refused(void *ctx, const char *problem) {
    const struct part_watch *part = ctx;
    struct capacity_watch *watch = part->watch;
    (void)problem;
    other_part(part)->held = true;
    object_watch_close(&other_part(part)->objects, CLOCK_NEVER);
    for (int p = 0; p < PARTS; p++)
        watch->parts[p].lost = false;
    warn(watch, "the worker does not permit the host to watch its nodes and pods, so its free capacity is unknown, and "
                "nothing that requests pods is placed there; run \"wharf join\" again to grant list and watch of both, "
                "or set capacity: false for the worker");
    if (watch->posted != CAPACITY_UNKNOWN)
        post_state(watch, CAPACITY_UNKNOWN, NULL);
}

static void init_part(struct capacity_watch *watch, enum part part) {
    struct part_watch *of = &watch->parts[part];
    *of = (struct part_watch){.watch = watch, .part = part};
    struct reflector_options options = cluster_watch_options(watch->scope, rows[part].plural);
    options.cluster_scoped = part == PART_NODES;
    options.field_selector = rows[part].field_selector;
    options.only = rows[part].only;
    options.probe = watch->scope->probe;
    object_watch_init(&of->objects, &options, watch->scope->transport,
                      &(struct object_watch_handler){on_listing, on_seen, on_gone, on_listed, on_state, on_refused, of},
                      true);
}

static struct error *start(const struct cluster_scope *scope, void **state) {
    struct capacity_watch *watch = calloc(1, sizeof *watch);
    struct node_table *table = node_table_new(scope->seed);
    if (!watch || !table) {
        free(watch);
        node_table_free(table);
        return error_no_memory();
    }
    *watch = (struct capacity_watch){.scope = scope, .table = table};
    for (int p = 0; p < PARTS; p++)
        init_part(watch, (enum part)p);
    post_state(watch, CAPACITY_READING, NULL);
    *state = watch;
    return NULL;
}

static void stop(void *state) {
    struct capacity_watch *watch = state;
    for (int p = 0; p < PARTS; p++)
        object_watch_clear(&watch->parts[p].objects);
    node_table_free(watch->table);
    (void)budget_keep(watch->scope->budget, watch->kept, 0);
    free(watch);
}

// The worker has more nodes and pods than the budget allows. Both watches are tried again, after growing delays.
static void give_up(struct capacity_watch *watch, int64_t now_ns) {
    struct budget *budget = watch->scope->budget;
    struct node_table *empty = node_table_new(watch->scope->seed);
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
    for (int p = 0; p < PARTS; p++) {
        object_watch_close(&watch->parts[p].objects, watch->open_ns);
        watch->parts[p].lost = watch->parts[p].held = watch->parts[p].relist = false;
    }
    snprintf(watch->problem, sizeof watch->problem,
             "its nodes and pods exceed %zu bytes, a quarter of memory.perCluster (%zu nodes and %zu pods were listed)",
             budget->max_kept, size.nodes, size.pods);
    warn(watch, "the worker has too many nodes and pods, so free capacity is unknown, and nothing that requests "
                "pods is placed there; raise memory.perCluster, or set capacity: false for the worker");
    post_state(watch, CAPACITY_UNKNOWN, NULL);
}

static void keep_within_budget(struct capacity_watch *watch, int64_t now_ns) {
    if (watch->over)
        give_up(watch, now_ns);
    if (now_ns >= watch->open_ns || watch->scope->budget->max_kept <= watch->over_max)
        return;
    watch->open_ns = now_ns; // the budget was raised
    for (int p = 0; p < PARTS; p++)
        object_watch_close(&watch->parts[p].objects, now_ns);
}

static void relist_lost(struct capacity_watch *watch) {
    for (int p = 0; p < PARTS; p++)
        if (watch->parts[p].relist && watch->parts[p].listed) {
            watch->parts[p].relist = false;
            object_watch_relist(&watch->parts[p].objects);
        }
}

static bool is_current(const struct capacity_watch *watch) {
    for (int p = 0; p < PARTS; p++) {
        const struct part_watch *part = &watch->parts[p];
        if (!part->listed || part->objects.state != REFLECTOR_CONNECTED || part->relist)
            return false;
    }
    return true;
}

static bool is_lost(const struct capacity_watch *watch) {
    for (int p = 0; p < PARTS; p++)
        if (watch->parts[p].lost)
            return true;
    return false;
}

// Posts the changes that are due. Returns the time of the next call needed.
static int64_t post_view(struct capacity_watch *watch, struct moment now) {
    if (is_lost(watch) && (watch->posted == CAPACITY_KNOWN || watch->posted == CAPACITY_READING)) {
        warn(watch, "the watch of the worker's nodes and pods is lost: its free capacity is unknown");
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

static void notice(void *state, const struct cluster_notice *notice) {
    struct capacity_watch *watch = state;
    for (int p = 0; notice->type == NOTICE_REACHED && p < PARTS; p++)
        object_watch_hurry(&watch->parts[p].objects);
    if (notice->type == NOTICE_UNWANTED)
        post_state(watch, CAPACITY_OFF, NULL);
}

static int64_t step(void *state, struct moment now) {
    struct capacity_watch *watch = state;
    keep_within_budget(watch, now.mono_ns);
    relist_lost(watch);
    int64_t next_ns[PARTS];
    for (int p = 0; p < PARTS; p++)
        next_ns[p] = object_watch_tick(&watch->parts[p].objects, true, now);
    if (watch->over)
        return now.mono_ns;
    return clock_earlier(clock_earlier(next_ns[PART_NODES], next_ns[PART_PODS]), post_view(watch, now));
}

static bool is_wanted(const struct cluster_io_settings *settings) {
    return settings->capacity;
}

const struct watcher capacity_watcher = {
    .of_workers = true, .wanted = is_wanted, .start = start, .step = step, .notice = notice, .stop = stop};
