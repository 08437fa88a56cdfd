// SPDX-License-Identifier: Apache-2.0
// Requests about sources and copies. They get half of the window of a cluster, so that workloads go on
// beside them.
#include "core/engine/dependencies/dependency.h"

#include "core/base/memory.h"
#include "core/base/sensitive.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/request/command.h"
#include "core/engine/shard/shard.h"
#include "core/engine/tenancy/tenancy.h"

static const enum verb verbs[] = {[DEPENDENCY_READ_SOURCE] = VERB_GET,
                                  [DEPENDENCY_READ_COPY] = VERB_GET,
                                  [DEPENDENCY_CREATE] = VERB_CREATE,
                                  [DEPENDENCY_CHANGE] = VERB_MERGE_PATCH,
                                  [DEPENDENCY_CHANGE_ORIGINS] = VERB_MERGE_PATCH,
                                  [DEPENDENCY_DELETE] = VERB_DELETE,
                                  [DEPENDENCY_NAMESPACE] = VERB_CREATE};

static struct dependency_request *take_slot(struct dependency_part *all, uint64_t *id) {
    if (all->free_request == 0) {
        if (!array_reserve(&all->requests, &all->cap_requests, all->n_requests + 1, sizeof *all->requests))
            return NULL;
        all->requests[all->n_requests++] = (struct dependency_request){.generation = 0};
        all->free_request = (uint32_t)all->n_requests;
    }
    uint32_t place = all->free_request;
    struct dependency_request *slot = &all->requests[place - 1];
    all->free_request = slot->next_free;
    slot->generation = (slot->generation + 1) & INT32_MAX;
    *id = REQUEST_BESIDE | ((uint64_t)slot->generation << 32) | place;
    return slot;
}

struct dependency_cluster *dependency_cluster_of(struct engine *engine, size_t cluster) {
    struct dependency_part *all = engine->dependencies;
    bool ok = array_reserve(&all->clusters, &all->n_clusters, cluster + 1, sizeof *all->clusters);
    return ok ? &all->clusters[cluster] : NULL;
}

bool dependency_has_room(struct engine *engine, size_t cluster) {
    const struct dependency_cluster *of = dependency_cluster_of(engine, cluster);
    return of && pacing_has_place(engine, cluster, of->in_flight);
}

void dependency_turn_wait(struct engine *engine, size_t cluster, struct dependency_turn *turn,
                          struct dependency *object) {
    struct dependency_cluster *of = dependency_cluster_of(engine, cluster);
    if (!of) // out of memory
        dependency_wake(engine, object, engine->now.mono_ns + CLOCK_SECOND);
    if (!of || turn->object)
        return;
    *turn = (struct dependency_turn){.object = object, .before = of->last};
    *(of->last ? &of->last->next : &of->first) = turn;
    of->last = turn;
}

void dependency_turn_end(struct engine *engine, size_t cluster, struct dependency_turn *turn) {
    struct dependency_cluster *of = dependency_cluster_of(engine, cluster);
    if (!of || !turn->object)
        return;
    *(turn->before ? &turn->before->next : &of->first) = turn->next;
    *(turn->next ? &turn->next->before : &of->last) = turn->before;
    turn->object = NULL;
}

static bool fill(const struct engine *engine, struct command *command, const struct dependency *object,
                 enum dependency_request_type type, const char *body) {
    const struct dependency_resource *r = object->resource;
    bool namespace_ = type == DEPENDENCY_NAMESPACE;
    const char *in = namespace_ ? "" : object->namespace_;
    char plural[REFERENCE_RESOURCE_MAX];
    text_copy(plural, sizeof plural, namespace_ ? "namespaces" : r->name);
    plural[strcspn(plural, ".")] = '\0';
    struct request request = {.verb = verbs[type],
                              .resource = {.group = namespace_ ? "" : reference_group(r->name),
                                           .version = namespace_ ? "v1" : r->version,
                                           .plural = plural,
                                           .cluster_scoped = *in == '\0'},
                              .namespace_ = in,
                              .tenant = tenancy_of(engine, command->cluster, in, verbs[type]),
                              .name = namespace_ ? object->namespace_ : object->name,
                              .body = body,
                              .body_len = body ? strlen(body) : 0,
                              .sensitive = r->sensitive};
    return command_set_request(command, &request);
}

// Any host may read a source: it needs the references.
static uint32_t shard_to_hold(const struct engine *engine, const struct dependency *object) {
    uint32_t shard = dependency_shard(engine, object);
    uint64_t mask = shard_mask(engine);
    while (mask && !shard_is_in(mask, shard))
        shard = (shard + 1) % SHARDS_MAX;
    return shard;
}

bool dependency_send(struct engine *engine, struct dependency *object, size_t cluster,
                     enum dependency_request_type type, const char *body) {
    struct update *update = engine->update;
    struct dependency_cluster *of = dependency_cluster_of(engine, cluster);
    if (!of ||
        !array_reserve(&update->commands, &update->cap_commands, update->n_commands + 1, sizeof *update->commands))
        return false;
    struct command *command = &update->commands[update->n_commands];
    *command = (struct command){.cluster = cluster, .shard = shard_to_hold(engine, object)};
    if (!fill(engine, command, object, type, body))
        return false;
    struct dependency_request *slot = take_slot(engine->dependencies, &command->id);
    if (!slot) {
        command_free(command);
        return false;
    }
    slot->object = object;
    slot->type = type;
    slot->cluster = (uint32_t)cluster;
    object->held++;
    of->in_flight++;
    update->n_commands++;
    pacing_sent_beside(engine, cluster);
    engine->stats.clusters[cluster].sent[verbs[type]]++;
    return true;
}

// Answers ----------------------------------------------------------------------------------------------------------

static void failed(struct engine *engine, const struct response *response, int64_t *not_before_ns, uint16_t *failures,
                   char **problem) {
    *not_before_ns = answer_next_try_ns(engine, response, failures);
    if (!reason_is_permanent(response->reason))
        return;
    AUTO_TEXT text = text_format("%s: %s", reason_text(response->reason), response->message);
    dependency_set_problem(problem, text);
}

// The watch has shown a newer version since the request, or the end.
static bool is_outdated(const struct dependency *object, const struct json *source) {
    const char *known = strchr(object->source, '/');
    return object->presence != PRESENCE_THERE || (known && object_version_is_older(object_version(source), known + 1));
}

static void on_source(struct engine *engine, struct dependency *object, struct response *response) {
    SENSITIVE_WHILE(object->resource->sensitive);
    object->busy = false;
    object->read_ns = engine->now.mono_ns;
    if (response->reason == REASON_NOT_FOUND) {
        object->not_before_ns = engine->now.mono_ns + DEPENDENCY_READ_NS; // the watch will show that
        return;
    }
    if (response->reason != REASON_OK || !response->object || response->object->too_large) {
        failed(engine, response, &object->not_before_ns, &object->failures, &object->problem);
        if (response->object && response->object->too_large)
            dependency_set_problem(&object->problem, response->object->too_large);
        dependency_changed(engine, object);
        return;
    }
    const struct json *source = response->object->value;
    if (is_outdated(object, source))
        return;
    object->failures = 0;
    dependency_set_problem(&object->problem, NULL);
    dependency_see_source(engine, object, source);
    object->size = response->object->len;
    object->denied = copy_is_denied(object->resource->name, source);
    if (object->resource->refers)
        needs_read_object(engine, object, source);
    AUTO_JSON content = copy_content(object->resource->name, source);
    dependency_drop_content(object);
    object->content = content ? json_text(content, NULL) : NULL;
    object->read_mark = object->mark;
    for (struct use *u = object->users; u; u = u->older) {
        u->needs->stale = true;
        queue_entry(engine, u->needs->entry);
    }
}

static void refuse(struct engine *engine, struct dependency *object, struct copy *copy,
                   const struct response *response) {
    failed(engine, response, &copy->not_before_ns, &copy->failures, &copy->problem);
    copy->refused |= reason_is_permanent(response->reason);
    bool of_namespace = response->reason == REASON_QUOTA || response->reason == REASON_NAMESPACE_NOT_FOUND ||
                        response->reason == REASON_NAMESPACE_TERMINATING;
    if (of_namespace)
        cluster_relist(engine, copy->cluster, RELIST_NAMESPACES);
    dependency_changed(engine, object);
}

// False: the watch has shown a newer version before the answer came.
static bool see_answer(struct engine *engine, struct dependency *object, struct copy *copy, const struct json *there) {
    if (copy_is_newer(copy, there))
        return false;
    copy->answered_ns = 0; // this answer is newer than any watch event before
    dependency_see_copy(engine, object, copy, there);
    copy->answered_ns = engine->now.mono_ns;
    return true;
}

static void count_result(struct engine *engine, const struct copy *copy, const struct response *response,
                         enum copy_result success) {
    engine->stats.clusters[copy->cluster].copies[response->reason == REASON_OK ? success : COPIES_FAILED]++;
}

static void written(struct engine *engine, struct dependency *object, struct copy *copy, struct response *response) {
    copy->failures = 0;
    copy->not_before_ns = 0;
    copy->refused = false;
    dependency_set_problem(&copy->problem, NULL);
    if (response->object)
        (void)see_answer(engine, object, copy, response->object->value);
}

static void on_create(struct engine *engine, struct dependency *object, struct copy *copy, struct response *response) {
    count_result(engine, copy, response, COPIES_CREATED);
    if (response->reason == REASON_OK)
        written(engine, object, copy, response);
    else if (response->reason == REASON_NAMESPACE_NOT_FOUND && engine->settings.create_namespaces &&
             !copy->namespace_made)
        copy->namespace_missing = true;
    else if (response->reason == REASON_ALREADY_EXISTS)
        dependency_read_copy(engine, object, copy);
    else
        refuse(engine, object, copy, response);
}

static void on_change(struct engine *engine, struct dependency *object, struct copy *copy, struct response *response,
                      bool of_content) {
    count_result(engine, copy, response, COPIES_CHANGED);
    if (response->reason == REASON_OK) {
        written(engine, object, copy, response);
        return;
    }
    if (response->reason == REASON_NOT_FOUND)
        dependency_lose_copy(engine, object, copy);
    else if (response->reason == REASON_INVALID && of_content && copy->state == COPY_OWN &&
             strcmp(object->resource->name, "persistentvolumeclaims") != 0)
        copy->recreate = true;
    else
        refuse(engine, object, copy, response);
}

static void on_delete(struct engine *engine, struct dependency *object, struct copy *copy,
                      const struct response *response) {
    count_result(engine, copy, response, COPIES_DELETED);
    if (response->reason == REASON_NOT_FOUND)
        dependency_lose_copy(engine, object, copy);
    else if (response->reason == REASON_OK && copy_is_there(copy))
        copy->state = COPY_UNKNOWN; // the watch shows the end, or has done so already
    else if (response->reason == REASON_UNKNOWN_OUTCOME) {
        dependency_read_copy(engine, object, copy); // nothing is ready meanwhile
        copy->deleting = copy->busy;
    } else if (response->reason != REASON_OK)
        refuse(engine, object, copy, response);
}

static void on_namespace(struct engine *engine, struct dependency *object, struct copy *copy,
                         const struct response *response) {
    copy->namespace_made = true;
    if (response->reason != REASON_OK && response->reason != REASON_ALREADY_EXISTS)
        refuse(engine, object, copy, response);
}

static void on_read(struct engine *engine, struct dependency *object, struct copy *copy, struct response *response) {
    if (response->reason == REASON_NOT_FOUND) {
        copy->state = COPY_OTHER; // as if a watch had shown the end
        dependency_lose_copy(engine, object, copy);
        return;
    }
    if (response->reason != REASON_OK || !response->object) {
        refuse(engine, object, copy, response);
        return;
    }
    if (see_answer(engine, object, copy, response->object->value))
        dependency_compare(engine, object, copy, response->object->value);
}

static void of_copy(struct engine *engine, struct dependency *object, const struct dependency_request *request,
                    struct response *response) {
    struct copy *copy = dependency_copy(object, request->cluster);
    if (!copy)
        return;
    copy->busy = copy->deleting = false;
    if (response->reason == REASON_OK && response->object && response->object->too_large)
        object_free(TAKE(response->object));
    switch (request->type) {
    case DEPENDENCY_READ_COPY:
        on_read(engine, object, copy, response);
        break;
    case DEPENDENCY_CREATE:
        on_create(engine, object, copy, response);
        break;
    case DEPENDENCY_DELETE:
        on_delete(engine, object, copy, response);
        break;
    case DEPENDENCY_NAMESPACE:
        on_namespace(engine, object, copy, response);
        break;
    default:
        on_change(engine, object, copy, response, request->type == DEPENDENCY_CHANGE);
        break;
    }
}

static void end_slot(struct engine *engine, uint64_t place, struct dependency_request *out) {
    struct dependency_part *all = engine->dependencies;
    struct dependency_request *slot = &all->requests[place - 1];
    *out = *slot;
    slot->object = NULL;
    slot->next_free = all->free_request;
    all->free_request = (uint32_t)place;
    all->clusters[out->cluster].in_flight--;
    out->object->held--;
}

void dependency_on_answer(struct engine *engine, struct engine_event *event) {
    struct dependency_part *all = engine->dependencies;
    uint64_t id = event->answer.command, place = id & UINT32_MAX;
    struct response *response = event->answer.response;
    if (!(id & REQUEST_BESIDE) || !all || place == 0 || place > all->n_requests)
        return;
    struct dependency_request *slot = &all->requests[place - 1], request;
    if (!slot->object || slot->generation != (uint32_t)(id >> 32 & INT32_MAX))
        return;
    end_slot(engine, place, &request);
    enum verb verb = verbs[request.type];
    pacing_answered(engine, request.cluster, verb == VERB_GET ? WINDOW_READ : WINDOW_WRITE, response,
                    event->answer.sent_ns ? engine->received_ns - event->answer.sent_ns : 0);
    engine->stats.clusters[request.cluster].answers[verb][response->reason]++;
    tenancy_answered(engine, request.cluster, request.object->namespace_, verb, response);
    if (request.type == DEPENDENCY_READ_SOURCE)
        on_source(engine, request.object, response);
    else
        of_copy(engine, request.object, &request, response);
    dependency_touch(engine, request.object);
}

void dependency_end_requests(struct engine *engine, size_t cluster) {
    static const struct response none = {.reason = REASON_NOT_SENT};
    struct dependency_part *all = engine->dependencies;
    for (size_t i = 0; i < all->n_requests; i++) {
        struct dependency_request request;
        if (!all->requests[i].object || all->requests[i].cluster != cluster)
            continue;
        end_slot(engine, i + 1, &request);
        pacing_answered(engine, cluster, WINDOW_WRITE, &none, 0);
        dependency_touch(engine, request.object);
    }
}
