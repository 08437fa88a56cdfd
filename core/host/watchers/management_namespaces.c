// SPDX-License-Identifier: Apache-2.0
// Posts the labels of the management cluster's namespaces to the engine while a namespaceSelector is configured.
#include "core/base/buffer.h"
#include "core/base/log.h"
#include "core/base/selector.h"
#include "core/base/text.h"
#include "core/host/watchers/object_watch.h"
#include "core/host/watchers/watcher.h"

#include <stdlib.h>
#include <string.h>

#define LABELS_MAX ((size_t)256 << 10)

struct management_namespaces {
    const struct cluster_scope *scope;
    struct object_watch objects;
    char *problem; // in the log
};

static void post_namespace(const struct management_namespaces *namespaces, enum namespace_news news, const char *name,
                           const char *labels) {
    cluster_post(
        namespaces->scope,
        &(struct engine_event){.type = EVENT_NAMESPACE, .namespace_ = {.news = news, .name = name, .labels = labels}});
}

static void on_listing(void *ctx, const char *version) {
    (void)version;
    post_namespace(ctx, NAMESPACES_LISTING, NULL, NULL);
}

static void on_seen(void *ctx, struct object *object) {
    AUTO_BUFFER(text, LABELS_MAX);
    const struct json *labels = json_path(object->value, "metadata", "labels", NULL);
    for (const struct json *label = json_first(labels); label; label = json_next(label))
        labels_add(&text, json_key(label), json_string_or(label, ""));
    if (!text.failed)
        post_namespace(ctx, NAMESPACE_SEEN, object_name(object->value), text.data);
}

static void on_gone(void *ctx, struct object *object) {
    post_namespace(ctx, NAMESPACE_GONE, object_name(object->value), NULL);
}

static void on_listed(void *ctx, bool restored) {
    (void)restored;
    post_namespace(ctx, NAMESPACES_LISTED, NULL, NULL);
}

static void on_state(void *ctx, enum reflector_state state, const char *problem) {
    struct management_namespaces *namespaces = ctx;
    (void)state;
    if (problem && !text_equal(problem, namespaces->problem))
        log_fields(LOG_WARN, "namespaces cannot be watched: workloads whose placement depends on their labels wait",
                   {"cluster", namespaces->scope->name}, {"error", problem});
    (void)text_set(&namespaces->problem, problem);
}

static struct error *start(const struct cluster_scope *scope, void **state) {
    struct management_namespaces *namespaces = calloc(1, sizeof *namespaces);
    if (!namespaces)
        return error_no_memory();
    namespaces->scope = scope;
    struct reflector_options options = cluster_watch_options(scope, "namespaces");
    options.cluster_scoped = options.metadata = true;
    options.budget = NULL;
    options.meter = NULL;
    struct object_watch_handler handler = {on_listing, on_seen, on_gone, on_listed, on_state, NULL, namespaces};
    object_watch_init(&namespaces->objects, &options, scope->transport, &handler, true);
    *state = namespaces;
    return NULL;
}

static int64_t step(void *state, struct moment now) {
    struct management_namespaces *namespaces = state;
    return object_watch_tick(&namespaces->objects, true, now);
}

static void notice(void *state, const struct cluster_notice *notice) {
    if (notice->type == NOTICE_UNWANTED)
        post_namespace(state, NAMESPACES_UNKNOWN, NULL, NULL);
}

static void stop(void *state) {
    struct management_namespaces *namespaces = state;
    object_watch_clear(&namespaces->objects);
    free(namespaces->problem);
    free(namespaces);
}

static bool is_wanted(const struct cluster_io_settings *settings) {
    return settings->namespaces;
}

const struct watcher namespaces_watcher = {
    .of_management = true, .wanted = is_wanted, .start = start, .step = step, .notice = notice, .stop = stop};
