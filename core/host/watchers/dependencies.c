// SPDX-License-Identifier: Apache-2.0
// Watches objects that workloads refer to, by the engine's wishes. Posts the relevant parts of their metadata, never
// contents, and keeps one small entry for each wish. A wish for all objects of a resource has one watch. Without such a
// wish, and where the cluster refuses that watch, each wished object has a watch of its own. An object that was wished
// after the list of all is read once.
#include "core/host/watchers/dependencies.h"

#include "core/adapter/references.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/engine/mirror/mirror.h"

#define KEY_SIZE 400 // of "namespace/name"

static void post(const struct wishes *all, struct engine_event *event) {
    event->type = EVENT_DEPENDENCY;
    cluster_post(all->base.scope, event);
    engine_event_drop(event);
}

void dependency_post(const struct followed *followed, enum dependency_news news, const struct wished *wished,
                     const char *problem) {
    post(followed->all, &(struct engine_event){.dependency = {.news = news,
                                                              .resource = followed->resource,
                                                              .namespace_ = wished ? wished->namespace_ : NULL,
                                                              .name = wished ? wished->name : NULL,
                                                              .problem = problem}});
}

// Takes the object.
static void post_object(const struct followed *followed, struct object *object, bool gone) {
    struct engine_event event = {.dependency = {.news = gone ? DEPENDENCY_GONE : DEPENDENCY_SEEN,
                                                .resource = followed->resource,
                                                .namespace_ = object_namespace(object->value),
                                                .name = object_name(object->value),
                                                .metadata = gone ? NULL : object}};
    post(followed->all, &event);
    if (gone)
        object_free(object);
}

void dependency_tell(struct wished *wished, struct object *object, bool gone) {
    wished->known = true;
    wished->refused = false;
    if (object)
        post_object(wished->of, object, gone);
    else
        dependency_post(wished->of, DEPENDENCY_GONE, wished, NULL);
}

// The watch of all -------------------------------------------------------------------------------------------------

struct reflector_options dependency_options_of(const struct followed *followed) {
    struct reflector_options options = cluster_watch_options(followed->all->base.scope, followed->plural);
    options.group = followed->group;
    options.versions = followed->versions;
    options.cluster_scoped = followed->cluster_scoped;
    options.metadata = true;
    options.sensitive = followed->sensitive;
    options.only = object_stub_fields; // another annotation may have the whole content of a Secret
    return options;
}

static struct wished *find(const struct followed *followed, const char *namespace_, const char *name) {
    char key[KEY_SIZE];
    int len = snprintf(key, sizeof key, "%s/%s", namespace_, name);
    return len > 0 && (size_t)len < sizeof key ? map_get(&followed->wishes, key) : NULL;
}

// A read of the object showed a newer state.
static bool is_older(struct wished *wished, const struct json *object) {
    bool comparable = true;
    int order = *wished->read ? object_version_compare(object_version(object), wished->read, &comparable) : 1;
    if (comparable && order <= 0)
        return true;
    *wished->read = '\0';
    return false;
}

static bool has_mark(const struct cluster_scope *scope, const struct json *object) {
    const char *origin = object_label(object, MARK_ORIGIN);
    return scope->cluster != ENGINE_MANAGEMENT && origin && text_equal(origin, scope->origin);
}

static void handle_object(struct followed *followed, struct object *object, bool gone) {
    struct wished *wished = find(followed, object_namespace(object->value), object_name(object->value));
    followed->counted += followed->watch.listing;
    if (wished && !gone)
        wished->list = followed->list;
    if (wished && !is_older(wished, object->value))
        dependency_tell(wished, object, gone);
    else if (!wished && has_mark(followed->all->base.scope, object->value))
        post_object(followed, object, gone);
    else
        object_free(object);
}

static void begin_list(struct followed *followed) {
    size_t cursor = 0;
    followed->list++;
    followed->counted = 0;
    for (struct wished *wished; (wished = map_next(&followed->wishes, &cursor));)
        *wished->read = '\0'; // versions may have gone back
    dependency_post(followed, DEPENDENCIES_LISTING, NULL, NULL);
}

// An object that was wished while the list was made may be on an earlier page.
static void end_list(struct followed *followed) {
    size_t cursor = 0;
    followed->complete = true;
    followed->listed = followed->counted;
    for (struct wished *wished; (wished = map_next(&followed->wishes, &cursor));) {
        if (wished->list != followed->list && wished->made != followed->list)
            dependency_tell(wished, NULL, true);
        followed->unread |= !wished->known;
    }
}

static void note_refusal(struct followed *followed, const char *problem, bool by_name) {
    followed->by_name = by_name;
    if (followed->refused)
        return;
    followed->refused = true;
    log_fields(LOG_WARN,
               by_name ? "the cluster does not let the host watch all objects of the resource: the host watches those "
                         "that workloads refer to one by one"
                       : "the cluster does not serve a resource that workloads refer to",
               {"cluster", followed->all->base.scope->name}, {"resource", followed->resource}, {"error", problem});
    dependency_post(followed, DEPENDENCIES_REFUSED, NULL, problem);
}

static void handle_state(struct followed *followed, enum reflector_state state, const char *problem) {
    if (state == REFLECTOR_CONNECTED) {
        followed->refused = followed->by_name = false;
        dependency_post(followed, DEPENDENCIES_LISTED, NULL, NULL);
    } else if (state == REFLECTOR_ABSENT) {
        note_refusal(followed, problem, false);
    } else if (state == REFLECTOR_LOST && !followed->refused) {
        dependency_post(followed, DEPENDENCIES_LOST, NULL, problem);
    } else if (state == REFLECTOR_STARTING) {
        followed->complete = false;
    }
}

static void handle_notice(void *ctx, const struct cluster_notice *notice) {
    struct followed *followed = ctx;
    if (notice->type == NOTICE_LISTING)
        begin_list(followed);
    else if (notice->type == NOTICE_SEEN || notice->type == NOTICE_GONE)
        handle_object(followed, notice->object, notice->type == NOTICE_GONE);
    else if (notice->type == NOTICE_LISTED)
        end_list(followed);
    else if (notice->type == NOTICE_STATE)
        handle_state(followed, notice->state, notice->problem);
    else if (notice->type == NOTICE_REFUSED && notice->denied)
        note_refusal(followed, notice->problem, true);
}

// Wishes -----------------------------------------------------------------------------------------------------------

static struct followed **find_followed(struct wishes *all, const char *resource) {
    struct followed **at = &all->first;
    while (*at && strcmp((*at)->resource, resource) != 0)
        at = &(*at)->next;
    return at;
}

static void free_followed(struct followed *followed) {
    object_watch_clear(&followed->watch);
    map_free_values(&followed->wishes);
    free(followed->resource);
    free(followed->version);
    free(followed->plural);
    free(followed);
}

static bool fill_followed(struct followed *followed, const struct dependency_wish *wish) {
    followed->resource = strdup(wish->resource);
    followed->version = strdup(wish->version);
    followed->plural = strndup(wish->resource, strcspn(wish->resource, "."));
    if (!followed->resource || !followed->version || !followed->plural)
        return false;
    followed->group = reference_group(followed->resource);
    followed->versions[0] = followed->version;
    followed->cluster_scoped = wish->cluster_scoped;
    followed->sensitive = strcmp(wish->resource, "secrets") == 0;
    struct reflector_options options = dependency_options_of(followed);
    object_watch_init(&followed->watch, &options, followed->all->base.scope->transport, handle_notice, followed);
    followed->watch.eager = followed->watch.gives = true;
    map_init(&followed->wishes, options.seed);
    return true;
}

static struct followed *follow(struct wishes *all, const struct dependency_wish *wish) {
    struct followed **at = find_followed(all, wish->resource), *followed = *at;
    if (followed || !(followed = calloc(1, sizeof *followed)))
        return followed;
    followed->all = all;
    if (!fill_followed(followed, wish)) {
        free_followed(followed);
        return NULL;
    }
    return *at = followed;
}

static struct wished *make_wished(struct followed *followed, const struct dependency_wish *wish) {
    AUTO_TEXT key = text_format("%s/%s", wish->namespace_, wish->name);
    AUTO_TEXT selector = text_format("metadata.name=%s", wish->name);
    struct wished made = {.key = key,
                          .namespace_ = wish->namespace_,
                          .name = wish->name,
                          .selector = selector,
                          .of = followed,
                          .made = followed->list};
    return key && selector ? struct_copy_with_texts(&made, sizeof made, WISHED_TEXTS) : NULL;
}

// False: out of memory.
static bool add_wish(struct wishes *all, const struct dependency_wish *wish) {
    struct followed *followed = follow(all, wish);
    if (!followed)
        return false;
    followed->wanted |= !*wish->name;
    if (!*wish->name || find(followed, wish->namespace_, wish->name))
        return true;
    struct wished *wished = make_wished(followed, wish);
    if (!wished || !map_put(&followed->wishes, wished->key, wished)) {
        free(wished);
        return false;
    }
    followed->unread = true;
    return true;
}

static void free_wished(struct wished *wished) {
    for (size_t i = 0; i < DEPENDENCY_READS; i++)
        if (wished->of->all->reads[i].wished == wished)
            wished->of->all->reads[i].wished = NULL;
    dependency_close_single(wished);
    free(wished);
}

static void remove_wish(struct wishes *all, const struct dependency_wish *wish) {
    struct followed **at = find_followed(all, wish->resource), *followed = *at;
    struct wished *wished = followed ? find(followed, wish->namespace_, wish->name) : NULL;
    if (!followed)
        return;
    followed->wanted &= *wish->name != '\0';
    if (wished) {
        map_remove(&followed->wishes, wished->key);
        free_wished(wished);
    }
    if (followed->wanted || followed->wishes.count > 0)
        return;
    *at = followed->next;
    free_followed(followed);
}

// The row ----------------------------------------------------------------------------------------------------------

static int64_t tick_singles(struct followed *followed, struct moment now) {
    bool needed = !followed->wanted || followed->by_name;
    int64_t next_ns = CLOCK_NEVER;
    size_t cursor = 0;
    if (!needed && !followed->singles)
        return CLOCK_NEVER;
    for (struct wished *wished; (wished = map_next(&followed->wishes, &cursor));)
        if (needed)
            next_ns = clock_earlier(next_ns, dependency_tick_single(wished, now));
        else
            dependency_close_single(wished);
    followed->singles = needed;
    return next_ns;
}

static int64_t step(void *state, struct moment now) {
    struct wishes *all = state;
    int64_t next_ns = CLOCK_NEVER;
    all->now_ns = now.mono_ns;
    if (all->tell_ns <= now.mono_ns) {
        all->tell_ns = CLOCK_NEVER;
        post(all, &(struct engine_event){.dependency = {.news = DEPENDENCIES_FORGOTTEN}});
    }
    for (struct followed *followed = all->first; followed; followed = followed->next) {
        next_ns = clock_earlier(next_ns, dependency_tick_watch(all, &followed->watch, followed->wanted, now));
        next_ns = clock_earlier(next_ns, tick_singles(followed, now));
        bool can_read = followed->watch.state == REFLECTOR_CONNECTED && !all->base.scope->rejected;
        if (followed->unread && followed->complete && can_read)
            next_ns = clock_earlier(next_ns, dependency_read(followed, now));
    }
    return clock_earlier(next_ns, all->tell_ns);
}

// The server answers again, or `rewound`.
static void revive(struct object_watch *watch, const char *rewound) {
    if (rewound)
        object_watch_rewind(watch, rewound);
    else if (watch->reflector)
        object_watch_hurry(watch);
    else
        watch->open_ns = 0;
}

static void revive_all(struct followed *followed, const char *rewound) {
    size_t cursor = 0;
    revive(&followed->watch, rewound);
    for (struct wished *wished; (wished = map_next(&followed->wishes, &cursor));)
        if (wished->single)
            revive(wished->single, rewound);
}

static void tell_lost(const struct followed *followed, const char *problem) {
    size_t cursor = 0;
    if (followed->wanted && !followed->refused)
        dependency_post(followed, DEPENDENCIES_LOST, NULL, problem);
    for (const struct wished *wished; (wished = map_next(&followed->wishes, &cursor));)
        if (wished->single && !wished->refused)
            dependency_post(followed, DEPENDENCIES_LOST, wished, problem);
}

static void handle(void *state, const struct cluster_notice *notice) {
    struct wishes *all = state;
    if (notice->type == NOTICE_WISH && notice->wish->wanted && !add_wish(all, notice->wish))
        all->tell_ns = clock_earlier(all->tell_ns, all->now_ns + DEPENDENCY_AGAIN_NS);
    else if (notice->type == NOTICE_WISH && !notice->wish->wanted)
        remove_wish(all, notice->wish);
    for (struct followed *followed = all->first; followed; followed = followed->next)
        if (notice->type == NOTICE_REACHED || notice->type == NOTICE_REWOUND)
            revive_all(followed, notice->problem);
        else if (notice->type == NOTICE_CLOSING)
            tell_lost(followed, notice->problem);
}

static struct error *start(const struct cluster_scope *scope, void *state) {
    (void)scope;
    struct wishes *all = state;
    all->tell_ns = INT64_MIN; // with the first step
    for (size_t i = 0; i < DEPENDENCY_READS; i++)
        all->reads[i].all = all;
    return NULL;
}

static void stop(void *state) {
    struct wishes *all = state;
    for (size_t i = 0; i < DEPENDENCY_READS; i++)
        if (all->base.scope->client && all->reads[i].request != 0)
            client_cancel(all->base.scope->client, all->reads[i].request);
    for (struct followed *followed; (followed = all->first);) {
        size_t cursor = 0;
        all->first = followed->next;
        for (struct wished *wished; (wished = map_next(&followed->wishes, &cursor));)
            dependency_close_single(wished);
        free_followed(followed);
    }
}

static bool is_wanted(const struct cluster_io_settings *settings) {
    return settings->dependencies;
}

const struct watcher dependencies_watcher = {.of_management = true,
                                             .of_workers = true,
                                             .wanted = is_wanted,
                                             .size = sizeof(struct wishes),
                                             .handle = handle,
                                             .start = start,
                                             .step = step,
                                             .stop = stop};
