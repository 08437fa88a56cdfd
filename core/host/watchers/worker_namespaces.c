// SPDX-License-Identifier: Apache-2.0
// Namespaces and ResourceQuotas of one worker, watched for a while after the engine asks (NOTICE_WANT_NAMESPACES).
// Posts the namespaces that changed, at most once a second.
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/host/watchers/object_watch.h"
#include "core/host/watchers/watcher.h"

#include <stdlib.h>
#include <string.h>

#define WANTED_NS (20 * CLOCK_MINUTE) // after the last request; rejected mirrors are retried more often
#define POST_NS CLOCK_SECOND
#define NAMESPACES_MAX 16 // posted one by one; a larger number is posted as "any"

enum { NAMESPACES, QUOTAS, RESOURCES };

struct namespace_part {
    struct worker_namespaces *all;
    struct object_watch objects;
};

struct worker_namespaces {
    const struct cluster_scope *scope;
    struct namespace_part parts[RESOURCES];
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

static void on_namespace(void *ctx, struct object *object) {
    add_changed(((struct namespace_part *)ctx)->all, object_name(object->value));
}

static void on_quota(void *ctx, struct object *object) {
    add_changed(((struct namespace_part *)ctx)->all, object_namespace(object->value));
}

// Earlier changes were missed: each waiting workload is tried once more.
static void on_state(void *ctx, enum reflector_state state, const char *problem) {
    const struct namespace_part *part = ctx;
    (void)problem;
    part->all->any |= state == REFLECTOR_CONNECTED;
}

static void on_refused(void *ctx, const char *problem) {
    struct worker_namespaces *all = ((struct namespace_part *)ctx)->all;
    if (!all->reported_refused)
        log_fields(LOG_INFO,
                   "the worker does not let the host watch namespaces and resourcequotas: workloads rejected by these "
                   "are tried again later only",
                   {"cluster", all->scope->name}, {"error", problem});
    all->reported_refused = true;
}

static struct error *start(const struct cluster_scope *scope, void **state) {
    static const char *const plurals[] = {"namespaces", "resourcequotas"};
    struct worker_namespaces *all = calloc(1, sizeof *all);
    if (!all)
        return error_no_memory();
    all->scope = scope;
    for (size_t i = 0; i < RESOURCES; i++) {
        struct namespace_part *part = &all->parts[i];
        part->all = all;
        struct reflector_options options = cluster_watch_options(scope, plurals[i]);
        options.cluster_scoped = i == NAMESPACES;
        options.metadata = options.from_now = true;
        options.watch_list = false;
        struct object_watch_handler handler = {.seen = i == QUOTAS ? on_quota : on_namespace,
                                               .gone = i == QUOTAS ? on_quota : NULL,
                                               .state = on_state,
                                               .refused = on_refused,
                                               .ctx = part};
        object_watch_init(&part->objects, &options, scope->transport, &handler, false);
    }
    *state = all;
    return NULL;
}

static void stop(void *state) {
    struct worker_namespaces *all = state;
    for (size_t i = 0; i < RESOURCES; i++)
        object_watch_clear(&all->parts[i].objects);
    free(all);
}

static void notice(void *state, const struct cluster_notice *notice) {
    struct worker_namespaces *all = state;
    all->wanted |= notice->type == NOTICE_WANT_NAMESPACES;
}

static void post_changed(struct worker_namespaces *all, const char *name) {
    cluster_post(all->scope,
                 &(struct engine_event){.type = EVENT_NAMESPACE, .namespace_ = {.news = NAMESPACE_SEEN, .name = name}});
}

static int64_t post_all_changed(struct worker_namespaces *all, int64_t now_ns) {
    if (!all->any && all->n_changed == 0)
        return CLOCK_NEVER;
    if (now_ns < all->post_ns)
        return all->post_ns;
    for (size_t i = 0; i < all->n_changed && !all->any; i++)
        post_changed(all, all->changed[i]);
    if (all->any)
        post_changed(all, NULL);
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
    int64_t next_ns = wanted ? all->until_ns : CLOCK_NEVER;
    for (size_t i = 0; i < RESOURCES; i++)
        next_ns = clock_earlier(next_ns, object_watch_tick(&all->parts[i].objects, wanted, now));
    return clock_earlier(next_ns, post_all_changed(all, now.mono_ns));
}

const struct watcher worker_namespaces_watcher = {
    .of_workers = true, .start = start, .step = step, .notice = notice, .stop = stop};
