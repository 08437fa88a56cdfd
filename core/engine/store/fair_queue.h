// SPDX-License-Identifier: Apache-2.0
// What waits for a place in the window of one cluster: objects about which a request is to be sent, without the
// request, which is made when its turn comes. Classes take turns by weight, so that none starves; within a class the
// flows (a kind in a namespace) take turns, so that one author's many objects do not delay another's; within a flow the
// first to come is the first to go. What waits can also be looked at in the same turns, in rounds (placement_queue.c).
#ifndef WHARF_ENGINE_FAIR_QUEUE_H
#define WHARF_ENGINE_FAIR_QUEUE_H

#include "core/base/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum work_class {
    WORK_FINAL_STATUS, // of a workload that has finished
    WORK_DELETE,       // deletions and suspensions, and finalizers
    WORK_CREATE,       // placements and creates, and the reads that they wait for
    WORK_STATUS,       // other statuses: the longer one waits, the more changes are in it
    WORK_REFRESH,      // changes of mirrors, reads
    WORK_CLASSES
};

struct entry;
struct flow;

// A place in the queue; part of the object that waits.
struct fair_node {
    struct fair_node *previous, *next;
    struct flow *flow; // NULL: it does not wait
    struct entry *entry;
    bool renewed; // by the present reconciliation, see pacing.h
};

struct flow {
    struct flow *previous, *next; // in a ring, in the order of their turns
    struct fair_queue *queue;
    enum work_class work;
    struct fair_node *first, *last;
    struct fair_node *unseen; // of the round: the first that was not looked at; NULL: all were
    uint32_t round;
    char key[]; // "kind namespace"
};

struct fair_queue {
    struct fair_class {
        struct flow *turn; // whose it is next; NULL: nothing waits
        struct map flows;  // by key
        size_t count;      // of what waits
        int credit;        // see fair_queue_next
    } classes[WORK_CLASSES];
    size_t count;
    uint32_t round;
};

void fair_queue_init(struct fair_queue *queue, uint64_t seed);
void fair_queue_free(struct fair_queue *queue); // what waits is forgotten, its nodes are not touched

// Lets `node` wait in a class. One that waits in this class of this queue keeps its place. False when out of memory: it
// does not wait.
bool fair_queue_put(struct fair_queue *queue, struct fair_node *node, struct entry *entry, enum work_class work,
                    uint32_t kind, const char *namespace_, size_t namespace_len);
void fair_queue_remove(struct fair_node *node); // also one that does not wait

// Takes what is next; NULL: nothing waits.
struct entry *fair_queue_next(struct fair_queue *queue);

// The next of a class that was not looked at in this round, in turns; it stays. NULL: all were. A round ends when the
// next one begins, and the turns go on.
void fair_queue_begin_round(struct fair_queue *queue);
struct entry *fair_queue_look(struct fair_queue *queue, enum work_class work);

const char *work_class_name(enum work_class work); // for metrics: "final_status"; static

#endif
