// SPDX-License-Identifier: Apache-2.0
// Entries that wait for the window of one cluster. The engine builds the request when the entry's turn comes. Classes
// take turns by weight, so that none starves. Within a class the flows (a kind in a namespace) take turns, so that
// many objects of one author do not delay the objects of another. A flow is first in, first out. placement_part.c
// visits waiting entries in the same turns, in rounds.
#pragma once

#include "core/base/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum work_class {
    WORK_FINAL_STATUS, // final statuses of workloads
    WORK_DELETE,       // deletions and suspensions, and finalizers
    WORK_CREATE,       // placements, creates, and reads that precede creates
    WORK_STATUS,       // other statuses: waiting merges changes
    WORK_REFRESH,      // changes of mirrors, reads
    WORK_CLASSES
};

// A place in the queue; part of the entry.
struct fair_node {
    struct fair_node *previous, *next;
    struct flow *flow; // NULL: not in a queue
    struct entry *entry;
    bool renewed; // by the present reconciliation, see command.h
};

struct flow {
    struct flow *previous, *next; // in a ring, in the order of their turns
    struct fair_queue *queue;
    enum work_class work;
    struct fair_node *first, *last;
    struct fair_node *unseen; // the first that this round has not visited; NULL: none
    uint32_t round;
    char key[]; // "kind namespace"
};

struct fair_queue {
    struct fair_class {
        struct flow *turn; // the next flow; NULL: the class is empty
        struct map flows;  // by key
        size_t count;      // of entries
        int credit;        // see fair_queue_next
    } classes[WORK_CLASSES];
    size_t count;
    uint32_t round;
};

void fair_queue_init(struct fair_queue *queue, uint64_t seed);
void fair_queue_free(struct fair_queue *queue); // does not touch the nodes

// Puts `node` into a class. A node that is already there keeps the place. False: out of memory, and no queue holds
// the node.
bool fair_queue_put(struct fair_queue *queue, struct fair_node *node, struct entry *entry, enum work_class work,
                    uint32_t kind, const char *namespace_, size_t namespace_len);
void fair_queue_remove(struct fair_node *node); // also a node in no queue

// Removes the next entry; NULL: the queue is empty.
struct entry *fair_queue_next(struct fair_queue *queue);

// The next entry of a class that this round has not visited, in turns, without a removal. NULL: none is left. The
// next round begins where this one ended.
void fair_queue_begin_round(struct fair_queue *queue);
struct entry *fair_queue_look(struct fair_queue *queue, enum work_class work);

const char *work_class_name(enum work_class work); // for metrics: "final_status"; static
