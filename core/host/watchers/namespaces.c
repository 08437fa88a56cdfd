// SPDX-License-Identifier: Apache-2.0
// Namespaces. Of the management cluster: posts the namespaces' labels while a namespaceSelector is configured. Of one
// worker: namespaces and ResourceQuotas, watched for a while after the engine asks (NOTICE_WANT_NAMESPACES); posts the
// namespaces that changed, at most once a second.
#include "core/base/log.h"
#include "core/base/selector.h"
#include "core/base/text.h"
#include "core/host/watchers/watcher.h"

#define LABELS_MAX ((size_t)256 << 10)
#define WANTED_NS (20 * CLOCK_MINUTE) // after the last request; rejected mirrors are retried more often
#define POST_NS CLOCK_SECOND
#define NAMESPACES_MAX 16 // posted one by one; a larger number is posted as "any"

static void post_namespace(const struct watcher_base *base, enum namespace_news news, const char *name,
                           const char *labels) {
    cluster_post(base->scope, &(struct engine_event){.type = EVENT_NAMESPACE,
                                                     .namespace_ = {.news = news, .name = name, .labels = labels}});
}

// The management cluster -------------------------------------------------------------------------------------------

struct management_namespaces {
    struct watcher_base base;
    uint64_t logged; // hash of the last logged problem; 0: none
};

static void post_labels(const struct watcher_base *base, const struct json *object) {
    AUTO_BUFFER(text, LABELS_MAX);
    const struct json *labels = json_path(object, "metadata", "labels", NULL);
    for (const struct json *label = json_first(labels); label; label = json_next(label))
        labels_add(&text, json_key(label), json_string_or(label, ""));
    if (!text.failed)
        post_namespace(base, NAMESPACE_SEEN, object_name(object), text.data);
}

static void handle_namespace(void *state, const struct cluster_notice *notice) {
    struct management_namespaces *namespaces = state;
    if (notice->type == NOTICE_LISTING)
        post_namespace(state, NAMESPACES_LISTING, NULL, NULL);
    else if (notice->type == NOTICE_SEEN)
        post_labels(state, notice->object->value);
    else if (notice->type == NOTICE_GONE)
        post_namespace(state, NAMESPACE_GONE, object_name(notice->object->value), NULL);
    else if (notice->type == NOTICE_LISTED)
        post_namespace(state, NAMESPACES_LISTED, NULL, NULL);
    else if (notice->type == NOTICE_STATE)
        watcher_warn(namespaces->base.scope, &namespaces->logged,
                     "namespaces cannot be watched: workloads whose placement depends on their labels wait",
                     notice->problem);
    else if (notice->type == NOTICE_UNWANTED)
        post_namespace(state, NAMESPACES_UNKNOWN, NULL, NULL);
}

static bool is_wanted(const struct cluster_io_settings *settings) {
    return settings->namespaces;
}

const struct watcher namespaces_watcher = {
    .of_management = true,
    .wanted = is_wanted,
    .size = sizeof(struct management_namespaces),
    .watches = {{.plural = "namespaces", .cluster_scoped = true, .metadata = true}},
    .persistent = true,
    .handle = handle_namespace,
    .uncounted = true};

// Workers ----------------------------------------------------------------------------------------------------------

enum { NAMESPACES, QUOTAS };

struct worker_namespaces {
    struct watcher_base base;
    bool wanted, any, reported_refused;
    int64_t until_ns, post_ns;
    char changed[NAMESPACES_MAX][64];
    size_t n_changed;
};

static void add_changed(struct worker_namespaces *all, const char *name) {
    for (size_t i = 0; i < all->n_changed; i++)
        if (strcmp(all->changed[i], name) == 0)
            return;
    if (all->n_changed < NAMESPACES_MAX && strlen(name) < sizeof *all->changed)
        text_copy(all->changed[all->n_changed++], sizeof *all->changed, name);
    else
        all->any = true;
}

static void report_refusal(struct worker_namespaces *all, const char *problem) {
    if (!all->reported_refused)
        log_fields(LOG_INFO,
                   "the worker does not let the host watch namespaces and resourcequotas: workloads rejected by these "
                   "are tried again later only",
                   {"cluster", all->base.scope->name}, {"error", problem});
    all->reported_refused = true;
}

static void handle_change(void *state, const struct cluster_notice *notice) {
    struct worker_namespaces *all = state;
    bool seen = notice->type == NOTICE_SEEN;
    if (notice->kind == QUOTAS && (seen || notice->type == NOTICE_GONE))
        add_changed(all, object_namespace(notice->object->value));
    else if (seen)
        add_changed(all, object_name(notice->object->value));
    all->wanted |= notice->type == NOTICE_WANT_NAMESPACES;
    // Earlier changes were missed: each waiting workload is tried once more.
    all->any |= notice->type == NOTICE_STATE && notice->state == REFLECTOR_CONNECTED;
    if (notice->type == NOTICE_REFUSED)
        report_refusal(all, notice->problem);
}

static int64_t post_all_changed(struct worker_namespaces *all, int64_t now_ns) {
    if (!all->any && all->n_changed == 0)
        return CLOCK_NEVER;
    if (now_ns < all->post_ns)
        return all->post_ns;
    for (size_t i = 0; i < all->n_changed && !all->any; i++)
        post_namespace(&all->base, NAMESPACE_SEEN, all->changed[i], NULL);
    if (all->any)
        post_namespace(&all->base, NAMESPACE_SEEN, NULL, NULL);
    all->any = false;
    all->n_changed = 0;
    all->post_ns = now_ns + POST_NS;
    return CLOCK_NEVER;
}

static int64_t step(void *state, struct moment now) {
    struct worker_namespaces *all = state;
    if (all->wanted)
        all->until_ns = now.mono_ns + WANTED_NS;
    all->wanted = false;
    bool wanted = now.mono_ns < all->until_ns;
    int64_t next_ns = watcher_tick_watches(&all->base, wanted, now);
    next_ns = clock_earlier(next_ns, wanted ? all->until_ns : CLOCK_NEVER);
    return clock_earlier(next_ns, post_all_changed(all, now.mono_ns));
}

const struct watcher worker_namespaces_watcher = {
    .of_workers = true,
    .size = sizeof(struct worker_namespaces),
    .watches = {[NAMESPACES] = {.plural = "namespaces", .cluster_scoped = true, .metadata = true, .from_now = true},
                [QUOTAS] = {.plural = "resourcequotas", .metadata = true, .from_now = true}},
    .handle = handle_change,
    .step = step};
