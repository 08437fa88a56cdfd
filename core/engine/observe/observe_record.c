// SPDX-License-Identifier: Apache-2.0
// The annotations that record where a workload is placed.
#include "core/engine/observe/observe_parts.h"

#include "core/engine/clusters/missing_worker.h"
#include "core/engine/facts.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/report/report.h"
#include "core/engine/shard/shard.h"

#define RESTORES_FREE 3 // of the annotations, before the throttle

uint32_t observe_annotated_cluster(const struct engine *engine, const struct json *object) {
    const char *name = object_annotation(object, MARK_CLUSTER);
    if (!name)
        return 0;
    for (size_t c = 1; c < engine->n_clusters; c++)
        if (text_equal(engine->clusters[c].name, name))
            return (uint32_t)c;
    return DECIDE_UNKNOWN_CLUSTER;
}

// An annotation's value, shortened for a message.
static void written(const struct json *object, const char *key, char out[64]) {
    const char *text = object_annotation(object, key);
    text_copy(out, 64, text ? text : "nothing");
}

static bool is_over(const struct entry *entry, const struct mirror *placed) {
    return entry->workload->facts.finished &&
           !decide_is_disputed(&entry->workload->facts, placed ? &placed->facts : NULL);
}

// The label repeats the annotation, for selectors. The same patch restores both, with the same delays; if the label
// does not last, only the annotation. Workloads placed before the label existed have none.
static void check_label(struct engine *engine, struct entry *entry, const struct json *object, uint32_t cluster,
                        bool was) {
    const char *label = object_label(object, MARK_CLUSTER);
    const struct mirror *m = facts_placed_mirror(entry);
    if (!m || !m->facts.proven || cluster != entry->workload->facts.cluster || is_over(entry, m))
        return;
    const char *name = engine->clusters[m->facts.cluster].name;
    bool right = text_equal(label, name);
    bool restored = !right && (label || entry->workload->labelled);
    entry->workload->labelled |= right;
    if (!restored || (!was && throttle_is_hot(&entry->workload->facts.restores, engine->now.mono_ns, RESTORES_FREE)))
        return;
    entry->workload->facts.misplaced = true;
    if (was)
        return;
    char shown[64];
    text_copy(shown, sizeof shown, label ? label : "nothing");
    throttle_next(&entry->workload->facts.restores, engine->now.mono_ns, RESTORES_FREE);
    report_event(engine, entry, true, "LabelRestored", "Place",
                 "label " MARK_CLUSTER " was changed to %s, which does not move the mirror: it is restored to %s",
                 shown, name);
}

void observe_check_annotations(struct engine *engine, struct entry *entry, const struct json *object, uint32_t cluster,
                               uint32_t attempt) {
    bool was = entry->workload->facts.misplaced;
    entry->workload->facts.misplaced = false;
    if (!shard_is_held(engine, entry) || !shard_is_fresh(engine, entry)) // another host moves it, or did
        return;
    const struct mirror *m = facts_placed_mirror(entry);
    if ((cluster == entry->workload->facts.cluster && attempt == entry->workload->facts.attempt) ||
        (cluster == entry->workload->requested_cluster && attempt == entry->workload->requested_attempt) ||
        is_over(entry, m)) {
        check_label(engine, entry, object, cluster, was);
        return;
    }
    if (!m || !m->facts.proven)
        return;
    entry->workload->facts.misplaced = true;
    if (was)
        return;
    char name[64], number[64];
    written(object, MARK_CLUSTER, name);
    written(object, MARK_ATTEMPT, number);
    throttle_next(&entry->workload->facts.restores, engine->now.mono_ns, RESTORES_FREE);
    report_event(engine, entry, true, "AnnotationsRestored", "Place",
                 MARK_CLUSTER " was changed to %s and " MARK_ATTEMPT
                              " to %s, which does not move the mirror: they are restored to cluster %s, attempt %u",
                 name, number, engine->clusters[m->facts.cluster].name, m->facts.attempt);
}

void observe_read_unknown(struct engine *engine, struct entry *entry, const struct json *object, bool was_unknown) {
    const char *name =
        entry->workload->facts.cluster == DECIDE_UNKNOWN_CLUSTER ? object_annotation(object, MARK_CLUSTER) : NULL;
    if (name && !was_unknown)
        missing_worker_begin(engine, entry);
    missing_worker_count(engine, entry, name);
}

void observe_keep_unknown(const struct engine *engine, struct entry *entry, uint32_t cluster, uint32_t attempt) {
    struct workload_facts *w = &entry->workload->facts;
    bool requested =
        attempt && cluster == entry->workload->requested_cluster && attempt == entry->workload->requested_attempt;
    bool none = w->clean_attempt == w->attempt || w->gone_attempt == w->attempt;
    if (cluster == DECIDE_UNKNOWN_CLUSTER || requested || none || w->finished)
        return;
    w->earlier_until_ns =
        clock_later(w->earlier_until_ns, clock_after(w->unknown_since_ns, engine->settings.worker_lost_timeout_ns));
}
