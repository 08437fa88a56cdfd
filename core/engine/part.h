// SPDX-License-Identifier: Apache-2.0
// A part of the engine: one feature. The code of a part is a folder, and the state is one struct in struct engine,
// and one in struct workload where needed; only the folder uses these structs (lint proves that). The row in the table
// of parts lists the functions that the engine calls, all optional. docs/architecture.md, "How to add a feature".
#pragma once

#include "core/engine/engine_internal.h"

struct engine_options;

struct part {
    const char *name;

    // Begins with the engine: the part's state is zero, and the engine has its settings. Ends with the engine, while
    // the store exists if the part precedes the store's in the table.
    struct error *(*begin)(struct engine *engine, const struct engine_options *options);
    void (*end)(struct engine *engine);
    // engine->settings have changed: `former` are the old ones. Also once after all parts have begun, with former ==
    // &engine->settings.
    void (*configure)(struct engine *engine, const struct engine_settings *former);

    // Handles events of these types (PART_EVENT), in the order of the table. A part that takes event->object or
    // another member sets the member to NULL.
    uint64_t events;
    void (*event)(struct engine *engine, struct engine_event *event);
    // After the event of each step: handles due work.
    void (*tick)(struct engine *engine);
    // The next entry to decide, besides queued ones; NULL: none.
    struct entry *(*turn)(struct engine *engine);
    // At the end of a step. Then: the due time of the next call, CLOCK_NEVER: at the next event.
    void (*step_ends)(struct engine *engine);
    int64_t (*due_ns)(struct engine *engine);

    // The engine is about to read a version of the entry's workload; `had`: not the first version.
    void (*seen)(struct engine *engine, struct entry *entry, const struct json *object, bool had);

    // Before the decision about an entry; `stand_by` instead of a decision if another host holds the shard.
    void (*before)(struct engine *engine, struct entry *entry);
    void (*stand_by)(struct engine *engine, struct entry *entry);
    // The facts of the part about the entry.
    void (*facts)(const struct engine *engine, const struct entry *entry, struct decide_facts *facts);
    // After the decision about a workload.
    void (*after)(struct engine *engine, struct entry *entry, const struct action *action);

    // Answers to requests of these types (PART_REQUEST).
    uint64_t requests;
    void (*answered)(struct engine *engine, struct entry *entry, struct request_in_flight *request,
                     struct response *response);

    // The workload or the entry ends: the part drops all references.
    void (*workload_ends)(struct engine *engine, struct entry *entry);
    void (*entry_ends)(struct engine *engine, struct entry *entry);
    // Updates the statistics.
    void (*count)(struct engine *engine);
};

#define PART_EVENT(type) (UINT64_C(1) << (type))
#define PART_EVENTS UINT64_MAX
#define PART_REQUEST(type) (UINT64_C(1) << (type))

extern const struct part *const parts[]; // ends with NULL

// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are names
#define EACH_PART(part, function)                                                                                      \
    for (const struct part *const *at_ = parts, *part; (part = *at_); at_++)                                           \
        if (part->function)
// NOLINTEND(bugprone-macro-parentheses)
