// SPDX-License-Identifier: Apache-2.0
#include "core/host/watchers/node_table.h"

#include "core/base/map.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/kube/api/pod_request.h"
#include "core/kube/object/object.h"

#define SHAPE_KEY_MAX 4096
#define ALLOCATION ((size_t)16) // of malloc, for each block

const char *const node_table_of_nodes[] = {"/metadata/name",
                                           "/metadata/uid",
                                           "/metadata/resourceVersion",
                                           "/metadata/labels",
                                           "/spec/unschedulable",
                                           "/spec/taints",
                                           "/status/allocatable",
                                           "/status/conditions/*/type",
                                           "/status/conditions/*/status",
                                           NULL};
const char *const node_table_of_pods[] = {"/metadata/name",
                                          "/metadata/uid",
                                          "/metadata/resourceVersion",
                                          "/spec/nodeName",
                                          "/spec/schedulingGates",
                                          "/spec/overhead",
                                          "/spec/resources",
                                          "/spec/containers/*/name",
                                          "/spec/containers/*/resources",
                                          "/spec/initContainers/*/name",
                                          "/spec/initContainers/*/resources",
                                          "/spec/initContainers/*/restartPolicy",
                                          "/status/phase",
                                          "/status/containerStatuses/*/name",
                                          "/status/containerStatuses/*/resources",
                                          "/status/containerStatuses/*/allocatedResources",
                                          "/status/initContainerStatuses/*/name",
                                          "/status/initContainerStatuses/*/resources",
                                          "/status/initContainerStatuses/*/allocatedResources",
                                          NULL};

struct row {                  // a node, of a Node object or named by pods; or the requests of equal pods
    struct amounts *amounts;  // allocatable of a node, requests of a pod
    struct node_marks *marks; // of a node
    uint32_t index, pods, waiting;
    uint32_t at;             // of a node: number in the view, from 1; 0: none
    bool there, takes, seen; // of a node
    char name[];             // of a node; the requests as a text
};

struct rows {
    struct map by_name;
    struct row **list; // by index; [0] is not used: no node. NULL: free
    size_t capacity, first_free;
};

struct node_table {
    struct resource_names names;
    struct rows nodes, shapes;
    struct pod_keys pods;
    size_t waiting; // shapes of pods without a node
    size_t bytes;   // of the rows
    bool changed;
};

struct node_table *node_table_new(uint64_t seed) {
    struct node_table *table = calloc(1, sizeof *table);
    if (!table)
        return NULL;
    map_init(&table->nodes.by_name, seed);
    map_init(&table->shapes.by_name, seed);
    table->nodes.first_free = table->shapes.first_free = 1;
    return table;
}

// Rows ---------------------------------------------------------------------------------------------------------

static size_t amounts_bytes(const struct amounts *amounts) {
    return amounts ? sizeof *amounts + amounts->count * sizeof *amounts->items : 0;
}

static size_t marks_bytes(const struct node_marks *marks) {
    return marks ? sizeof *marks + marks->count * sizeof *marks->items : 0;
}

static void free_row(struct row *row) {
    if (!row)
        return;
    free(row->amounts);
    node_marks_unref(row->marks);
    free(row);
}

static void free_rows(struct rows *rows) {
    for (size_t i = 1; i < rows->capacity; i++)
        free_row(rows->list[i]);
    map_free(&rows->by_name);
    free(rows->list);
}

static struct row *find_or_make_row(struct node_table *table, struct rows *rows, const char *name) {
    struct row *row = map_get(&rows->by_name, name);
    if (row)
        return row;
    size_t index = rows->first_free, size = sizeof *row + strlen(name) + 1;
    while (index < rows->capacity && rows->list[index])
        index++;
    row = array_reserve(&rows->list, &rows->capacity, index + 1, sizeof row) ? calloc(1, size) : NULL;
    if (!row)
        return NULL;
    memcpy(row->name, name, strlen(name) + 1);
    if (!map_put(&rows->by_name, row->name, row)) {
        free(row);
        return NULL;
    }
    row->index = (uint32_t)index;
    rows->list[index] = row;
    table->bytes += size + 3 * ALLOCATION;
    rows->first_free = index + 1;
    return row;
}

static void set_amounts(struct node_table *table, struct row *row, struct amounts *amounts) {
    table->bytes += amounts_bytes(amounts) - amounts_bytes(row->amounts);
    free(row->amounts);
    row->amounts = amounts;
}

static void set_marks(struct node_table *table, struct row *node, struct node_marks *marks) {
    table->bytes += marks_bytes(marks) - marks_bytes(node->marks);
    node_marks_unref(node->marks);
    node->marks = marks;
}

static void drop_if_unused(struct node_table *table, struct rows *rows, struct row *row) {
    if (!row || row->there || row->pods > 0)
        return;
    set_amounts(table, row, NULL);
    set_marks(table, row, NULL);
    (void)map_remove(&rows->by_name, row->name);
    rows->list[row->index] = NULL;
    table->bytes -= sizeof *row + strlen(row->name) + 1 + 3 * ALLOCATION;
    rows->first_free = size_least(rows->first_free, row->index);
    free_row(row);
}

void node_table_free(struct node_table *table) {
    if (!table)
        return;
    free_rows(&table->nodes);
    free_rows(&table->shapes);
    resource_names_free(&table->names);
    free(table->pods.slots);
    free(table);
}

// Nodes --------------------------------------------------------------------------------------------------------

static bool is_ready(const struct json *node) {
    for (const struct json *c = json_first(json_path(node, "status", "conditions", NULL)); c; c = json_next(c))
        if (text_equal(json_string(json_get(c, "type")), "Ready"))
            return text_equal(json_string(json_get(c, "status")), "True");
    return false;
}

static bool put_node(struct node_table *table, const struct json *object) {
    struct resource_list list;
    resource_read(json_path(object, "status", "allocatable", NULL), &list);
    struct amounts *amounts = amounts_new(&table->names, &list);
    struct row *node = amounts ? find_or_make_row(table, &table->nodes, object_name(object)) : NULL;
    if (!node) {
        free(amounts);
        return false;
    }
    node->seen = node->there = true;
    table->changed = true;
    node->takes = is_ready(object) && !json_bool(json_path(object, "spec", "unschedulable", NULL), false);
    set_amounts(table, node, amounts);
    set_marks(
        table, node,
        node_marks_of_node(json_path(object, "metadata", "labels", NULL), json_path(object, "spec", "taints", NULL)));
    return node->marks;
}

static void remove_node(struct node_table *table, struct row *node) {
    node->there = node->takes = false;
    table->changed = true;
    drop_if_unused(table, &table->nodes, node);
}

// Pods ---------------------------------------------------------------------------------------------------------

static struct row *make_shape(struct node_table *table, const struct json *pod) {
    AUTO_BUFFER(text, SHAPE_KEY_MAX);
    struct resource_list list;
    pod_request_read(json_get(pod, "spec"), json_get(pod, "status"), &list);
    struct amounts *amounts = amounts_new(&table->names, &list);
    if (amounts)
        amounts_put(amounts, &text);
    bool made = amounts && !text.failed;
    struct row *shape = made ? find_or_make_row(table, &table->shapes, text.data ? text.data : "") : NULL;
    if (shape && !shape->amounts)
        set_amounts(table, shape, TAKE(amounts));
    free(amounts);
    return shape;
}

static void count_pod(struct node_table *table, const struct pod_key *pod, bool there) {
    struct row *shape = table->shapes.list[pod->shape], *node = pod->node ? table->nodes.list[pod->node] : NULL;
    uint32_t by = there ? 1 : UINT32_MAX; // one more, or one less
    shape->pods += by;
    if (node) {
        node->pods += by;
    } else {
        table->waiting -= shape->waiting > 0;
        shape->waiting += by;
        table->waiting += shape->waiting > 0;
    }
    drop_if_unused(table, &table->shapes, shape);
    drop_if_unused(table, &table->nodes, node);
    table->changed = true;
}

static void remove_pod(struct node_table *table, const struct json *object) {
    struct pod_key pod;
    if (pod_keys_remove(&table->pods, pod_keys_hash(object_uid(object)), &pod))
        count_pod(table, &pod, false);
}

// A pod that has ended, or that the scheduler does not consider yet, takes nothing.
static bool takes_nothing(const struct json *pod, const char *node) {
    const char *phase = json_string_or(json_path(pod, "status", "phase", NULL), "");
    const struct json *gates = json_path(pod, "spec", "schedulingGates", NULL);
    return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0 ||
           (*node == '\0' && json_is(gates, JSON_ARRAY) && json_size(gates) > 0);
}

static bool put_pod(struct node_table *table, const struct json *object) {
    const char *name = json_string_or(json_path(object, "spec", "nodeName", NULL), "");
    if (takes_nothing(object, name)) {
        remove_pod(table, object);
        return true;
    }
    struct row *shape = make_shape(table, object);
    struct row *node = shape && *name ? find_or_make_row(table, &table->nodes, name) : NULL;
    struct pod_key pod = {.uid = pod_keys_hash(object_uid(object)), .node = node ? node->index : 0, .seen = 1}, former;
    pod.shape = (shape ? shape->index : 0) & POD_KEY_SHAPES;
    if (!shape || (*name && !node) || !pod_keys_put(&table->pods, &pod, &former)) {
        drop_if_unused(table, &table->shapes, shape);
        drop_if_unused(table, &table->nodes, node);
        return false;
    }
    if (former.uid && former.node == pod.node && former.shape == pod.shape)
        return true;
    count_pod(table, &pod, true);
    if (former.uid)
        count_pod(table, &former, false);
    return true;
}

// Nodes and pods ------------------------------------------------------------------------------------------------

bool node_table_put(struct node_table *table, enum node_table_part part, const struct json *object) {
    return (part == TABLE_NODES ? put_node : put_pod)(table, object);
}

void node_table_remove(struct node_table *table, enum node_table_part part, const struct json *object) {
    struct row *node = part == TABLE_NODES ? map_get(&table->nodes.by_name, object_name(object)) : NULL;
    if (part == TABLE_PODS)
        remove_pod(table, object);
    else if (node && node->there)
        remove_node(table, node);
}

void node_table_list(struct node_table *table, enum node_table_part part) {
    if (part == TABLE_PODS)
        pod_keys_unsee(&table->pods);
    for (size_t i = 1; part == TABLE_NODES && i < table->nodes.capacity; i++)
        if (table->nodes.list[i])
            table->nodes.list[i]->seen = false;
}

void node_table_listed(struct node_table *table, enum node_table_part part) {
    struct pod_key pod;
    size_t at = 0;
    while (part == TABLE_PODS && pod_keys_take_unseen(&table->pods, &at, &pod))
        count_pod(table, &pod, false);
    for (size_t i = 1; part == TABLE_NODES && i < table->nodes.capacity; i++) {
        struct row *node = table->nodes.list[i];
        if (node && node->there && !node->seen)
            remove_node(table, node);
    }
    table->changed = true;
}

// Views --------------------------------------------------------------------------------------------------------

bool node_table_take_changed(struct node_table *table) {
    bool changed = table->changed;
    table->changed = false;
    return changed;
}

static void add(int64_t *sums, const struct amounts *amounts) {
    for (size_t i = 0; i < amounts->count; i++)
        sums[amounts->items[i].resource] = int64_plus(sums[amounts->items[i].resource], amounts->items[i].amount);
}

// The nodes that count get their numbers in the view.
static size_t number_nodes(const struct node_table *table) {
    uint32_t count = 0;
    for (size_t i = 1; i < table->nodes.capacity; i++) {
        struct row *node = table->nodes.list[i];
        if (node)
            node->at = node->takes && node->marks ? ++count : 0;
    }
    return count;
}

static void put_nodes(const struct node_table *table, struct nodes *out) {
    size_t width = table->names.count;
    for (size_t i = 0; i < table->pods.capacity; i++) {
        const struct pod_key *pod = &table->pods.slots[i];
        uint32_t at = pod->uid && pod->node ? table->nodes.list[pod->node]->at : 0;
        if (at)
            add(out->left + (at - 1) * width, table->shapes.list[pod->shape]->amounts);
    }
    for (size_t i = 0; i < out->count * width; i++)
        out->left[i] = -out->left[i];
    for (size_t i = 1; i < table->nodes.capacity; i++) {
        const struct row *node = table->nodes.list[i];
        if (!node || !node->at)
            continue;
        add(out->left + (node->at - 1) * width, node->amounts);
        add(out->allocatable, node->amounts);
        atomic_fetch_add(&node->marks->refs, 1);
        out->marks[node->at - 1] = node->marks;
    }
}

static bool put_waiting(const struct node_table *table, struct nodes *out) {
    size_t count = 0;
    for (size_t i = 1; i < table->shapes.capacity; i++) {
        const struct row *shape = table->shapes.list[i];
        if (!shape || shape->waiting == 0)
            continue;
        size_t bytes = amounts_bytes(shape->amounts);
        struct amounts *request = malloc(bytes);
        if (!request)
            return false;
        memcpy(request, shape->amounts, bytes);
        out->waiting[count++] = (struct waiting_pods){request, shape->waiting};
    }
    return true;
}

struct nodes *node_table_view(const struct node_table *table) {
    struct nodes *out =
        nodes_new(number_nodes(table), (const char *const *)table->names.list, table->names.count, table->waiting);
    if (!out)
        return NULL;
    put_nodes(table, out);
    if (put_waiting(table, out))
        return out;
    nodes_free(out);
    return NULL;
}

struct node_table_size node_table_size(const struct node_table *table) {
    const struct rows *nodes = &table->nodes, *shapes = &table->shapes;
    struct nodes view = {.count = nodes->by_name.count, .n_waiting = table->waiting, .names.count = table->names.count};
    size_t slots = (nodes->by_name.capacity + shapes->by_name.capacity) * sizeof(struct map_slot) +
                   (nodes->capacity + shapes->capacity) * sizeof(struct row *);
    return (struct node_table_size){.nodes = nodes->by_name.count,
                                    .pods = table->pods.count,
                                    .shapes = shapes->by_name.count,
                                    .view = nodes_bytes(&view),
                                    .bytes = sizeof *table + table->pods.capacity * sizeof *table->pods.slots + slots +
                                             table->bytes};
}
