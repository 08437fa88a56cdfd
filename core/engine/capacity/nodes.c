// SPDX-License-Identifier: Apache-2.0
#include "core/engine/capacity/nodes.h"

#include "core/base/text.h"

#include <inttypes.h>

size_t resource_names_find(const struct resource_names *names, const char *name) {
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->list[i], name) == 0)
            return i;
    return NODES_RESOURCES;
}

static bool add_name(struct resource_names *names, const char *name) {
    names->list[names->count] = strdup(name);
    return names->list[names->count] && ++names->count;
}

void resource_names_free(struct resource_names *names) {
    while (names->count > 0)
        free(names->list[--names->count]);
}

struct amounts *amounts_new(struct resource_names *names, const struct resource_list *list) {
    int64_t amounts[NODES_RESOURCES + 1] = {0};
    for (size_t i = 0; i < list->count; i++) {
        size_t number = resource_names_find(names, list->items[i].name);
        if (number == NODES_RESOURCES && names->count < NODES_RESOURCES) {
            number = names->count;
            if (!add_name(names, list->items[i].name))
                return NULL;
        }
        amounts[number] = list->items[i].amount;
    }
    struct amounts *out = calloc(1, sizeof *out + list->count * sizeof *out->items);
    for (uint32_t i = 0; out && i < names->count; i++)
        if (amounts[i] > 0)
            out->items[out->count++] = (struct amount){i, amounts[i]};
    return out;
}

void amounts_put(const struct amounts *amounts, struct buffer *out) {
    for (size_t i = 0; i < amounts->count; i++)
        buffer_printf(out, "%" PRIu32 "=%" PRId64 " ", amounts->items[i].resource, amounts->items[i].amount);
}

// Marks --------------------------------------------------------------------------------------------------------

static uint32_t hash_of(const char *text) {
    uint64_t wide = text_hash(TEXT_HASH, text);
    uint32_t hash = (uint32_t)(wide ^ wide >> 32);
    return hash ? hash : 1;
}

static const char *member(const struct json *object, const char *name) {
    return json_string_or(json_get(object, name), "");
}

// core/v1 Taint. The value may be missing.
static bool read_taint(const struct json *taint, struct node_mark *out) {
    const char *effect = member(taint, "effect");
    enum node_mark_type type = strcmp(effect, "NoSchedule") == 0  ? MARK_NO_SCHEDULE
                               : strcmp(effect, "NoExecute") == 0 ? MARK_NO_EXECUTE
                                                                  : MARK_ANY_TAINT;
    *out = (struct node_mark){hash_of(member(taint, "key")), hash_of(member(taint, "value")), type};
    return type != MARK_ANY_TAINT;
}

// core/v1 Toleration: no key with the operator Exists matches every taint.
static bool read_toleration(const struct json *toleration, struct node_mark *out) {
    bool exists = strcmp(member(toleration, "operator"), "Exists") == 0, any = *member(toleration, "key") == '\0';
    if (!read_taint(toleration, out) && *member(toleration, "effect"))
        return false;
    out->key = any ? 0 : out->key;
    out->value = exists ? 0 : out->value;
    return exists || !any;
}

static size_t size_of(const struct json *value, enum json_type type) {
    return json_is(value, type) ? json_size(value) : 0;
}

static struct node_marks *read_marks(const struct json *labels, const struct json *taints,
                                     bool (*read)(const struct json *taint, struct node_mark *out)) {
    size_t n_labels = size_of(labels, JSON_OBJECT), n_taints = size_of(taints, JSON_ARRAY);
    struct node_marks *out = calloc(1, sizeof *out + (n_labels + n_taints) * sizeof *out->items);
    if (!out)
        return NULL;
    atomic_init(&out->refs, 1);
    for (const struct json *label = n_labels > 0 ? json_first(labels) : NULL; label; label = json_next(label))
        out->items[out->count++] =
            (struct node_mark){hash_of(json_key(label)), hash_of(json_string_or(label, "")), MARK_LABEL};
    for (const struct json *taint = n_taints > 0 ? json_first(taints) : NULL; taint; taint = json_next(taint))
        out->count += read(taint, &out->items[out->count]);
    return out;
}

struct node_marks *node_marks_of_node(const struct json *labels, const struct json *taints) {
    return read_marks(labels, taints, read_taint);
}

struct node_marks *node_marks_of_pod(const struct json *selector, const struct json *tolerations) {
    return read_marks(selector, tolerations, read_toleration);
}

void node_marks_unref(struct node_marks *marks) {
    if (marks && atomic_fetch_sub(&marks->refs, 1) == 1)
        free(marks);
}

static bool matches(const struct node_mark *pod, const struct node_mark *node) {
    return (!pod->key || pod->key == node->key) && (!pod->value || pod->value == node->value) &&
           (pod->type == node->type || (pod->type == MARK_ANY_TAINT && node->type != MARK_LABEL));
}

static bool has_label(const struct node_marks *node, const struct node_mark *label) {
    for (size_t i = 0; node && i < node->count; i++)
        if (matches(label, &node->items[i]))
            return true;
    return false;
}

static bool tolerates(const struct node_marks *pod, const struct node_mark *taint) {
    for (size_t i = 0; i < pod->count; i++)
        if (matches(&pod->items[i], taint))
            return true;
    return false;
}

bool node_marks_permit(const struct node_marks *pod, const struct node_marks *node) {
    for (size_t i = 0; i < pod->count; i++)
        if (pod->items[i].type == MARK_LABEL && !has_label(node, &pod->items[i]))
            return false;
    for (size_t i = 0; node && i < node->count; i++)
        if (node->items[i].type != MARK_LABEL && !tolerates(pod, &node->items[i]))
            return false;
    return true;
}

// Views --------------------------------------------------------------------------------------------------------

struct nodes *nodes_new(size_t count, const char *const *names, size_t n_names, size_t n_waiting) {
    struct nodes *nodes = calloc(1, sizeof *nodes);
    if (!nodes)
        return NULL;
    *nodes = (struct nodes){.count = count,
                            .n_waiting = n_waiting,
                            .left = calloc(count * n_names + 1, sizeof *nodes->left),
                            .allocatable = calloc(n_names + 1, sizeof *nodes->allocatable),
                            .marks = calloc(count + 1, sizeof *nodes->marks),
                            .waiting = calloc(n_waiting + 1, sizeof *nodes->waiting)};
    bool made = nodes->left && nodes->allocatable && nodes->marks && nodes->waiting;
    for (size_t i = 0; made && i < n_names; i++)
        made = add_name(&nodes->names, names[i]);
    if (made)
        return nodes;
    nodes_free(nodes);
    return NULL;
}

void nodes_free(struct nodes *nodes) {
    if (!nodes)
        return;
    for (size_t i = 0; nodes->marks && i < nodes->count; i++)
        node_marks_unref(nodes->marks[i]);
    for (size_t i = 0; nodes->waiting && i < nodes->n_waiting; i++)
        free(nodes->waiting[i].request);
    resource_names_free(&nodes->names);
    free(nodes->left);
    free(nodes->allocatable);
    free(nodes->marks);
    free(nodes->waiting);
    free(nodes);
}

size_t nodes_bytes(const struct nodes *nodes) {
    size_t width = nodes ? nodes->names.count : 0;
    return nodes ? sizeof *nodes + nodes->count * (sizeof *nodes->marks + width * sizeof *nodes->left) +
                       nodes->n_waiting *
                           (sizeof *nodes->waiting + sizeof(struct amounts) + width * sizeof(struct amount))
                 : 0;
}
