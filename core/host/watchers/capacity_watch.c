// SPDX-License-Identifier: Apache-2.0
#include "core/host/watchers/capacity_watch.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/host/watchers/node_table.h"
#include "core/host/watchers/optional_watch.h"

#include <stdlib.h>
#include <string.h>

#define POST_NS (500 * CLOCK_MS) // between two views
// Until nodes and pods that exceeded the memory budget are listed again, doubled each time.
#define OVER_FIRST_NS CLOCK_MINUTE
#define OVER_LAST_NS (30 * CLOCK_MINUTE)

enum part { PART_NODES, PART_PODS, PARTS };

struct part_watch {
    struct capacity_watch *watch;
    enum part part;
    struct optional_watch *optional;
    enum reflector_state state;
    bool lost;   // or absent, and not connected since
    bool listed; // at least once, since it was opened
    bool held;   // closed until the other one is permitted
};

struct capacity_watch {
    char *cluster;
    struct capacity_watch_options options;
    struct part_watch parts[PARTS];
    struct node_table *table;
    enum capacity_state told;
    char problem[256]; // why it is not known
    bool warned;
    bool relist[PARTS]; // an object was lost for lack of memory
    size_t kept;        // counted in the budget: the table, and what the engine has of it
    bool over;          // that exceeds the budget: what comes is ignored, until the next tick
    int64_t over_ns;    // the last delay; 0: it never did
    int64_t open_ns;    // since when it is open again
    size_t over_max;    // the budget's maximum then
    int64_t post_ns;
};

static struct part_watch *other_part(const struct part_watch *part) {
    return &part->watch->parts[part->part == PART_NODES ? PART_PODS : PART_NODES];
}

static void on_listing(void *ctx, const char *version) {
    struct part_watch *part = ctx;
    (void)version;
    (part->part == PART_NODES ? node_table_list_nodes : node_table_list_pods)(part->watch->table);
}

// The engine has a view, and what it takes off that.
static void count_kept(struct capacity_watch *watch) {
    struct node_table_size size = node_table_size(watch->table);
    size_t bytes = size.bytes + 2 * size.view;
    watch->over = !budget_keep(watch->options.budget, watch->kept, bytes);
    if (!watch->over)
        watch->kept = bytes;
}

static void on_seen(void *ctx, struct object *object) {
    struct part_watch *part = ctx;
    struct capacity_watch *watch = part->watch;
    if (!watch->over) {
        if (!(part->part == PART_NODES ? node_table_node : node_table_pod)(watch->table, object->value))
            watch->relist[part->part] = true;
        count_kept(watch);
    }
    object_free(object);
}

static void on_gone(void *ctx, struct object *object) {
    struct part_watch *part = ctx;
    (part->part == PART_NODES ? node_table_node_gone : node_table_pod_gone)(part->watch->table, object->value);
    object_free(object);
}

static void on_listed(void *ctx, const char *version) {
    struct part_watch *part = ctx;
    (void)version;
    part->listed = true;
    (part->part == PART_NODES ? node_table_nodes_listed : node_table_pods_listed)(part->watch->table);
}

static void on_state(void *ctx, enum reflector_state state, const char *problem) {
    struct part_watch *part = ctx;
    struct capacity_watch *watch = part->watch;
    part->state = state;
    if (state == REFLECTOR_CONNECTED) {
        part->lost = false;
        struct part_watch *other = other_part(part);
        if (other->held)
            optional_watch_close(other->optional, 0); // open it
        other->held = false;
    } else if (state == REFLECTOR_STARTING) // closed
        part->listed = false;
    if (state == REFLECTOR_CONNECTED || state == REFLECTOR_STARTING)
        return;
    part->lost = true;
    AUTO_TEXT why = text_format("%s: %s", part->part == PART_NODES ? "nodes" : "pods", problem ? problem : "lost");
    text_copy(watch->problem, sizeof watch->problem, why ? why : "lost");
}

static void tell(struct capacity_watch *watch, enum capacity_state state, struct nodes *nodes) {
    watch->told = state;
    struct engine_event event = {.type = EVENT_CAPACITY,
                                 .capacity = {state, state == CAPACITY_KNOWN ? NULL : watch->problem, nodes}};
    watch->options.post(watch->options.ctx, &event);
    nodes_free(event.capacity.nodes); // which was not taken
}

static void warn(struct capacity_watch *watch, const char *text) {
    if (!watch->warned)
        log_fields(LOG_WARN, text, {"cluster", watch->cluster}, {"error", watch->problem});
    watch->warned = true;
}

// One says nothing without the other.
static void on_refused(void *ctx, bool first, int64_t open_ns, const char *problem) {
    const struct part_watch *part = ctx;
    struct capacity_watch *watch = part->watch;
    (void)first;
    (void)problem;
    (void)open_ns;
    other_part(part)->held = true;
    optional_watch_close(other_part(part)->optional, CLOCK_NEVER);
    for (int p = 0; p < PARTS; p++)
        watch->parts[p].lost = false;
    warn(
        watch,
        "the worker does not permit the host to watch its nodes and pods, so its free capacity is unknown, and nothing "
        "that asks for pods is placed there; \"wharf join\" for it again grants list and watch of both; or set "
        "capacity: false for it");
    if (watch->told != CAPACITY_UNKNOWN)
        tell(watch, CAPACITY_UNKNOWN, NULL);
}

static struct error *make_part(struct capacity_watch *watch, enum part part) {
    static const char *const versions[] = {"v1", NULL};
    const struct capacity_watch_options *options = &watch->options;
    struct part_watch *of = &watch->parts[part];
    *of = (struct part_watch){.watch = watch, .part = part};
    return optional_watch_new(
        &(struct optional_watch_options){
            .reflector = {.cluster = watch->cluster,
                          .group = "",
                          .plural = part == PART_NODES ? "nodes" : "pods",
                          .versions = versions,
                          .cluster_scoped = part == PART_NODES,
                          .field_selector = part == PART_PODS ? "status.phase!=Succeeded,status.phase!=Failed" : NULL,
                          .only = part == PART_NODES ? node_table_of_nodes : node_table_of_pods,
                          .watch_list = options->watch_list,
                          .budget = options->budget,
                          .probe = options->probe,
                          .meter = options->meter,
                          .seed = options->seed + part},
            .transport = options->transport,
            .handler = {on_listing, on_seen, on_gone, on_listed, on_state, NULL, of},
            .refused = on_refused,
            .persistent = true},
        &of->optional);
}

struct error *capacity_watch_new(const struct capacity_watch_options *options, struct capacity_watch **out) {
    struct capacity_watch *watch = calloc(1, sizeof *watch);
    *out = NULL;
    if (!watch)
        return error_no_memory();
    watch->options = *options;
    watch->cluster = strdup(options->cluster);
    watch->table = node_table_new(options->seed);
    struct error *error = watch->cluster && watch->table ? NULL : error_no_memory();
    for (int p = 0; p < PARTS && !error; p++)
        error = make_part(watch, (enum part)p);
    if (error) {
        capacity_watch_free(watch);
        return error;
    }
    tell(watch, CAPACITY_READING, NULL);
    *out = watch;
    return NULL;
}

void capacity_watch_free(struct capacity_watch *watch) {
    if (!watch)
        return;
    for (int p = 0; p < PARTS; p++)
        optional_watch_free(watch->parts[p].optional);
    node_table_free(watch->table);
    (void)budget_keep(watch->options.budget, watch->kept, 0);
    free(watch->cluster);
    free(watch);
}

// The worker has more nodes and pods than the budget allows. Both are tried again, after growing delays.
static void give_up(struct capacity_watch *watch, int64_t now_ns) {
    struct budget *budget = watch->options.budget;
    struct node_table *empty = node_table_new(watch->options.seed);
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
        optional_watch_close(watch->parts[p].optional, watch->open_ns);
        watch->parts[p].lost = watch->parts[p].held = watch->relist[p] = false;
    }
    snprintf(watch->problem, sizeof watch->problem,
             "its nodes and pods exceed %zu bytes, a quarter of memory.perCluster (%zu nodes and %zu pods were listed)",
             budget->max_kept, size.nodes, size.pods);
    warn(watch, "the worker has too many nodes and pods, so its free capacity is unknown, and nothing that asks for "
                "pods is placed there; raise memory.perCluster, or set capacity: false for it");
    tell(watch, CAPACITY_UNKNOWN, NULL);
}

static void keep_within_budget(struct capacity_watch *watch, int64_t now_ns) {
    if (watch->over)
        give_up(watch, now_ns);
    if (now_ns >= watch->open_ns || watch->options.budget->max_kept <= watch->over_max)
        return;
    watch->open_ns = now_ns; // the budget was raised
    for (int p = 0; p < PARTS; p++)
        optional_watch_close(watch->parts[p].optional, now_ns);
}

static void relist_lost(struct capacity_watch *watch) {
    for (int p = 0; p < PARTS; p++)
        if (watch->relist[p] && watch->parts[p].listed) {
            watch->relist[p] = false;
            optional_watch_relist(watch->parts[p].optional);
        }
}

static bool is_current(const struct capacity_watch *watch) {
    for (int p = 0; p < PARTS; p++)
        if (!watch->parts[p].listed || watch->parts[p].state != REFLECTOR_CONNECTED || watch->relist[p])
            return false;
    return true;
}

static bool is_lost(const struct capacity_watch *watch) {
    for (int p = 0; p < PARTS; p++)
        if (watch->parts[p].lost)
            return true;
    return false;
}

// What has changed, when it is due. Returns the time of the next call needed.
static int64_t post_view(struct capacity_watch *watch, struct moment now) {
    if (is_lost(watch) && (watch->told == CAPACITY_KNOWN || watch->told == CAPACITY_READING)) {
        warn(watch, "the watch of the worker's nodes and pods is lost: what is left there is not known");
        tell(watch, CAPACITY_STALE, NULL);
    }
    if (!is_current(watch))
        return CLOCK_NEVER;
    if (now.mono_ns < watch->post_ns)
        return watch->post_ns;
    bool changed = node_table_take_changed(watch->table);
    if (!changed && watch->told == CAPACITY_KNOWN)
        return CLOCK_NEVER;
    watch->post_ns = now.mono_ns + POST_NS;
    watch->warned = false;
    struct nodes *view = node_table_view(watch->table);
    if (view)
        tell(watch, CAPACITY_KNOWN, view);
    return view ? CLOCK_NEVER : watch->post_ns;
}

void capacity_watch_hurry(struct capacity_watch *watch) {
    for (int p = 0; watch && p < PARTS; p++)
        optional_watch_hurry(watch->parts[p].optional);
}

int64_t capacity_watch_tick(struct capacity_watch *watch, struct moment now) {
    keep_within_budget(watch, now.mono_ns);
    relist_lost(watch);
    int64_t next_ns[PARTS];
    for (int p = 0; p < PARTS; p++)
        next_ns[p] = optional_watch_tick(watch->parts[p].optional, true, now);
    if (watch->over)
        return now.mono_ns;
    return clock_earlier(clock_earlier(next_ns[PART_NODES], next_ns[PART_PODS]), post_view(watch, now));
}
