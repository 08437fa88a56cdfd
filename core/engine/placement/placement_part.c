// SPDX-License-Identifier: Apache-2.0
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/engine.h"
#include "core/engine/facts.h"
#include "core/engine/part.h"
#include "core/engine/placement/namespace_labels.h"
#include "core/engine/placement/namespace_retry.h"
#include "core/engine/placement/placement_queue.h"
#include "core/engine/placement/placement_rules.h"

#include <stdlib.h>

void placement_replace_rules(struct engine *engine, struct placement_settings *rules) {
    placement_settings_free(engine->placement.rules);
    engine->placement.rules = rules;
}

static struct error *begin(struct engine *engine, const struct engine_options *options) {
    fair_queue_init(&engine->placement.queue.waiting, options->seed);
    return namespace_labels_new(options->seed, &engine->placement.namespace_labels);
}

static void end(struct engine *engine) {
    fair_queue_free(&engine->placement.queue.waiting);
    free(engine->placement.namespace_waiters.list);
    placement_replace_rules(engine, NULL);
    namespace_labels_free(engine->placement.namespace_labels);
}

static void on_event(struct engine *engine, struct engine_event *event) {
    if (event->type == EVENT_LISTED)
        placement_queue_retry(engine); // more is counted
    else if (event->cluster == ENGINE_MANAGEMENT)
        namespace_labels_take(engine, event);
    else
        namespace_retry_changed(engine, event->cluster, event->namespace_.name);
}

static int64_t due_ns(struct engine *engine) {
    return clock_earlier(placement_queue_wake_ns(engine), namespace_labels_due_ns(engine));
}

static void stand_by(struct engine *engine, struct entry *entry) {
    placement_queue_note(engine, entry, PLACEMENT_TURN_NONE);
}

static void facts(const struct engine *engine, const struct entry *entry, struct decide_facts *facts) {
    facts->namespaces = engine->settings.namespaces;
    facts->namespace_ = facts_namespace(engine, entry);
    facts->wait_when_lost = facts_worker_is_lost(engine, entry) && placement_waits_when_lost(engine, entry);
}

static void seen(struct engine *engine, struct entry *entry, const struct json *object, bool had) {
    (void)engine;
    (void)had;
    entry->workload->placement.has_placement_annotations =
        object_annotation(object, MARK_CLUSTER_NAMES) || object_annotation(object, MARK_CLUSTER_SELECTOR);
}

struct namespaces_subject facts_namespace(const struct engine *engine, const struct entry *entry) {
    char space[254];
    entry_namespace(entry, space);
    struct namespaces_subject subject = {.name = entry->key, .len = entry->name_at - 1U};
    subject.labels_known = namespace_labels_of(engine->placement.namespace_labels, space, &subject.labels);
    return subject;
}

const struct part part_placement = {.name = "placement",
                                    .begin = begin,
                                    .end = end,
                                    .events = PART_EVENT(EVENT_LISTED) | PART_EVENT(EVENT_NAMESPACE),
                                    .event = on_event,
                                    .tick = namespace_labels_tick,
                                    .turn = placement_queue_next,
                                    .due_ns = due_ns,
                                    .stand_by = stand_by,
                                    .facts = facts,
                                    .entry_ends = namespace_retry_forget,
                                    .seen = seen};
