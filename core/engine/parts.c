// SPDX-License-Identifier: Apache-2.0
// The table of parts, in the order of the calls.
#include "core/engine/engine_internal.h"

#include <assert.h>

extern const struct part part_clock_jump, part_shard, part_capacity, part_store, part_request, part_rejection,
    part_identity, part_clusters, part_restored, part_limits, part_observe, part_admission, part_placement,
    part_worker_facts, part_startup_grace, part_retry, part_fence, part_unstarted, part_dropped, part_status,
    part_rival, part_probation, part_report, part_history, part_placement_events, part_kueue, part_aside, part_tenancy,
    part_dependencies, part_continuity, part_accounts, part_children, part_elsewhere, part_suspects, part_words;

static const struct part *const parts[] = {
    &part_clock_jump, // before any decision by time
    &part_shard,
    &part_capacity, // ends before the store
    &part_store,
    &part_tenancy, // before part_request: puts denials in plain words; before part_clusters: a worker leaves
    &part_request,
    &part_rejection, // before part_clusters: compares with the former contact
    &part_identity,
    &part_clusters,
    &part_restored,
    &part_limits, // before part_observe: bounds the objects
    &part_observe,
    &part_admission, // after part_observe: objects missing from a list are gone
    &part_placement,
    &part_worker_facts,
    &part_startup_grace,
    &part_retry, // before part_aside, which tries again
    &part_aside, // before the parts with calls and decisions by phases
    &part_fence,
    &part_elsewhere, // before part_unstarted
    &part_suspects,
    &part_unstarted,
    &part_dropped,
    &part_status,
    &part_rival,
    &part_probation,
    &part_report,
    &part_history,
    &part_accounts,
    &part_placement_events, // after part_history, which records the ends of attempts
    &part_kueue,
    &part_continuity,
    &part_children,
    &part_words, // after part_elsewhere: a mirror that leaves
    &part_dependencies, // after the parts that change mirrors and clusters in a step
};

static_assert(sizeof parts / sizeof *parts < PARTS_MAX, "the lists of calls have no place for all parts");

struct part_calls *part_calls_new(void) {
    struct part_calls *calls = calloc(1, sizeof *calls);
    for (size_t member = 0; calls && member < sizeof calls->of / sizeof *calls->of; member++) {
        const struct part **end = calls->of[member];
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            void *function;
            memcpy(&function, (const char *)parts[i] + member * sizeof function, sizeof function);
            if (function)
                *end++ = parts[i];
        }
    }
    return calls;
}
