// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/pods.h"

#include "core/base/memory.h"
#include "core/json/pointer.h"

#define POINTER_MAX (SIZE_MAX / 4)

struct pods_walk {
    const wharf_pods *pods;
    const struct json *workload;
    pods_visit visit;
    void *ctx;
};

static bool visit_fallback(void *ctx, const char *found, struct json *value) {
    const struct pods_walk *walk = ctx;
    AUTO_BUFFER(own, POINTER_MAX);
    if (!pointer_pair(walk->pods->templates, found, &own))
        return false;
    const struct json *template_ = own.data ? pointer_find(walk->workload, own.data) : NULL;
    return json_is(template_, JSON_OBJECT) || walk->visit(walk->ctx, found, value);
}

bool pods_each(const wharf_pods *pods, const struct json *workload, pods_visit visit, void *ctx) {
    struct pods_walk walk = {pods, workload, visit, ctx};
    return pointer_each(workload, pods->templates, visit, ctx) &&
           (!pods->fallback || pointer_each(workload, pods->fallback, visit_fallback, &walk));
}

struct pod_list {
    const wharf_pods *pods;
    const struct json *workload;
    struct json *sets;
};

static bool count_of(const struct pod_list *listing, const char *found, int64_t *count) {
    *count = 1;
    for (const char *const *factors = listing->pods->counts; factors && *factors; factors++) {
        AUTO_BUFFER(pointer, POINTER_MAX);
        if (!pointer_pair(*factors, found, &pointer))
            return false;
        int64_t factor = json_int64(pointer.data ? pointer_find(listing->workload, pointer.data) : NULL, 1);
        factor = int64_plus(factor, factors[1] ? 0 : listing->pods->offset);
        *count = int64_times(*count, factor > 0 ? factor : 0);
    }
    return true;
}

// Sets the PodTemplateSpec.
static bool set_template(const struct pod_list *listing, struct json *set, const struct json *found) {
    if ((listing->pods->flags & WHARF_PODS_ARE_SPECS) == 0)
        return json_set(set, "template", json_copy(found));
    return json_set(set, "template", json_new_object()) &&
           json_set(json_get(set, "template"), "spec", json_copy(found));
}

static bool add_set(void *ctx, const char *pointer, struct json *found) {
    struct pod_list *listing = ctx;
    int64_t count = 0;
    if (!json_is(found, JSON_OBJECT))
        return true;
    AUTO_JSON set = json_new_object();
    if (!set || !count_of(listing, pointer, &count) || !set_template(listing, set, found) ||
        !json_set(set, "count", json_new_int64(count)))
        return false;
    return json_append(listing->sets, TAKE(set));
}

static void drop_invalid_sets(struct json *sets) {
    for (struct json *set = json_first(sets), *next = NULL; set; set = next) {
        next = json_next(set);
        if (!json_is(json_get(set, "template"), JSON_OBJECT) || json_int64(json_get(set, "count"), -1) < 0)
            json_remove_child(sets, set);
    }
}

wharf_result pods_of(struct adapter_call *call, const struct json *workload, struct json **sets) {
    *sets = NULL;
    AUTO_JSON list = json_new_array();
    if (!list)
        return WHARF_RETRY;
    for (const wharf_pods *pods = call->kind->pods; pods && pods->templates; pods++) {
        struct pod_list listing = {pods, workload, list};
        if (!pods_each(pods, workload, add_set, &listing))
            return WHARF_RETRY;
    }
    wharf_result result = adapter_pod_sets(call, workload, list);
    if (result != WHARF_OK)
        return result;
    drop_invalid_sets(list);
    *sets = TAKE(list);
    return WHARF_OK;
}
