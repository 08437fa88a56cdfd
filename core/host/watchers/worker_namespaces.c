// SPDX-License-Identifier: Apache-2.0
#include "core/host/watchers/worker_namespaces.h"

#include "core/base/log.h"
#include "core/base/text.h"
#include "core/host/watchers/optional_watch.h"

#include <stdlib.h>
#include <string.h>

#define WANTED_NS (20 * CLOCK_MINUTE) // after the last request; rejections are retried more often than that
#define TELL_NS CLOCK_SECOND
#define SPACES 16 // told one by one; more are told as "any"

enum { NAMESPACES, QUOTAS, RESOURCES };

struct space_part {
    struct worker_namespaces *watch;
    struct optional_watch *optional;
};

struct worker_namespaces {
    struct worker_namespaces_options options;
    char *name;
    struct space_part watched[RESOURCES];
    bool wanted, any, told_refused;
    int64_t until_ns, tell_ns;
    char spaces[SPACES][64]; // changed
    size_t n_spaces;
};

static void note(struct worker_namespaces *watch, const char *space) {
    for (size_t i = 0; i < watch->n_spaces; i++)
        if (strcmp(watch->spaces[i], space) == 0)
            return;
    if (watch->n_spaces < SPACES && strlen(space) < sizeof *watch->spaces)
        text_copy(watch->spaces[watch->n_spaces++], sizeof *watch->spaces, space);
    else
        watch->any = true;
}

static void on_seen(void *ctx, struct object *object) {
    struct space_part *watched = ctx;
    bool quota = watched == &watched->watch->watched[QUOTAS];
    note(watched->watch, quota ? object_namespace(object->value) : object_name(object->value));
    object_free(object);
}

// What changed before the watch began is not seen: each of those that wait is tried once more then.
static void on_state(void *ctx, enum reflector_state state, const char *problem) {
    struct space_part *watched = ctx;
    (void)problem;
    watched->watch->any |= state == REFLECTOR_CONNECTED;
}

static void on_refused(void *ctx, bool first, int64_t open_ns, const char *problem) {
    struct worker_namespaces *watch = ((struct space_part *)ctx)->watch;
    (void)open_ns;
    if (first && !watch->told_refused)
        log_fields(LOG_INFO,
                   "the worker does not let the host watch namespaces and resourcequotas: what was rejected for their "
                   "sake is tried again later only",
                   {"cluster", watch->name}, {"error", problem});
    watch->told_refused = true;
}

static struct error *make_watch(struct worker_namespaces *watch, size_t which) {
    static const char *const versions[] = {"v1", NULL}, *const plurals[] = {"namespaces", "resourcequotas"};
    struct space_part *watched = &watch->watched[which];
    watched->watch = watch;
    return optional_watch_new(
        &(struct optional_watch_options){.reflector = {.cluster = watch->name,
                                                       .group = "",
                                                       .plural = plurals[which],
                                                       .versions = versions,
                                                       .cluster_scoped = which == NAMESPACES,
                                                       .metadata = true,
                                                       .from_now = true,
                                                       .budget = watch->options.budget,
                                                       .meter = watch->options.meter,
                                                       .seed = watch->options.seed + 1000 + which},
                                         .transport = watch->options.transport,
                                         .handler = {reflector_ignore_version, on_seen,
                                                     which == QUOTAS ? on_seen : reflector_ignore_object,
                                                     reflector_ignore_version, on_state, NULL, watched},
                                         .refused = on_refused},
        &watched->optional);
}

struct error *worker_namespaces_new(const struct worker_namespaces_options *options, struct worker_namespaces **out) {
    struct worker_namespaces *watch = calloc(1, sizeof *watch);
    *out = NULL;
    if (!watch)
        return error_no_memory();
    watch->options = *options;
    watch->name = strdup(options->name);
    struct error *error = watch->name ? NULL : error_no_memory();
    for (size_t i = 0; i < RESOURCES && !error; i++)
        error = make_watch(watch, i);
    if (error) {
        worker_namespaces_free(watch);
        return error;
    }
    *out = watch;
    return NULL;
}

void worker_namespaces_free(struct worker_namespaces *watch) {
    if (!watch)
        return;
    for (size_t i = 0; i < RESOURCES; i++)
        optional_watch_free(watch->watched[i].optional);
    free(watch->name);
    free(watch);
}

void worker_namespaces_want(struct worker_namespaces *watch) {
    watch->wanted = true;
}

static void post(struct worker_namespaces *watch, const char *space) {
    watch->options.post(watch->options.ctx, &(struct engine_event){.type = EVENT_NAMESPACE,
                                                                   .space = {.news = NAMESPACE_SEEN, .name = space}});
}

static int64_t tell(struct worker_namespaces *watch, int64_t now_ns) {
    if (!watch->any && watch->n_spaces == 0)
        return CLOCK_NEVER;
    if (now_ns < watch->tell_ns)
        return watch->tell_ns;
    for (size_t i = 0; i < watch->n_spaces && !watch->any; i++)
        post(watch, watch->spaces[i]);
    if (watch->any)
        post(watch, NULL);
    watch->any = false;
    watch->n_spaces = 0;
    watch->tell_ns = now_ns + TELL_NS;
    return CLOCK_NEVER;
}

int64_t worker_namespaces_tick(struct worker_namespaces *watch, struct moment now) {
    if (watch->wanted)
        watch->until_ns = now.mono_ns + WANTED_NS;
    watch->wanted = false;
    bool wanted = now.mono_ns < watch->until_ns;
    int64_t next_ns = wanted ? watch->until_ns : CLOCK_NEVER;
    for (size_t i = 0; i < RESOURCES; i++)
        next_ns = clock_earlier(next_ns, optional_watch_tick(watch->watched[i].optional, wanted, now));
    return clock_earlier(next_ns, tell(watch, now.mono_ns));
}
