// SPDX-License-Identifier: Apache-2.0
#include "core/kube/api/pod_request.h"

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/kube/object/object.h"

static const struct resource_amount *find(const struct resource_list *list, const char *name) {
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return &list->items[i];
    return NULL;
}

// An item of the name, 0 at first; NULL: there is no room, or no resource has such a name.
static struct resource_amount *make(struct resource_list *list, const char *name) {
    const struct resource_amount *item = find(list, name);
    if (item)
        return &list->items[item - list->items];
    if (list->count == RESOURCES_MAX || strnlen(name, RESOURCE_NAME_MAX + 1) > RESOURCE_NAME_MAX)
        return NULL;
    list->items[list->count] = (struct resource_amount){.name = name};
    return &list->items[list->count++];
}

int64_t resource_get(const struct resource_list *list, const char *name) {
    const struct resource_amount *item = find(list, name);
    return item ? item->amount : 0;
}

bool resource_add(struct resource_list *list, const char *name, int64_t amount) {
    struct resource_amount *item = amount > 0 ? make(list, name) : NULL;
    if (item)
        item->amount = int64_plus(item->amount, amount);
    return item || amount <= 0;
}

static void add_all(struct resource_list *to, const struct resource_list *from) {
    for (size_t i = 0; i < from->count; i++)
        (void)resource_add(to, from->items[i].name, from->items[i].amount);
}

static void take_more(struct resource_list *to, const struct resource_list *from) {
    for (size_t i = 0; i < from->count; i++) {
        struct resource_amount *item = make(to, from->items[i].name);
        if (item && from->items[i].amount > item->amount)
            item->amount = from->items[i].amount;
    }
}

// False: not a quantity. Negative ones count as 0.
static bool read_amount(const struct json *value, const char *name, int64_t *amount) {
    const char *text = json_is(value, JSON_NUMBER) ? json_number_text(value) : json_string(value);
    if (!text || !quantity_parse(text, quantity_is_milli(name), amount))
        return false;
    *amount = *amount > 0 ? *amount : 0;
    return true;
}

void resource_read(const struct json *value, struct resource_list *out) {
    out->count = 0;
    for (const struct json *member = json_first(value); member && json_key(member); member = json_next(member)) {
        int64_t amount = 0;
        struct resource_amount *item =
            read_amount(member, json_key(member), &amount) ? make(out, json_key(member)) : NULL;
        if (item)
            item->amount = amount;
    }
}

// Sets the requests in `out`, and the limits of resources that `out` does not have.
static void set_resources(const struct json *resources, struct resource_list *out) {
    struct resource_list given;
    resource_read(json_get(resources, "requests"), &given);
    for (size_t i = 0; i < given.count; i++) {
        struct resource_amount *item = make(out, given.items[i].name);
        if (item)
            item->amount = given.items[i].amount;
    }
    resource_read(json_get(resources, "limits"), &given);
    for (size_t i = 0; i < given.count; i++)
        if (!find(out, given.items[i].name))
            (void)resource_add(out, given.items[i].name, given.items[i].amount);
}

// In-place resizing: the scheduler counts the maximum of the requested, allocated and used amounts.
static void read_container(const struct json *container, const struct json *statuses, struct resource_list *out) {
    struct resource_list other;
    out->count = 0;
    set_resources(json_get(container, "resources"), out);
    const struct json *status = json_find_item(statuses, "name", json_string(json_get(container, "name")));
    if (!status)
        return;
    resource_read(json_get(status, "allocatedResources"), &other);
    take_more(out, &other);
    resource_read(json_path(status, "resources", "requests", NULL), &other);
    take_more(out, &other);
}

static void read_containers(const struct json *spec, const struct json *status, struct resource_list *out) {
    const struct json *statuses = json_get(status, "containerStatuses");
    for (const struct json *c = json_first(json_get(spec, "containers")); c; c = json_next(c)) {
        struct resource_list one;
        read_container(c, statuses, &one);
        add_all(out, &one);
    }
}

// The sidecars are added to `out`; the most that starting needs goes to `most`.
static void read_init_containers(const struct json *spec, const struct json *status, struct resource_list *out,
                                 struct resource_list *most) {
    const struct json *statuses = json_get(status, "initContainerStatuses");
    struct resource_list sidecars = {.count = 0};
    for (const struct json *c = json_first(json_get(spec, "initContainers")); c; c = json_next(c)) {
        struct resource_list one;
        read_container(c, statuses, &one);
        if (text_equal(json_string(json_get(c, "restartPolicy")), "Always")) {
            add_all(out, &one);
            add_all(&sidecars, &one);
            take_more(most, &sidecars);
            continue;
        }
        add_all(&one, &sidecars);
        take_more(most, &one);
    }
}

void pod_request_read(const struct json *spec, const struct json *status, struct resource_list *out) {
    struct resource_list most = {.count = 0}, overhead;
    out->count = 0;
    (void)resource_add(out, RESOURCE_PODS, 1);
    read_containers(spec, status, out);
    read_init_containers(spec, status, out, &most);
    take_more(out, &most);
    set_resources(json_get(spec, "resources"), out); // of the pod as a whole: instead of the sums of its containers
    resource_read(json_get(spec, "overhead"), &overhead);
    add_all(out, &overhead);
}
