// SPDX-License-Identifier: Apache-2.0
// A part of the engine: one feature. Its code is a folder; its state is one struct in struct engine, and one in struct
// workload where it needs that, whose fields only the folder uses (lint proves it). Its row in the table of parts says
// when the engine calls the part; each function is optional. docs/architecture.md, "How to add a feature".
#ifndef WHARF_ENGINE_PART_H
#define WHARF_ENGINE_PART_H

#include "core/engine/engine_internal.h"

struct engine_options;
struct request_in_flight;
struct response;

struct part {
    const char *name;

    // Begins with the engine: what the part has is empty (zero), and engine->settings are known. Ends with it; while
    // the store is there for a part that comes before it in the table.
    struct error *(*begin)(struct engine *engine, const struct engine_options *options);
    void (*end)(struct engine *engine);
    // engine->settings have changed: `former` are those of before. Also once after all parts have begun, with former ==
    // &engine->settings.
    void (*configure)(struct engine *engine, const struct engine_settings *former);

    // Takes events of these types (PART_EVENT), in the order of the table. Who takes event->object or the like sets it
    // to NULL.
    uint64_t events;
    void (*event)(struct engine *engine, struct engine_event *event);
    // After the event of each step: what has become due.
    void (*tick)(struct engine *engine);
    // The next entry that is to be decided now, beside those that are queued; NULL: none.
    struct entry *(*turn)(struct engine *engine);
    // At the end of a step. Then: when the part has to be called again, CLOCK_NEVER: not before another event.
    void (*step_ends)(struct engine *engine);
    int64_t (*due_ns)(struct engine *engine);

    // Before the decision about an entry whose shard this host holds; instead of a decision, where another host does.
    void (*before)(struct engine *engine, struct entry *entry);
    void (*stand_by)(struct engine *engine, struct entry *entry);
    // The part's facts about the entry.
    void (*facts)(const struct engine *engine, const struct entry *entry, struct decide_facts *facts);
    // After the decision about a workload.
    void (*after)(struct engine *engine, struct entry *entry, const struct action *action);

    // Answers to requests of these types (PART_REQUEST).
    uint64_t requests;
    void (*answered)(struct engine *engine, struct entry *entry, struct request_in_flight *request,
                     struct response *response);

    // The entry's workload ends, or the entry: what refers to them does not any longer.
    void (*workload_ends)(struct engine *engine, struct entry *entry);
    void (*entry_ends)(struct engine *engine, struct entry *entry);
    // Brings the statistics up to date.
    void (*count)(struct engine *engine);
};

#define PART_EVENT(type) (UINT64_C(1) << (type))
#define PART_EVENTS UINT64_MAX
#define PART_REQUEST(type) (UINT64_C(1) << (type))

extern const struct part *const parts[]; // ends with NULL

#define EACH_PART(part, function)                                                                                      \
    for (const struct part *const *at_ = parts, *part; (part = *at_); at_++)                                           \
        if (part->function)

#endif
