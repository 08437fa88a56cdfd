// SPDX-License-Identifier: Apache-2.0
// The objects that a workload refers to, as they are in the management cluster and in the worker of --cluster.
#include "core/cmd/plan/references.h"

#include "core/base/namespace_map.h"
#include "core/engine/dependencies/dependency.h"
#include "core/kube/client/ask.h"

#define NOT_IN_WORKER "would be delegated, but not placed in the worker"

// *presence and, with an object, *out; a sentence about an answer that is neither goes to `trouble`.
static struct error *get(const struct cluster *cluster, const struct reference *r, const char *namespace_,
                         enum plan_presence *presence, struct json **out, struct buffer *trouble) {
    __attribute__((cleanup(ask_cleanup))) struct response response = {.message = NULL};
    AUTO_TEXT plural = strndup(r->resource, strcspn(r->resource, "."));
    const struct request request = {.verb = VERB_GET,
                                    .resource = {.group = reference_group(r->resource),
                                                 .version = r->version,
                                                 .plural = plural,
                                                 .cluster_scoped = r->cluster_scoped},
                                    .namespace_ = r->cluster_scoped ? NULL : namespace_,
                                    .name = r->name,
                                    .sensitive = strcmp(r->resource, "secrets") == 0};
    TRY(plural ? ask(cluster->client, &request, &response) : error_no_memory());
    bool absent = response.reason == REASON_NOT_FOUND || response.reason == REASON_KIND_NOT_FOUND ||
                  response.reason == REASON_NAMESPACE_NOT_FOUND;
    *presence = response.reason == REASON_OK && response.object ? PLAN_PRESENT : absent ? PLAN_ABSENT : PLAN_UNREADABLE;
    if (*presence == PLAN_UNREADABLE)
        buffer_printf(trouble, "%s (%s)", response.message, reason_text(response.reason));
    *out = *presence == PLAN_PRESENT ? json_copy(response.object->value) : NULL;
    return *presence != PLAN_PRESENT || *out ? NULL : error_no_memory();
}

struct error *plan_look_up(struct plan_object *object, struct plan_need *need) {
    AUTO_BUFFER(trouble, (size_t)4096);
    struct json *found = NULL;
    if (!object->plan->management.client || plan_use_of(object, need) == DEPENDENCY_IGNORED)
        return NULL;
    TRY(get(&object->plan->management, need->reference, plan_namespace_of(object, need->reference), &need->here, &found,
            &trouble));
    if (trouble.len > 0 && !text_set(&need->trouble, trouble.data))
        return error_no_memory();
    if (found) {
        json_free(need->source);
        need->source = found;
    }
    return NULL;
}

// Whether the host copies this source, rule D9. NULL: it does; else the reason why the worker must have it.
static const char *not_copied(const struct plan_object *object, const struct plan_need *need) {
    if (copy_is_denied(need->reference->resource, need->source))
        return "Secrets of this type never are";
    if (plan_lacks_label(object, need))
        return "the Secret has no label " MARK_COPY ": \"true\"";
    return NULL;
}

static void describe_here(const struct plan_object *object, const struct plan_need *need, enum dependency_use *use,
                          struct buffer *out) {
    const char *why = need->source && *use == DEPENDENCY_COPIED ? not_copied(object, need) : NULL;
    if (need->here == PLAN_UNREADABLE)
        buffer_printf(out, "; cannot be read in the management cluster: %s", need->trouble);
    else if (need->here == PLAN_PRESENT)
        buffer_text(out, "; found in the management cluster");
    else if (need->here == PLAN_ABSENT && *use == DEPENDENCY_COPIED)
        buffer_printf(out, "; missing in the management cluster%s",
                      need->optional ? "" : ": the workload waits until the object exists");
    if (!why)
        return;
    buffer_printf(out, "; not copied, as %s: the worker must have the object", why);
    *use = DEPENDENCY_CHECKED;
}

// The object in the worker.
struct worker_find {
    struct plan_object *object;
    const struct plan_need *need;
    enum dependency_use use;
    const struct json *there;
    struct buffer *out;
};

static void put_refusal(const struct worker_find *find, const char *sentence) {
    const char *name = find->object->plan->cluster;
    if (find->need->optional) {
        buffer_printf(find->out, "; %s %s", name, sentence);
        return;
    }
    buffer_printf(find->out, "; %s %s: another worker is tried", name, sentence);
    plan_wrong(find->object, NOT_IN_WORKER);
}

// A copy has the uid of its source.
static bool is_own_copy(const struct worker_find *find) {
    const char *origin = find->object->plan->config->origin, *found = object_label(find->there, MARK_ORIGIN);
    const char *of = object_label(find->there, MARK_COPY_OF);
    if (!found || !of)
        return false;
    return origin ? strcmp(origin, found) == 0 : find->need->source && strcmp(of, object_uid(find->need->source)) == 0;
}

static struct error *describe_other(const struct worker_find *find) {
    const char *resource = find->need->reference->resource, *name = find->object->plan->cluster;
    if (!find->need->source) {
        buffer_printf(find->out, "; %s has an object of another writer", name);
        return NULL;
    }
    AUTO_JSON content = copy_content(resource, find->need->source);
    if (!content)
        return error_no_memory();
    if (copy_equals(resource, content, find->there))
        buffer_printf(find->out, "; %s has an equal object of another writer, which is used", name);
    else
        put_refusal(find, "has an object of another writer with other content");
    return NULL;
}

// Numbers of priority classes say nothing in another cluster unless they are the same.
static void describe_found(const struct worker_find *find) {
    const struct json *here = json_get(find->need->source, "value"), *there = json_get(find->there, "value");
    buffer_printf(find->out, "; %s has the object", find->object->plan->cluster);
    if (strcmp(find->need->reference->resource, "priorityclasses.scheduling.k8s.io") == 0 && here && there &&
        !json_equal(here, there))
        buffer_printf(find->out, ", with the value %s instead of %s", json_number_text(there), json_number_text(here));
}

static struct error *describe_there(const struct worker_find *find) {
    if (!find->there && find->use == DEPENDENCY_CHECKED)
        put_refusal(find, "lacks the object");
    else if (!find->there)
        buffer_printf(find->out, "; %s has no such object yet", find->object->plan->cluster);
    else if (find->use == DEPENDENCY_CHECKED)
        describe_found(find);
    else if (is_own_copy(find))
        buffer_printf(find->out, "; %s has a copy", find->object->plan->cluster);
    else
        return describe_other(find);
    return NULL;
}

static struct error *describe_worker(const struct worker_find *find) {
    const struct plan *plan = find->object->plan;
    const struct reference *r = find->need->reference;
    char namespace_[NAMESPACE_SIZE];
    enum plan_presence presence = PLAN_ABSENT;
    AUTO_JSON there = NULL;
    if (!r->cluster_scoped && !namespace_there(plan->namespace_map, plan->config->origin ? plan->config->origin : "",
                                               plan_namespace_of(find->object, r), namespace_)) {
        put_refusal(find, "has no namespace for the object");
        return NULL;
    }
    AUTO_BUFFER(trouble, (size_t)4096);
    TRY(get(&plan->worker, r, namespace_, &presence, &there, &trouble));
    struct worker_find with = *find;
    with.there = there;
    if (presence != PLAN_UNREADABLE)
        return describe_there(&with);
    buffer_printf(find->out, "; cannot be read in %s: %s", plan->cluster, trouble.data);
    return NULL;
}

struct error *plan_describe_need(struct plan_object *object, const struct plan_need *need, struct buffer *out) {
    enum dependency_use use = plan_use_of(object, need);
    if (use == DEPENDENCY_IGNORED)
        return NULL;
    describe_here(object, need, &use, out);
    if (!object->plan->worker.client)
        return NULL;
    return describe_worker(&(struct worker_find){.object = object, .need = need, .use = use, .out = out});
}
