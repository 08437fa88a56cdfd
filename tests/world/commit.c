// SPDX-License-Identifier: Apache-2.0
#include "tests/world/commit.h"
#include "tests/world/meta.h"

#include <string.h>

static void show(const struct op *op, const struct stored *object, const struct json *old, const struct json *now,
                 bool noop) {
    struct world_cluster *cluster = op->cluster;
    if (!cluster->hook)
        return;
    struct world_write write = {.verb = op->verb,
                                .group = op->kind->group,
                                .plural = op->kind->plural,
                                .namespace_ = object->namespace_,
                                .name = object->name,
                                .user = op->user,
                                .internal = op->internal,
                                .noop = noop,
                                .status = op->verb == WORLD_CREATE ? 201 : 200,
                                .old = old,
                                .now = now,
                                .now_ns = cluster->now_ns};
    cluster->hook(cluster->hook_ctx, &write);
}

static void count(const struct op *op) {
    struct world_counts *counts = &op->cluster->counts;
    (op->internal ? counts->internal : counts->writes)[op->verb]++;
    if (!op->internal && op->kind->special == SPECIAL_EVENT && op->verb != WORLD_DELETE)
        counts->events++;
}

struct stored *commit_create(const struct op *op, struct json *value) {
    count(op);
    meta_managed_fields(op, value, NULL);
    struct stored *object = world_store_add(op->kind, value);
    show(op, object, NULL, object->value, false);
    return object;
}

void commit_update(const struct op *op, struct stored *object, struct json *value, const struct json *old,
                   bool same_spec) {
    count(op);
    meta_managed_fields(op, value, old);
    world_store_replace(object, value, same_spec);
    show(op, object, old, object->value, false);
}

void commit_replace(const struct op *op, struct stored *object, struct json *value, bool same_spec) {
    count(op);
    meta_managed_fields(op, value, object->value);
    AUTO_JSON old = world_store_exchange(object, value, same_spec);
    show(op, object, old, object->value, false);
}

void commit_noop(const struct op *op, struct stored *object) {
    if (!op->internal)
        op->cluster->counts.noops++;
    show(op, object, object->value, object->value, true);
}

void commit_remove(const struct op *op, struct stored *object) {
    count(op);
    // The hook is called while the object still exists, but reports it as deleted.
    show(op, object, object->value, NULL, false);
    world_store_remove(object);
}

struct op commit_internal_op(struct kind *kind, const char *namespace_, const char *name, enum world_verb verb,
                             struct world_response *response) {
    return (struct op){.cluster = kind->cluster,
                       .kind = kind,
                       .version = kind->versions[0],
                       .namespace_ = namespace_,
                       .name = name,
                       .subresource = verb == WORLD_UPDATE_STATUS ? "status" : "",
                       .verb = verb,
                       .internal = true,
                       .response = response};
}

void commit_internal_update(struct stored *object, struct json *value, bool same_spec) {
    struct world_response response = {0};
    struct op op = commit_internal_op(object->kind, object->namespace_, object->name, WORLD_UPDATE, &response);
    commit_replace(&op, object, value, same_spec);
}

void commit_internal_remove(struct stored *object) {
    struct world_response response = {0};
    struct op op = commit_internal_op(object->kind, object->namespace_, object->name, WORLD_DELETE, &response);
    commit_remove(&op, object);
}

void commit_drop_finalizer(struct stored *object, const char *finalizer) {
    struct json *value = world_json_copy(object->value);
    meta_remove_finalizer(value, finalizer);
    bool last = !json_path(value, "metadata", "finalizers", NULL);
    commit_internal_update(object, value, true);
    if (last)
        commit_internal_remove(object);
}

void commit_refused(const struct op *op) {
    struct world_cluster *cluster = op->cluster;
    if (op->internal)
        cluster->counts.internal_refused++;
    if (!cluster->hook)
        return;
    struct json *status = NULL;
    error_free(json_parse(op->response->body, op->response->body_len, &status));
    struct world_write write = {.verb = op->verb,
                                .group = op->kind->group,
                                .plural = op->kind->plural,
                                .namespace_ = op->namespace_,
                                .name = op->name,
                                .user = op->user,
                                .internal = op->internal,
                                .status = op->response->status,
                                .message = json_string_or(json_get(status, "message"), ""),
                                .now_ns = cluster->now_ns};
    cluster->hook(cluster->hook_ctx, &write);
    json_free(status);
}
