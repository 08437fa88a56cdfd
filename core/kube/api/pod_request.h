// SPDX-License-Identifier: Apache-2.0
// The resources that a pod requests, as the scheduler counts them (component-helpers resource.PodRequests): its
// containers and sidecars together, or an init container with the sidecars started before it, whichever is more, and
// the overhead. Where a container has a limit and no request, the limit counts, as the API server defaults the request.
#pragma once

#include "core/json/json.h"

#define RESOURCES_MAX 32 // of a pod or a node; further ones are ignored
#define RESOURCE_PODS "pods"
#define RESOURCE_NAME_MAX 317 // a qualified name: 253 before the slash and 63 after it; longer ones are ignored

struct resource_amount {
    const char *name;
    int64_t amount; // in units, cpu in thousandths; never negative
};

struct resource_list {
    struct resource_amount items[RESOURCES_MAX]; // each name once
    size_t count;
};

int64_t resource_get(const struct resource_list *list, const char *name); // 0: none
// Adds up, without overflow; an amount of 0 is left out. False: there is no room.
bool resource_add(struct resource_list *list, const char *name, int64_t amount);

// A ResourceList of the API ({"cpu":"500m"}); other values than quantities are left out.
void resource_read(const struct json *value, struct resource_list *out);

// `spec` is a PodSpec; `status` a PodStatus or NULL: larger requests after a resize, or resources already allocated,
// count instead. One pod is included as RESOURCE_PODS. Names point into the JSON.
void pod_request_read(const struct json *spec, const struct json *status, struct resource_list *out);
