// SPDX-License-Identifier: Apache-2.0
#include "core/host/watchers/node_table.h"

#include "core/base/map.h"
#include "core/base/memory.h"
#include "core/base/saturate.h"
#include "core/base/text.h"
#include "core/host/watchers/pod_keys.h"
#include "core/kube/api/pod_request.h"
#include "core/kube/object/object.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH_STEP 8
#define SHAPE_KEY_MAX 4096
#define ALLOCATION ((size_t)16) // what malloc adds

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

struct node { // known by its object, or by pods that name it
    char *name;
    uint32_t index; // in table->nodes
    bool there, takes, seen;
    uint32_t pods;
    int64_t *allocatable, *used; // [table->width]
    uint32_t *labels;
    struct node_taint *taints;
    size_t n_labels, n_taints;
};

struct shape { // what equal pods ask for
    char *key;
    uint32_t index; // in table->shapes
    uint32_t refs, waiting;
    size_t count;
    struct shape_amount {
        size_t column;
        int64_t amount;
    } amounts[];
};

struct node_table {
    char *names[NODES_RESOURCES]; // of the columns
    size_t n_names, width;        // width: allocated in each node
    struct map by_name, by_key;   // nodes and shapes
    struct node **nodes;          // by index; [0] is not used: pods without a node. NULL: free
    size_t n_nodes, cap_nodes, free_node;
    struct shape **shapes;                   // by index; NULL: free
    size_t n_shapes, cap_shapes, free_shape; // the free ones begin here, or later
    struct pod_keys pods;
    size_t live_nodes, live_shapes, waiting; // waiting: shapes of pods without a node
    size_t texts, marks;                     // bytes of names and keys; of labels and taints
    bool changed;
};

struct node_table *node_table_new(uint64_t seed) {
    struct node_table *table = calloc(1, sizeof *table);
    if (!table)
        return NULL;
    map_init(&table->by_name, seed);
    map_init(&table->by_key, seed);
    table->n_nodes = table->free_node = 1;
    table->width = WIDTH_STEP;
    return table;
}

static void free_node(struct node *node) {
    free(node->name);
    free(node->allocatable);
    free(node->used);
    free(node->labels);
    free(node->taints);
    free(node);
}

void node_table_free(struct node_table *table) {
    if (!table)
        return;
    for (size_t i = 1; i < table->n_nodes && table->nodes; i++)
        if (table->nodes[i])
            free_node(table->nodes[i]);
    for (size_t i = 0; i < table->n_shapes; i++) {
        if (table->shapes[i])
            free(table->shapes[i]->key);
        free(table->shapes[i]);
    }
    for (size_t i = 0; i < table->n_names; i++)
        free(table->names[i]);
    map_free(&table->by_name);
    map_free(&table->by_key);
    free(table->nodes);
    free(table->shapes);
    pod_keys_free(&table->pods);
    free(table);
}

static bool widen(int64_t **amounts, size_t from, size_t to) {
    int64_t *wider = realloc(*amounts, to * sizeof *wider);
    if (!wider)
        return false;
    memset(wider + from, 0, (to - from) * sizeof *wider);
    *amounts = wider;
    return true;
}

static bool widen_nodes(struct node_table *table) {
    size_t width = table->width + WIDTH_STEP;
    for (size_t i = 1; i < table->n_nodes; i++) {
        struct node *node = table->nodes[i];
        if (node && (!widen(&node->allocatable, table->width, width) || !widen(&node->used, table->width, width)))
            return false; // some are wider than needed
    }
    table->width = width;
    return true;
}

// The column of a resource. False: out of memory; NODES_RESOURCES: there is no room.
static bool column_of(struct node_table *table, const char *name, size_t *column) {
    size_t i = 0;
    while (i < table->n_names && strcmp(table->names[i], name) != 0)
        i++;
    *column = i;
    if (i < table->n_names || i == NODES_RESOURCES)
        return true;
    if (i == table->width && !widen_nodes(table))
        return false;
    table->names[i] = strdup(name);
    if (!table->names[i])
        return false;
    table->texts += strlen(name) + 1;
    table->n_names++;
    return true;
}

static bool read_amounts(struct node_table *table, const struct resource_list *list, int64_t *amounts) {
    memset(amounts, 0, NODES_RESOURCES * sizeof *amounts);
    for (size_t i = 0; i < list->count; i++) {
        size_t column = 0;
        if (!column_of(table, list->items[i].name, &column))
            return false;
        if (column < NODES_RESOURCES)
            amounts[column] = list->items[i].amount;
    }
    return true;
}

// Nodes --------------------------------------------------------------------------------------------------------

static struct node *make_node(struct node_table *table, const char *name) {
    struct node *node = map_get(&table->by_name, name);
    if (node)
        return node;
    size_t index = table->free_node;
    while (index < table->n_nodes && table->nodes[index])
        index++;
    node = array_reserve(&table->nodes, &table->cap_nodes, index + 1, sizeof(struct node *)) ? calloc(1, sizeof *node)
                                                                                             : NULL;
    if (!node)
        return NULL;
    *node = (struct node){.name = strdup(name),
                          .index = (uint32_t)index,
                          .allocatable = calloc(table->width, sizeof(int64_t)),
                          .used = calloc(table->width, sizeof(int64_t))};
    if (!node->name || !node->allocatable || !node->used || !map_put(&table->by_name, node->name, node)) {
        free_node(node);
        return NULL;
    }
    table->nodes[index] = node;
    table->live_nodes++;
    table->texts += strlen(name) + 1;
    table->free_node = index + 1;
    table->n_nodes = index < table->n_nodes ? table->n_nodes : index + 1;
    return node;
}

static size_t marks_of(const struct node *node) {
    return node->n_labels * sizeof *node->labels + node->n_taints * sizeof *node->taints;
}

static void drop_if_unused(struct node_table *table, struct node *node) {
    if (node->there || node->pods > 0)
        return;
    (void)map_remove(&table->by_name, node->name);
    table->nodes[node->index] = NULL;
    table->live_nodes--;
    table->texts -= strlen(node->name) + 1;
    table->marks -= marks_of(node);
    table->free_node = size_least(table->free_node, node->index);
    free_node(node);
}

static bool is_ready(const struct json *node) {
    for (const struct json *c = json_first(json_path(node, "status", "conditions", NULL)); c; c = json_next(c))
        if (text_equal(json_string(json_get(c, "type")), "Ready"))
            return text_equal(json_string(json_get(c, "status")), "True");
    return false;
}

static bool read_labels(struct node *node, const struct json *labels) {
    size_t count = json_is(labels, JSON_OBJECT) ? json_size(labels) : 0;
    uint32_t *hashes = calloc(count + 1, sizeof *hashes);
    if (!hashes)
        return false;
    free(node->labels);
    node->labels = hashes;
    node->n_labels = 0;
    for (const struct json *label = count > 0 ? json_first(labels) : NULL; label; label = json_next(label))
        hashes[node->n_labels++] = nodes_hash(json_key(label), json_string_or(label, ""));
    return true;
}

static bool read_taints(struct node *node, const struct json *taints) {
    size_t count = json_is(taints, JSON_ARRAY) ? json_size(taints) : 0;
    struct node_taint *list = calloc(count + 1, sizeof *list);
    if (!list)
        return false;
    free(node->taints);
    node->taints = list;
    node->n_taints = 0;
    for (const struct json *taint = count > 0 ? json_first(taints) : NULL; taint; taint = json_next(taint)) {
        const char *effect = json_string_or(json_get(taint, "effect"), "");
        if (strcmp(effect, "NoSchedule") != 0 && strcmp(effect, "NoExecute") != 0)
            continue;
        list[node->n_taints++] =
            (struct node_taint){nodes_hash(json_string_or(json_get(taint, "key"), ""), NULL),
                                nodes_hash(json_string_or(json_get(taint, "value"), ""), NULL),
                                strcmp(effect, "NoExecute") == 0 ? TAINT_NO_EXECUTE : TAINT_NO_SCHEDULE};
    }
    return true;
}

bool node_table_node(struct node_table *table, const struct json *object) {
    struct resource_list list;
    int64_t amounts[NODES_RESOURCES];
    resource_read(json_path(object, "status", "allocatable", NULL), &list);
    struct node *node = read_amounts(table, &list, amounts) ? make_node(table, object_name(object)) : NULL;
    if (!node)
        return false;
    node->seen = node->there = true;
    table->changed = true;
    node->takes = is_ready(object) && !json_bool(json_path(object, "spec", "unschedulable", NULL), false);
    memcpy(node->allocatable, amounts, table->width * sizeof *amounts);
    table->marks -= marks_of(node);
    bool read = read_labels(node, json_path(object, "metadata", "labels", NULL)) &&
                read_taints(node, json_path(object, "spec", "taints", NULL));
    table->marks += marks_of(node);
    return read;
}

static void node_is_gone(struct node_table *table, struct node *node) {
    node->there = node->takes = false;
    table->changed = true;
    drop_if_unused(table, node);
}

void node_table_node_gone(struct node_table *table, const struct json *object) {
    struct node *node = map_get(&table->by_name, object_name(object));
    if (node && node->there)
        node_is_gone(table, node);
}

void node_table_list_nodes(struct node_table *table) {
    for (size_t i = 1; i < table->n_nodes; i++)
        if (table->nodes[i])
            table->nodes[i]->seen = false;
}

void node_table_nodes_listed(struct node_table *table) {
    for (size_t i = 1; i < table->n_nodes; i++)
        if (table->nodes[i] && table->nodes[i]->there && !table->nodes[i]->seen)
            node_is_gone(table, table->nodes[i]);
    table->changed = true;
}

// Pods ---------------------------------------------------------------------------------------------------------

static size_t shape_texts(const struct shape *shape) {
    return strlen(shape->key) + 1 + shape->count * sizeof *shape->amounts;
}

static struct shape *make_shape(struct node_table *table, const int64_t *amounts) {
    AUTO_BUFFER(key, SHAPE_KEY_MAX);
    size_t count = 0;
    for (size_t i = 0; i < table->n_names; i++)
        if (amounts[i] > 0) {
            buffer_printf(&key, "%zu=%" PRId64 " ", i, amounts[i]);
            count++;
        }
    const char *text = key.data ? key.data : "";
    struct shape *shape = key.failed ? NULL : map_get(&table->by_key, text);
    if (shape || key.failed)
        return shape;
    size_t index = table->free_shape;
    while (index < table->n_shapes && table->shapes[index])
        index++;
    if (!array_reserve(&table->shapes, &table->cap_shapes, index + 1, sizeof(struct shape *)))
        return NULL;
    shape = calloc(1, sizeof *shape + count * sizeof *shape->amounts);
    char *own = strdup(text);
    if (!shape || !own || !map_put(&table->by_key, own, shape)) {
        free(shape);
        free(own);
        return NULL;
    }
    shape->key = own;
    shape->index = (uint32_t)index;
    for (size_t i = 0; i < table->n_names; i++)
        if (amounts[i] > 0)
            shape->amounts[shape->count++] = (struct shape_amount){i, amounts[i]};
    table->shapes[index] = shape;
    table->live_shapes++;
    table->texts += shape_texts(shape);
    table->free_shape = index + 1;
    table->n_shapes = index < table->n_shapes ? table->n_shapes : index + 1;
    return shape;
}

static void drop_shape(struct node_table *table, struct shape *shape) {
    if (shape->refs > 0)
        return;
    (void)map_remove(&table->by_key, shape->key);
    table->shapes[shape->index] = NULL;
    table->live_shapes--;
    table->texts -= shape_texts(shape);
    table->free_shape = size_least(table->free_shape, shape->index);
    free(shape->key);
    free(shape);
}

static void add(int64_t *sum, int64_t amount) {
    *sum = int64_plus(*sum, amount);
}

static void count_pod(struct node_table *table, const struct pod_key *pod) {
    struct shape *shape = table->shapes[pod->shape];
    struct node *node = pod->node ? table->nodes[pod->node] : NULL;
    shape->refs++;
    table->waiting += !node && shape->waiting++ == 0;
    if (node)
        node->pods++;
    for (size_t i = 0; i < shape->count && node; i++)
        add(&node->used[shape->amounts[i].column], shape->amounts[i].amount);
    table->changed = true;
}

static void uncount_pod(struct node_table *table, const struct pod_key *pod) {
    struct shape *shape = table->shapes[pod->shape];
    struct node *node = pod->node ? table->nodes[pod->node] : NULL;
    shape->refs--;
    table->waiting -= !node && --shape->waiting == 0;
    for (size_t i = 0; i < shape->count && node; i++)
        add(&node->used[shape->amounts[i].column], -shape->amounts[i].amount);
    if (node) {
        node->pods--;
        drop_if_unused(table, node);
    }
    drop_shape(table, shape);
    table->changed = true;
}

static uint64_t key_of(const struct json *pod) {
    return pod_keys_hash(object_uid(pod));
}

void node_table_pod_gone(struct node_table *table, const struct json *object) {
    struct pod_key pod;
    if (pod_keys_remove(&table->pods, key_of(object), &pod))
        uncount_pod(table, &pod);
}

// One that has ended, or that the scheduler is not to look at yet, takes nothing.
static bool takes_nothing(const struct json *pod, const char *node) {
    const char *phase = json_string_or(json_path(pod, "status", "phase", NULL), "");
    const struct json *gates = json_path(pod, "spec", "schedulingGates", NULL);
    return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0 ||
           (*node == '\0' && json_is(gates, JSON_ARRAY) && json_size(gates) > 0);
}

bool node_table_pod(struct node_table *table, const struct json *object) {
    const char *name = json_string_or(json_path(object, "spec", "nodeName", NULL), "");
    if (takes_nothing(object, name)) {
        node_table_pod_gone(table, object);
        return true;
    }
    struct resource_list list;
    int64_t amounts[NODES_RESOURCES];
    pod_request_read(json_get(object, "spec"), json_get(object, "status"), &list);
    struct shape *shape = read_amounts(table, &list, amounts) ? make_shape(table, amounts) : NULL;
    struct node *node = shape && *name ? make_node(table, name) : NULL;
    struct pod_key pod = {.uid = key_of(object), .node = node ? node->index : 0, .seen = 1}, former;
    pod.shape = (shape ? shape->index : 0) & POD_KEY_SHAPES;
    bool was = false;
    if (shape && (node || *name == '\0') && pod_keys_put(&table->pods, &pod, &was, &former)) {
        if (was && former.node == pod.node && former.shape == pod.shape)
            return true;
        count_pod(table, &pod);
        if (was)
            uncount_pod(table, &former);
        return true;
    }
    if (shape)
        drop_shape(table, shape);
    if (node)
        drop_if_unused(table, node);
    return false;
}

void node_table_list_pods(struct node_table *table) {
    pod_keys_unsee(&table->pods);
}

void node_table_pods_listed(struct node_table *table) {
    struct pod_key pod;
    size_t at = 0;
    while (pod_keys_take_unseen(&table->pods, &at, &pod))
        uncount_pod(table, &pod);
    table->changed = true;
}

// Views --------------------------------------------------------------------------------------------------------

bool node_table_take_changed(struct node_table *table) {
    bool changed = table->changed;
    table->changed = false;
    return changed;
}

static void put_node(const struct node_table *table, const struct node *node, struct nodes *out) {
    struct node_marks *marks = &out->marks[out->count];
    *marks = (struct node_marks){(uint32_t)out->n_labels, (uint32_t)node->n_labels, (uint32_t)out->n_taints,
                                 (uint32_t)node->n_taints};
    memcpy(out->labels + out->n_labels, node->labels, node->n_labels * sizeof *node->labels);
    memcpy(out->taints + out->n_taints, node->taints, node->n_taints * sizeof *node->taints);
    out->n_labels += node->n_labels;
    out->n_taints += node->n_taints;
    int64_t *left = out->left + out->count * out->n_resources;
    for (size_t i = 0; i < table->n_names; i++) {
        add(&left[i], node->allocatable[i]);
        add(&left[i], -node->used[i]);
        add(&out->allocatable[i], node->allocatable[i]);
    }
    out->count++;
}

static void put_waiting(const struct shape *shape, struct nodes *out) {
    out->waiting_count[out->n_waiting] = shape->waiting;
    for (size_t i = 0; i < shape->count; i++)
        out->waiting[out->n_waiting * out->n_resources + shape->amounts[i].column] = shape->amounts[i].amount;
    out->n_waiting++;
}

static bool is_whole(const struct node *node) {
    return node && node->there && node->takes && node->labels && node->taints;
}

struct nodes *node_table_view(const struct node_table *table) {
    size_t count = 0, labels = 0, taints = 0, waiting = 0;
    for (size_t i = 1; i < table->n_nodes; i++)
        if (is_whole(table->nodes[i])) {
            count++;
            labels += table->nodes[i]->n_labels;
            taints += table->nodes[i]->n_taints;
        }
    for (size_t i = 0; i < table->n_shapes; i++)
        waiting += table->shapes[i] && table->shapes[i]->waiting > 0;
    struct nodes *out = nodes_new(count, table->n_names, labels, taints, waiting);
    if (!out)
        return NULL;
    out->count = out->n_labels = out->n_taints = out->n_waiting = 0;
    for (size_t i = 1; i < table->n_nodes; i++)
        if (is_whole(table->nodes[i]))
            put_node(table, table->nodes[i], out);
        else
            out->unusable += table->nodes[i] && table->nodes[i]->there;
    for (size_t i = 0; i < table->n_shapes; i++)
        if (table->shapes[i] && table->shapes[i]->waiting > 0)
            put_waiting(table->shapes[i], out);
    bool named = true;
    for (size_t i = 0; i < table->n_names; i++)
        named = (out->names[i] = strdup(table->names[i])) && named;
    if (named)
        return out;
    nodes_free(out);
    return NULL;
}

// As nodes_bytes of it, if all nodes take pods.
static size_t view_bytes(const struct node_table *table) {
    size_t row = table->n_names * sizeof(int64_t);
    return sizeof(struct nodes) + table->live_nodes * (row + sizeof(struct node_marks)) + table->marks +
           table->waiting * (row + sizeof(int64_t));
}

struct node_table_size node_table_size(const struct node_table *table) {
    size_t node = sizeof(struct node) + 2 * table->width * sizeof(int64_t) + 6 * ALLOCATION;
    size_t maps = (table->by_name.capacity + table->by_key.capacity) * sizeof(struct map_slot);
    return (struct node_table_size){.nodes = table->live_nodes,
                                    .pods = table->pods.count,
                                    .shapes = table->live_shapes,
                                    .view = view_bytes(table),
                                    .bytes = sizeof *table + pod_keys_bytes(&table->pods) + maps +
                                             (table->cap_nodes + table->cap_shapes) * sizeof(void *) +
                                             table->live_nodes * node + table->marks + table->texts +
                                             table->live_shapes * (sizeof(struct shape) + 2 * ALLOCATION)};
}
