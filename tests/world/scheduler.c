// SPDX-License-Identifier: Apache-2.0
#include "tests/world/scheduler.h"

#include "core/base/text.h"
#include "core/kube/api/requests.h"
#include "tests/world/controllers.h"

#include <string.h>

static bool has_labels(const struct json *node, const struct json *selector) {
    for (const struct json *s = json_first(selector); s; s = json_next(s))
        if (!json_equal(json_path(node, "metadata", "labels", json_key(s), NULL), s))
            return false;
    return true;
}

static bool has_ended(const struct json *pod) {
    const char *phase = json_string_or(json_path(pod, "status", "phase", NULL), "");
    return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

// Of one resource, all that the pods of the node ask for.
static int64_t used(const struct world_cluster *cluster, const char *node, const char *resource) {
    int64_t sum = 0;
    for (const struct stored *pod = cluster->pods->head.next[0]; pod; pod = pod->next[0]) {
        struct resource_list request = {0};
        const struct json *spec = json_get(pod->value, "spec");
        if (has_ended(pod->value) || !text_equal(json_string(json_get(spec, "nodeName")), node))
            continue;
        pod_request_read(spec, NULL, &request);
        sum += resource_get(&request, resource);
    }
    return sum;
}

static bool fits(const struct world_cluster *cluster, const struct stored *node, const struct resource_list *request) {
    struct resource_list offer = {0};
    resource_read(json_path(node->value, "status", "allocatable", NULL), &offer);
    for (size_t i = 0; i < request->count; i++) {
        const struct resource_amount *item = &request->items[i];
        if (used(cluster, node->name, item->name) + item->amount > resource_get(&offer, item->name))
            return false;
    }
    return true;
}

bool scheduler_bind(struct stored *pod) {
    const struct world_cluster *cluster = pod->kind->cluster;
    const struct kind *nodes = world_kind_find(cluster, "", "nodes");
    const struct json *spec = json_get(pod->value, "spec");
    struct resource_list request = {0};
    if (!nodes || json_get(spec, "nodeName"))
        return true;
    pod_request_read(spec, NULL, &request);
    for (const struct stored *node = nodes->head.next[0]; node; node = node->next[0])
        if (!json_bool(json_path(node->value, "spec", "unschedulable", NULL), false) &&
            has_labels(node->value, json_get(spec, "nodeSelector")) && fits(cluster, node, &request)) {
            world_bind_pod(pod, node->name);
            return true;
        }
    return false;
}
