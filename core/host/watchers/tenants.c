// SPDX-License-Identifier: Apache-2.0
// Namespaces with tenancy: of the management cluster the uids, of a worker the consents (annotation MARK_TENANT).
#include "core/engine/mirror/mirror.h"
#include "core/host/watchers/watcher.h"

struct tenant_watch {
    struct watcher_base base;
    uint64_t logged; // hash of the last logged problem; 0: none
};

static void post(const struct tenant_watch *watch, enum tenant_news news, const char *name, const char *uid,
                 const char *problem) {
    cluster_post(watch->base.scope,
                 &(struct engine_event){.type = EVENT_TENANT,
                                        .tenant = {.news = news, .name = name, .uid = uid, .problem = problem}});
}

static void post_seen(const struct tenant_watch *watch, const struct json *object) {
    bool management = watch->base.scope->cluster == ENGINE_MANAGEMENT;
    const char *uid = management ? object_uid(object) : object_annotation(object, MARK_TENANT);
    post(watch, TENANT_SEEN, object_name(object), uid, NULL);
}

static void handle(void *state, const struct cluster_notice *notice) {
    struct tenant_watch *watch = state;
    if (notice->type == NOTICE_LISTING)
        post(watch, TENANTS_LISTING, NULL, NULL, NULL);
    else if (notice->type == NOTICE_SEEN)
        post_seen(watch, notice->object->value);
    else if (notice->type == NOTICE_GONE)
        post(watch, TENANT_GONE, object_name(notice->object->value), NULL, NULL);
    else if (notice->type == NOTICE_LISTED)
        post(watch, TENANTS_LISTED, NULL, NULL, NULL);
    else if (notice->type == NOTICE_CLOSING)
        post(watch, TENANTS_LOST, NULL, NULL, "the connection was closed");
    else if (notice->type == NOTICE_UNWANTED)
        post(watch, TENANTS_OFF, NULL, NULL, NULL);
    else if (notice->type == NOTICE_REWOUND)
        object_watch_rewind(watch->base.watches, notice->problem);
    if (notice->type != NOTICE_STATE)
        return;
    if (notice->state == REFLECTOR_LOST)
        post(watch, TENANTS_LOST, NULL, NULL, notice->problem);
    else if (notice->state == REFLECTOR_CONNECTED)
        post(watch, TENANTS_OPEN, NULL, NULL, NULL);
    watcher_warn(watch->base.scope, &watch->logged,
                 "namespaces cannot be watched: nothing new is created where their consent is unknown",
                 notice->problem);
}

static bool is_wanted(const struct cluster_io_settings *settings) {
    return settings->tenants;
}

const struct watcher tenants_watcher = {.of_management = true,
                                        .of_workers = true,
                                        .wanted = is_wanted,
                                        .size = sizeof(struct tenant_watch),
                                        .watches = {{.plural = "namespaces", .cluster_scoped = true, .metadata = true}},
                                        .persistent = true,
                                        .uncounted = true,
                                        .handle = handle};
