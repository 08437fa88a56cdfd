// SPDX-License-Identifier: Apache-2.0
// DELETE: preconditions, propagation, finalizers (apiserver registry/generic/registry/store.go Delete).
#include "tests/world/collector.h"
#include "tests/world/commit.h"
#include "tests/world/meta.h"
#include "tests/world/server.h"

#include <string.h>

static bool check_policy(const struct op *op, const char *policy) {
    if (!*policy || strcmp(policy, "Background") == 0 || strcmp(policy, "Foreground") == 0 ||
        strcmp(policy, "Orphan") == 0)
        return true;
    AUTO_PROBLEMS problems = {0};
    AUTO_JSON shown = json_new_string(policy);
    problem_unsupported(&problems, "propagationPolicy", shown, "\"Foreground\", \"Background\", \"Orphan\", \"nil\"");
    answer_invalid_as(op, "DeleteOptions", "meta.k8s.io", "", &problems);
    return false;
}

static bool check_preconditions(const struct op *op, const struct json *options, const struct stored *object) {
    const struct json *wanted = json_get(options, "preconditions");
    const char *uid = json_string(json_get(wanted, "uid")), *version = json_string(json_get(wanted, "resourceVersion"));
    const char *current = json_string_or(json_path(object->value, "metadata", "resourceVersion", NULL), "");
    if (uid && strcmp(uid, object->uid) != 0)
        answer_precondition(op,
                            "the UID in the precondition (%s) does not match the UID in record (%s). The object might "
                            "have been deleted and then recreated",
                            uid, object->uid);
    else if (version && strcmp(version, current) != 0)
        answer_precondition(op,
                            "the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record "
                            "(%s). The object might have been modified",
                            version, current);
    else
        return true;
    return false;
}

static void set_finalizers(struct json *value, const char *policy) {
    if (strcmp(policy, "Orphan") == 0) {
        meta_remove_finalizer(value, "foregroundDeletion");
        meta_add_finalizer(value, "orphan");
    } else if (strcmp(policy, "Foreground") == 0) {
        meta_remove_finalizer(value, "orphan");
        meta_add_finalizer(value, "foregroundDeletion");
    } else {
        meta_remove_finalizer(value, "orphan");
        meta_remove_finalizer(value, "foregroundDeletion");
    }
}

// Sets deletionTimestamp; the object stays until its finalizers are gone.
static void mark(const struct op *op, struct json *value) {
    struct json *metadata = json_get(value, "metadata");
    if (meta_deleting(value))
        return;
    meta_stamp_time(metadata, "deletionTimestamp", op->cluster->now_ns);
    world_set_int(metadata, "deletionGracePeriodSeconds", 0);
    int64_t generation = json_int64(json_get(metadata, "generation"), 0);
    if (generation > 0)
        world_set_int(metadata, "generation", generation + 1);
}

static void mark_stored(const struct op *op, struct stored *object, struct json *value) {
    mark(op, value);
    if (json_equal(value, object->value)) {
        json_free(value);
        commit_noop(op, object);
    } else {
        AUTO_JSON old = op->cluster->hook ? world_json_copy(object->value) : NULL;
        commit_update(op, object, value, old, true);
    }
    answer_blob(op, 200, object->blob);
    world_collector_queue(object);
}

static void terminate_namespace(const struct op *op, struct stored *object) {
    struct json *value = world_json_copy(object->value);
    world_set_text(world_json_child(value, "status"), "phase", "Terminating");
    mark_stored(op, object, value);
}

static void remove_object(const struct op *op, struct stored *object, const char *policy) {
    // batch/v1 Jobs keep the old default (strategy.go DefaultGarbageCollectionPolicy).
    if (!*policy)
        policy = op->kind->special == SPECIAL_JOB ? "Orphan" : "Background";
    if (op->kind->special == SPECIAL_NAMESPACE) {
        terminate_namespace(op, object);
        return;
    }
    struct json *value = world_json_copy(object->value);
    set_finalizers(value, policy);
    if (json_path(value, "metadata", "finalizers", NULL)) {
        mark_stored(op, object, value);
        return;
    }
    json_free(value);
    if (op->kind->special == SPECIAL_POD)
        answer_blob(op, 200, object->blob);
    else
        answer_deleted(op, object->uid);
    commit_remove(op, object);
}

void world_remove(struct op *op, const struct json *options, const char *propagation) {
    struct stored *object = world_find(op->kind, op->namespace_, op->name);
    const char *policy = options ? json_string_or(json_get(options, "propagationPolicy"), "") : propagation;
    if (!object)
        answer_not_found(op);
    else if (check_policy(op, policy) && check_preconditions(op, options, object)) {
        if (op->dry_run)
            answer_deleted(op, object->uid);
        else
            remove_object(op, object, policy);
        return;
    }
    commit_refused(op);
}

void world_remove_stored(struct stored *object, const char *propagation, bool internal) {
    struct world_response response = {0};
    AUTO_TEXT name = world_strdup(object->name);
    AUTO_TEXT namespace_ = world_strdup(object->namespace_);
    struct op op = commit_internal_op(object->kind, namespace_, name, WORLD_DELETE, &response);
    op.internal = internal;
    remove_object(&op, object, propagation);
    world_response_clear(&response);
}
