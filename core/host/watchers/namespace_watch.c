// SPDX-License-Identifier: Apache-2.0
#include "core/host/watchers/namespace_watch.h"

#include "core/base/log.h"
#include "core/base/selector.h"
#include "core/base/text.h"
#include "core/host/host_internal.h"
#include "core/host/watchers/object_channel.h"
#include "core/host/watchers/watcher.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define LABELS_MAX ((size_t)256 << 10)

struct namespace_watch {
    struct host *host;
    atomic_bool on;
    pthread_mutex_t mutex;
    bool attached;           // under the mutex
    struct channel *channel; // on the management cluster's thread; NULL: off
    bool failed;             // the last channel could not be made
    char *problem;           // that was logged
};

static void post(struct namespace_watch *watch, enum namespace_news news, const char *name, const char *labels) {
    struct engine_event event = {.type = EVENT_NAMESPACE,
                                 .now = clock_now(),
                                 .cluster = ENGINE_MANAGEMENT,
                                 .space = {.news = news, .name = name, .labels = labels}};
    inbox_post(watch->host->inbox, inbox_item(&event));
}

static void on_seen(void *ctx, const char *key, const struct object *object) {
    AUTO_BUFFER(text, LABELS_MAX);
    (void)key;
    const struct json *labels = json_path(object->value, "metadata", "labels", NULL);
    for (const struct json *label = json_first(labels); label; label = json_next(label))
        labels_add(&text, json_key(label), json_string_or(label, ""));
    if (!text.failed)
        post(ctx, NAMESPACE_SEEN, object_name(object->value), text.data);
}

static void on_gone(void *ctx, const char *key) {
    post(ctx, NAMESPACE_GONE, key + 1, NULL); // "/name"
}

static void on_listing(void *ctx) {
    post(ctx, NAMESPACES_LISTING, NULL, NULL);
}

static void on_listed(void *ctx, bool restored) {
    (void)restored;
    post(ctx, NAMESPACES_LISTED, NULL, NULL);
}

static void on_trouble(void *ctx, bool absent, const char *problem) {
    struct namespace_watch *watch = ctx;
    (void)absent;
    if (problem && !text_equal(problem, watch->problem))
        log_fields(LOG_WARN, "namespaces cannot be watched: workloads whose placement depends on their labels wait",
                   {"cluster", "management"}, {"error", problem});
    (void)text_set(&watch->problem, problem);
}

static void close_channel(struct namespace_watch *watch) {
    channel_free(watch->channel);
    watch->channel = NULL;
    free(watch->problem);
    watch->problem = NULL;
}

static void open_channel(struct namespace_watch *watch, const struct cluster_connection *connection) {
    static const char *const v1[] = {"v1", NULL};
    struct reflector_options options = {.cluster = "management",
                                        .group = "",
                                        .plural = "namespaces",
                                        .versions = v1,
                                        .cluster_scoped = true,
                                        .metadata = true,
                                        .watch_list = true,
                                        .seed = random_system()};
    struct channel_handler handler = {.seen = on_seen,
                                      .gone = on_gone,
                                      .listing = on_listing,
                                      .listed = on_listed,
                                      .trouble = on_trouble,
                                      .ctx = watch};
    struct error *error = channel_new(&options, connection->transport, &handler, &watch->channel);
    if (error && !watch->failed)
        log_fields(LOG_ERROR, "namespaces cannot be watched", {"error", error_text(error)});
    watch->failed = error;
    error_free(error);
}

static int64_t tick(void *ctx, const struct cluster_connection *connection, struct moment now) {
    struct namespace_watch *watch = ctx;
    bool on = atomic_load(&watch->on);
    if (watch->channel && !on) {
        close_channel(watch);
        post(watch, NAMESPACES_UNKNOWN, NULL, NULL);
    } else if (on && !watch->channel) {
        open_channel(watch, connection);
    }
    if (watch->channel)
        return channel_tick(watch->channel, now);
    return on ? now.mono_ns + CLOCK_SECOND : CLOCK_NEVER;
}

static void stop(void *ctx) {
    struct namespace_watch *watch = ctx;
    pthread_mutex_lock(&watch->mutex);
    watch->attached = false;
    pthread_mutex_unlock(&watch->mutex);
    close_channel(watch);
}

struct error *namespace_watch_new(struct host *host, struct namespace_watch **out) {
    struct namespace_watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return error_no_memory();
    watch->host = host;
    pthread_mutex_init(&watch->mutex, NULL);
    *out = watch;
    return NULL;
}

void namespace_watch_free(struct namespace_watch *watch) {
    if (!watch)
        return;
    close_channel(watch);
    pthread_mutex_destroy(&watch->mutex);
    free(watch);
}

struct error *namespace_watch_attach(struct namespace_watch *watch) {
    struct host_guest guest = {.tick = tick, .stop = stop, .ctx = watch};
    pthread_mutex_lock(&watch->mutex);
    watch->attached = host_attach(watch->host, &guest);
    bool attached = watch->attached;
    pthread_mutex_unlock(&watch->mutex);
    return attached ? NULL : error_no_memory();
}

void namespace_watch_set(struct namespace_watch *watch, bool on) {
    atomic_store(&watch->on, on);
    pthread_mutex_lock(&watch->mutex);
    if (watch->attached)
        host_call_guests(watch->host);
    pthread_mutex_unlock(&watch->mutex);
}
