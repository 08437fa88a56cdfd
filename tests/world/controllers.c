// SPDX-License-Identifier: Apache-2.0
#include "tests/world/controllers.h"
#include "core/base/clock.h"
#include "tests/world/commit.h"
#include "tests/world/meta.h"
#include "tests/world/player.h"
#include "tests/world/rules.h"
#include "tests/world/server.h"

#include <string.h>

#define DELAY (10 * CLOCK_MS)

static bool is_ours(const struct stored *object) {
    const struct kind *kind = object->kind;
    bool any = kind->special == SPECIAL_JOB || kind->special == SPECIAL_CRONJOB || kind->special == SPECIAL_CLAIM ||
               kind->player;
    return any && !kind->cluster->options.no_controllers;
}

void world_controllers_at(struct stored *object, int64_t at_ns) {
    if (!heap_set(&object->kind->cluster->controllers, &object->timer, at_ns))
        world_oom();
}

void world_controllers_changed(struct stored *object) {
    struct world_cluster *cluster = object->kind->cluster;
    int64_t delay = cluster->options.controller_delay_ns ? cluster->options.controller_delay_ns : DELAY;
    int64_t at = cluster->now_ns + delay;
    if (object->kind->special >= SPECIAL_CONFIGMAP)
        world_jobs_wake(cluster, at);
    if (!is_ours(object))
        return;
    if (object->timer.place == HEAP_NOT_IN || object->timer.at_ns > at)
        world_controllers_at(object, at);
}

void world_controllers_gone(struct stored *object) {
    heap_remove(&object->kind->cluster->controllers, &object->timer);
    if (object->run && object->kind->player)
        player_forget(object);
    else if (object->run)
        world_jobs_forget(object);
}

void world_controllers_step(struct world_cluster *cluster) {
    for (struct timer *timer; (timer = heap_first(&cluster->controllers)) && timer->at_ns <= cluster->now_ns;) {
        struct stored *object = (struct stored *)((char *)timer - offsetof(struct stored, timer));
        heap_remove(&cluster->controllers, timer);
        if (object->kind->special == SPECIAL_JOB)
            world_jobs_sync(object);
        else if (object->kind->player)
            player_sync(object);
        else if (object->kind->special == SPECIAL_CLAIM)
            world_claims_sync(object);
        else
            world_cronjobs_sync(object);
    }
}

const char *world_annotation(const struct json *value, const char *name) {
    const char *text = json_string(json_get(json_path(value, "metadata", "annotations", NULL), name));
    return text ? text
                : json_string(json_get(json_path(value, "spec", "template", "metadata", "annotations", NULL), name));
}

bool world_write_status(struct stored *object, struct json *status) {
    struct world_response response = {0};
    bool whole = !object->kind->has_status; // each write of the object is a new generation
    struct op op = commit_internal_op(object->kind, object->namespace_, object->name,
                                      whole ? WORLD_UPDATE : WORLD_UPDATE_STATUS, &response);
    AUTO_PROBLEMS problems = {0};
    AUTO_JSON old = NULL;
    struct json *old_status = json_detach(object->value, "status");
    struct json *previous = json_new_object();
    if (!previous)
        world_oom();
    if (old_status)
        world_json_set(previous, "status", old_status);
    world_json_set(object->value, "status", status);
    rules_update_status(object->value, previous, object->kind->special, &problems);
    struct json *metadata = json_get(object->value, "metadata");
    if (whole)
        world_set_int(metadata, "generation", json_int64(json_get(metadata, "generation"), 0) + 1);
    if (op.cluster->hook) {
        old = world_json_copy(object->value);
        json_remove(old, "status");
        if (old_status)
            world_json_set(old, "status", world_json_copy(old_status));
    }
    bool valid = !world_problems_any(&problems);
    if (valid) {
        commit_update(&op, object, object->value, old, true);
    } else {
        json_remove(object->value, "status");
        if (old_status)
            world_json_set(object->value, "status", json_detach(previous, "status"));
        answer_invalid(&op, &problems);
        commit_refused(&op);
    }
    json_free(previous);
    world_response_clear(&response);
    return valid;
}

void world_bind_pod(struct stored *pod, const char *node) {
    struct world_response response = {0};
    struct op op = commit_internal_op(pod->kind, pod->namespace_, pod->name, WORLD_UPDATE, &response);
    AUTO_JSON old = op.cluster->hook ? world_json_copy(pod->value) : NULL;
    world_set_text(world_json_child(pod->value, "spec"), "nodeName", node);
    commit_update(&op, pod, pod->value, old, false);
    world_response_clear(&response);
}

int world_create_internal(struct kind *kind, const char *namespace_, struct json *object) {
    struct world_response response = {0};
    struct op op = commit_internal_op(kind, namespace_, "", WORLD_CREATE, &response);
    world_create(&op, object);
    int status = response.status;
    world_response_clear(&response);
    return status;
}
