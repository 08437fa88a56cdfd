// SPDX-License-Identifier: Apache-2.0
#include "core/engine/store/fair_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    int weight;
    const char *name;
} classes[WORK_CLASSES] = {
    [WORK_FINAL_STATUS] = {8, "final_status"},
    [WORK_DELETE] = {8, "delete"},
    [WORK_CREATE] = {8, "create"},
    [WORK_STATUS] = {3, "status"},
    [WORK_REFRESH] = {1, "refresh"},
};

const char *work_class_name(enum work_class work) {
    return classes[work].name;
}

void fair_queue_init(struct fair_queue *queue, uint64_t seed) {
    *queue = (struct fair_queue){0};
    for (int i = 0; i < WORK_CLASSES; i++)
        map_init(&queue->classes[i].flows, seed);
}

static void free_flow(struct flow *flow) {
    struct fair_class *class = &flow->queue->classes[flow->work];
    map_remove(&class->flows, flow->key);
    flow->previous->next = flow->next;
    flow->next->previous = flow->previous;
    if (class->turn == flow)
        class->turn = flow->next == flow ? NULL : flow->next;
    free(flow);
}

void fair_queue_free(struct fair_queue *queue) {
    for (int i = 0; i < WORK_CLASSES; i++) {
        while (queue->classes[i].turn)
            free_flow(queue->classes[i].turn);
        map_free(&queue->classes[i].flows);
    }
}

// A new flow comes after all others.
static struct flow *make_flow(struct fair_queue *queue, enum work_class work, const char *key, size_t len) {
    struct fair_class *class = &queue->classes[work];
    struct flow *flow = calloc(1, sizeof *flow + len + 1);
    if (!flow)
        return NULL;
    memcpy(flow->key, key, len);
    if (!map_put(&class->flows, flow->key, flow)) {
        free(flow);
        return NULL;
    }
    flow->queue = queue;
    flow->work = work;
    flow->previous = class->turn ? class->turn->previous : flow;
    flow->next = class->turn ? class->turn : flow;
    flow->previous->next = flow->next->previous = flow;
    if (!class->turn)
        class->turn = flow;
    return flow;
}

bool fair_queue_put(struct fair_queue *queue, struct fair_node *node, struct entry *entry, enum work_class work,
                    uint32_t kind, const char *namespace_, size_t namespace_len) {
    if (node->flow && node->flow->queue == queue && node->flow->work == work)
        return true;
    fair_queue_remove(node);
    char key[16 + 256];
    int len = snprintf(key, sizeof key, "%u %.*s", kind, (int)namespace_len, namespace_);
    if (len < 0 || (size_t)len >= sizeof key)
        return false;
    struct flow *flow = map_get(&queue->classes[work].flows, key);
    if (!flow)
        flow = make_flow(queue, work, key, (size_t)len);
    if (!flow)
        return false;
    node->entry = entry;
    node->flow = flow;
    node->next = NULL;
    node->previous = flow->last;
    *(flow->last ? &flow->last->next : &flow->first) = node;
    flow->last = node;
    queue->classes[work].count++;
    queue->count++;
    return true;
}

void fair_queue_remove(struct fair_node *node) {
    struct flow *flow = node->flow;
    if (!flow)
        return;
    *(node->previous ? &node->previous->next : &flow->first) = node->next;
    *(node->next ? &node->next->previous : &flow->last) = node->previous;
    if (flow->unseen == node)
        flow->unseen = node->next;
    node->flow = NULL;
    node->previous = node->next = NULL;
    flow->queue->classes[flow->work].count--;
    flow->queue->count--;
    if (!flow->first)
        free_flow(flow);
}

// Smooth weighted round robin: each class with entries earns the weight; the richest has a turn and pays for all.
static struct fair_class *next_class(struct fair_queue *queue) {
    struct fair_class *best = NULL;
    int sum = 0;
    for (int i = 0; i < WORK_CLASSES; i++) {
        struct fair_class *class = &queue->classes[i];
        if (!class->turn) {
            class->credit = 0;
            continue;
        }
        class->credit += classes[i].weight;
        sum += classes[i].weight;
        if (!best || class->credit > best->credit)
            best = class;
    }
    if (best)
        best->credit -= sum;
    return best;
}

struct entry *fair_queue_next(struct fair_queue *queue) {
    struct fair_class *class = next_class(queue);
    if (!class)
        return NULL;
    struct flow *flow = class->turn;
    struct fair_node *node = flow->first;
    class->turn = flow->next;
    fair_queue_remove(node);
    return node->entry;
}

void fair_queue_begin_round(struct fair_queue *queue) {
    queue->round++;
}

struct entry *fair_queue_look(struct fair_queue *queue, enum work_class work) {
    struct fair_class *class = &queue->classes[work];
    struct flow *flow = class->turn;
    for (bool more = flow; more; flow = flow->next, more = flow != class->turn) {
        if (flow->round != queue->round)
            flow->unseen = flow->first;
        flow->round = queue->round;
        struct fair_node *node = flow->unseen;
        if (!node)
            continue;
        flow->unseen = node->next;
        class->turn = flow->next;
        return node->entry;
    }
    return NULL;
}
