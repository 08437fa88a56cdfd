// SPDX-License-Identifier: Apache-2.0
// POST, PUT and PATCH.
#include "core/json/pointer.h"
#include "tests/world/collector.h"
#include "tests/world/commit.h"
#include "tests/world/custom.h"
#include "tests/world/meta.h"
#include "tests/world/rules.h"
#include "tests/world/server.h"
#include "tests/world/strict.h"

#include <stdlib.h>
#include <string.h>

// Answers, and notes the refusal.
static void refuse_invalid(const struct op *op, struct field_problems *problems) {
    answer_invalid(op, problems);
    commit_refused(op);
}

static bool check_type(const struct op *op, const struct json *body) {
    const char *version = json_string(json_get(body, "apiVersion")), *kind = json_string(json_get(body, "kind"));
    AUTO_TEXT expected = text_format("%s%s%s", op->kind->group, *op->kind->group ? "/" : "", op->version);
    if (!expected)
        world_oom();
    if (!kind && !version && op->kind->builtin)
        return true;
    if (!kind || !*kind)
        answer_bad_request(op->response, "Object 'Kind' is missing in request body");
    else if (!version || strcmp(version, expected) != 0)
        answer_bad_request(op->response,
                           "the API version in the data (%s) does not match the expected API version (%s)",
                           version ? version : "", expected);
    else if (strcmp(kind, op->kind->kind) != 0)
        answer_bad_request(op->response, "%s in version \"%s\" cannot be handled as a %s", kind, op->version,
                           op->kind->kind);
    else
        return true;
    return false;
}

static bool check_namespace(struct op *op, const struct json *body) {
    const char *given = json_string_or(json_path(body, "metadata", "namespace", NULL), "");
    if (op->kind->cluster_scoped)
        return true;
    if (*given && strcmp(given, op->namespace_) != 0) {
        answer_bad_request(op->response, "the namespace of the provided object does not match the namespace sent on "
                                         "the request");
        return false;
    }
    const struct stored *space = world_find_key(op->cluster->namespaces, op->namespace_);
    if (!space) {
        struct op about = *op;
        about.kind = op->cluster->namespaces;
        about.name = op->namespace_;
        answer_not_found(&about);
        return false;
    }
    if (!meta_deleting(space->value))
        return true;
    struct json *cause = json_new_object(), *causes = json_new_array();
    world_set_text(cause, "reason", "NamespaceTerminating");
    AUTO_TEXT message = text_format("namespace %s is being terminated", op->namespace_);
    world_set_text(cause, "message", message);
    world_set_text(cause, "field", "metadata.namespace");
    if (!json_append(causes, cause))
        world_oom();
    struct details details = {.name = op->name, .group = op->kind->group, .kind = op->kind->plural, .causes = causes};
    answer_failure(
        op->response, 403, "Forbidden", &details,
        "%s \"%s\" is forbidden: unable to create new content in namespace %s because it is being terminated",
        op->kind->resource, op->name, op->namespace_);
    return false;
}

static bool admit(const struct op *op, struct json *value) {
    char message[256] = "";
    struct world_cluster *cluster = op->cluster;
    if (!cluster->admit || op->internal)
        return true;
    int status = cluster->admit(cluster->admit_ctx, op->verb, op->kind->plural, value, message);
    if (status == 0)
        return true;
    struct details details = {.name = op->name, .group = op->kind->group, .kind = op->kind->plural};
    if (status == 403)
        answer_failure(op->response, 403, "Forbidden", &details, "%s \"%s\" is forbidden: %s", op->kind->resource,
                       op->name, message);
    else
        answer_failure(op->response, status, status == 422 ? "Invalid" : "InternalError", &details, "%s", message);
    return false;
}

static bool refuse_unknown(const struct op *op, const struct json *before, const struct json *after) {
    AUTO_BUFFER(unknown, (size_t)1 << 20);
    strict_unknown(before, after, &unknown);
    if (!unknown.len)
        return false;
    answer_bad_request(op->response, "%s in version \"%s\" cannot be handled as a %s: strict decoding error: %s",
                       op->kind->kind, op->version, op->kind->kind, unknown.data);
    return true;
}

static bool decode(const struct op *op, struct json *value, bool patch) {
    char message[256] = "";
    AUTO_JSON before = op->strict && !patch ? world_json_copy(value) : NULL;
    if (rules_decode(op->kind, value, message))
        return !before || !refuse_unknown(op, before, value);
    if (patch) { // the patched object is invalid (patch.go)
        AUTO_PROBLEMS problems = {0};
        problem_invalid(&problems, "patch", value, message);
        answer_invalid_as(op, "", "", "", &problems);
    } else {
        answer_bad_request(op->response, "%s in version \"%s\" cannot be handled as a %s: %s", op->kind->kind,
                           op->version, op->kind->kind, message);
    }
    return false;
}

static void prepare_create(struct op *op, struct json *value, struct field_problems *problems) {
    json_remove(value, "apiVersion");
    json_remove(value, "kind");
    if (op->kind->has_status && (op->kind->builtin || json_get(value, "status")))
        json_remove(value, "status");
    meta_create(op, value);
    rules_create(op, value, problems);
    meta_check(op, value, problems);
}

void world_create(struct op *op, struct json *body) {
    AUTO_PROBLEMS problems = {0};
    const char *name = json_string_or(json_path(body, "metadata", "name", NULL), "");
    op->name = name;
    if (!json_is(body, JSON_OBJECT) || !check_type(op, body) || !decode(op, body, false) ||
        !check_namespace(op, body) || !admit(op, body)) {
        if (!op->response->status)
            answer_bad_request(op->response, "the body is not an object");
        commit_refused(op);
        json_free(body);
        return;
    }
    prepare_create(op, body, &problems);
    if (world_problems_any(&problems)) {
        refuse_invalid(op, &problems);
    } else if (world_find(op->kind, op->kind->cluster_scoped ? "" : op->namespace_, op->name)) {
        answer_exists(op);
        commit_refused(op);
    } else if (op->dry_run) {
        answer_tree(op, 201, body);
    } else {
        const struct stored *object = commit_create(op, body);
        answer_blob(op, 201, object->blob);
        return;
    }
    json_free(body);
}

// The new object. `borrowed`: its spec was moved here from the stored object, and is moved back if the write fails.
struct draft {
    struct json *value;
    bool borrowed;
};

static void give_back(struct draft *draft, struct stored *object) {
    if (draft->borrowed)
        world_json_set(object->value, "spec", json_detach(draft->value, "spec"));
    json_free(draft->value);
    *draft = (struct draft){0};
}

// A status write does not change the spec, the bulk of an object, so it is not copied, unless the hook needs the
// complete old object.
static void draft_status(struct draft *draft, struct stored *object, bool borrow) {
    draft->value = json_new_object();
    if (!draft->value)
        world_oom();
    for (const struct json *member = json_first(object->value); member; member = json_next(member))
        if (!borrow || strcmp(json_key(member), "spec") != 0)
            world_json_set(draft->value, json_key(member), world_json_copy(member));
    draft->borrowed = borrow && json_get(object->value, "spec");
    if (draft->borrowed)
        world_json_set(draft->value, "spec", json_detach(object->value, "spec"));
}

static void keep_only(struct json *body, const char *a, const char *b) {
    for (struct json *member = json_first(body), *next; member; member = next) {
        next = json_next(member);
        if (strcmp(json_key(member), a) != 0 && strcmp(json_key(member), b) != 0)
            json_remove_child(body, member);
    }
}

static void draft_patch(struct draft *draft, const struct op *op, struct stored *object, struct json *body) {
    if (*op->subresource) {
        keep_only(body, "metadata", "status");
        draft_status(draft, object, !op->cluster->hook && !op->dry_run);
    } else {
        json_remove(body, "apiVersion");
        json_remove(body, "kind");
        if (op->kind->has_status)
            json_remove(body, "status");
        draft->value = world_json_copy(object->value);
    }
    if (!patch_apply(&draft->value, body))
        world_oom();
}

// PUT replaces the object, except for what this endpoint does not write.
static void draft_put(struct draft *draft, const struct op *op, struct stored *object, struct json *body) {
    if (*op->subresource) {
        draft_status(draft, object, !op->cluster->hook && !op->dry_run);
        json_remove(draft->value, "status");
        struct json *metadata = json_detach(body, "metadata"), *status = json_detach(body, "status");
        if (metadata)
            world_json_set(draft->value, "metadata", metadata);
        if (status)
            world_json_set(draft->value, "status", status);
        return;
    }
    draft->value = world_json_copy(body);
    json_remove(draft->value, "apiVersion");
    json_remove(draft->value, "kind");
    if (!op->kind->has_status)
        return;
    json_remove(draft->value, "status");
    const struct json *status = json_get(object->value, "status");
    if (status)
        world_json_set(draft->value, "status", world_json_copy(status));
}

static bool check_identity(const struct op *op, const struct json *body, const struct stored *object, bool patch) {
    const struct json *metadata = json_get(body, "metadata");
    const char *name = json_string(json_get(metadata, "name")), *uid = json_string(json_get(metadata, "uid"));
    const char *space = json_string(json_get(metadata, "namespace"));
    const char *version = json_string(json_get(metadata, "resourceVersion"));
    if ((!name && !patch) || (name && strcmp(name, op->name) != 0))
        answer_bad_request(op->response, "the name of the object (%s) does not match the name on the URL (%s)",
                           name ? name : "", op->name);
    else if (space && *space && strcmp(space, op->namespace_) != 0)
        answer_bad_request(op->response, "the namespace of the provided object does not match the namespace sent on "
                                         "the request");
    else if (!patch && uid && *uid && strcmp(uid, object->uid) != 0)
        answer_conflict(op, "Precondition failed: UID in precondition: %s, UID in object meta: %s", uid, object->uid);
    else if (version && *version &&
             strcmp(version, json_string_or(json_path(object->value, "metadata", "resourceVersion", NULL), "")) != 0)
        answer_stale(op);
    else
        return true;
    return false;
}

static bool same_but_metadata(const struct op *op, const struct json *a, const struct json *b) {
    size_t compared = 0;
    for (const struct json *member = json_first(a); member; member = json_next(member)) {
        const char *key = json_key(member);
        bool skipped = strcmp(key, "metadata") == 0 || (op->kind->has_status && strcmp(key, "status") == 0);
        compared += !skipped;
        if (!skipped && !json_equal(member, json_get(b, key)))
            return false;
    }
    size_t other = 0;
    for (const struct json *member = json_first(b); member; member = json_next(member))
        other += strcmp(json_key(member), "metadata") != 0 &&
                 !(op->kind->has_status && strcmp(json_key(member), "status") == 0);
    return compared == other;
}

static void bump_generation(const struct op *op, struct json *value) {
    struct json *metadata = json_get(value, "metadata");
    if (op->kind->has_generation)
        world_set_int(metadata, "generation", json_int64(json_get(metadata, "generation"), 0) + 1);
}

// Validates the draft against what is stored. Finds *noop and *same_spec.
static void check_update(struct op *op, struct draft *draft, struct stored *object, struct field_problems *problems,
                         bool *noop, bool *same_spec) {
    const struct json *old = object->value;
    bool status = *op->subresource;
    if (status && !op->kind->builtin)
        world_json_set(draft->value, "metadata", world_json_copy(json_get(old, "metadata")));
    meta_update(op, draft->value, old, problems);
    if (status)
        rules_update_status(draft->value, old, op->kind->special, problems);
    else
        rules_update(op, draft->value, old, problems);
    if (status && op->kind->custom)
        custom_check_status(op->kind->custom, draft->value, problems);
    if (world_problems_any(problems))
        return;
    *same_spec = draft->borrowed || json_equal(json_get(draft->value, "spec"), json_get(old, "spec"));
    bool same_rest = status || same_but_metadata(op, draft->value, old);
    *noop = same_rest && json_equal(json_get(draft->value, "metadata"), json_get(old, "metadata")) &&
            (!op->kind->has_status || json_equal(json_get(draft->value, "status"), json_get(old, "status")));
    if (!same_rest)
        bump_generation(op, draft->value);
}

static void store_draft(const struct op *op, struct draft *draft, struct stored *object, bool same_spec) {
    // The last finalizer of an object that is being deleted is what kept it.
    bool last = meta_deleting(object->value) && json_path(object->value, "metadata", "finalizers", NULL) &&
                !json_path(draft->value, "metadata", "finalizers", NULL);
    commit_replace(op, object, draft->value, same_spec);
    answer_blob(op, 200, object->blob);
    if (last) {
        struct op gone = *op;
        gone.verb = WORLD_DELETE;
        gone.internal = true;
        commit_remove(&gone, object);
    }
}

static void update_stored(struct op *op, struct draft *draft, struct stored *object, bool patch) {
    AUTO_PROBLEMS problems = {0};
    bool noop = false, same_spec = false;
    if (!decode(op, draft->value, patch) || !admit(op, draft->value)) {
        commit_refused(op);
        give_back(draft, object);
        return;
    }
    check_update(op, draft, object, &problems, &noop, &same_spec);
    if (world_problems_any(&problems))
        refuse_invalid(op, &problems);
    else if (noop)
        answer_blob(op, 200, object->blob);
    else if (op->dry_run)
        answer_tree(op, 200, draft->value);
    else {
        store_draft(op, draft, object, same_spec);
        return;
    }
    bool refused = op->response->status != 200;
    give_back(draft, object);
    if (!refused && noop)
        commit_noop(op, object);
}

// An update of a custom resource must have a resourceVersion.
static bool check_unconditional(const struct op *op, const struct json *body) {
    const char *version = json_string_or(json_path(body, "metadata", "resourceVersion", NULL), "");
    if (op->kind->builtin || *version)
        return true;
    AUTO_PROBLEMS problems = {0};
    AUTO_JSON zero = json_new_int64(0);
    problem_invalid(&problems, "metadata.resourceVersion", zero, "must be specified for an update");
    answer_invalid(op, &problems);
    return false;
}

void world_update(struct op *op, struct json *body, bool patch) {
    struct draft draft = {0};
    struct stored *object = world_find(op->kind, op->namespace_, op->name);
    if (!object)
        answer_not_found(op);
    else if (!json_is(body, JSON_OBJECT))
        answer_bad_request(op->response, "the body is not an object");
    else if ((patch || check_type(op, body)) && check_identity(op, body, object, patch) &&
             (patch || check_unconditional(op, body))) {
        if (patch)
            draft_patch(&draft, op, object, body);
        else
            draft_put(&draft, op, object, body);
        update_stored(op, &draft, object, patch);
        json_free(body);
        return;
    }
    commit_refused(op);
    json_free(body);
}
