// SPDX-License-Identifier: Apache-2.0
// Writes a placement into the annotations of the workload.
#include "core/engine/act.h"

#include "core/engine/capacity/capacity.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/clusters/missing_worker.h"
#include "core/engine/decide/decide_unstarted.h"
#include "core/engine/facts.h"
#include "core/engine/history/attempt_history.h"
#include "core/engine/kueue/kueue.h"
#include "core/engine/mirror/act_update.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/queue.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/status/repeat.h"
#include "core/engine/unstarted/unstarted.h"

#include <stdio.h>

// The mirror exists already: it is recorded in the annotations, not placed.
static bool is_there(const struct entry *entry, const struct action *action) {
    const struct mirror *mirror = entry_mirror(entry, action->cluster);
    return mirror && mirror->facts.present && mirror->facts.of_workload && mirror->facts.attempt == action->attempt;
}

// For its story.
static enum outcome why_it_leaves(const struct engine *engine, const struct entry *entry) {
    if (entry->workload->unstarted && entry->workload->unstarted->withdrawn_attempt &&
        entry->workload->unstarted->withdrawn_attempt == entry->workload->facts.attempt)
        return OUTCOME_WITHDRAWN;
    if (entry->workload->facts.attempt == 0 || entry->workload->facts.gone_attempt == entry->workload->facts.attempt)
        return entry->workload->facts.drained_attempt &&
                       entry->workload->facts.drained_attempt == entry->workload->facts.attempt
                   ? OUTCOME_DRAINED
                   : OUTCOME_DELETED;
    return facts_worker_is_lost(engine, entry) ? OUTCOME_LOST : OUTCOME_REPLACED;
}

// Its worker may be removed and added again before the next mirror is created.
static void note_given_up(const struct engine *engine, struct entry *entry, const struct action *action) {
    if (entry->workload->facts.attempt == 0 || entry->workload->facts.attempt == action->attempt ||
        !facts_worker_is_lost(engine, entry))
        return;
    const char *name = facts_worker_name(engine, entry);
    uint32_t hash = name ? decide_name_hash(name) : DECIDE_GIVEN_UP_SEVERAL;
    bool other = entry->workload->facts.given_up && entry->workload->facts.given_up != hash;
    entry->workload->facts.given_up = other ? DECIDE_GIVEN_UP_SEVERAL : hash;
}

// Rule 4: uid and resourceVersion are preconditions.
bool act_place(struct engine *engine, struct entry *entry, const struct action *action) {
    if (action->attempt > MIRROR_ATTEMPT_MAX) {
        report_event(engine, entry, true, "TooManyAttempts", "Place",
                     MARK_ATTEMPT " is %u, the maximum: it is not placed again until the annotation is lowered",
                     entry->workload->facts.attempt);
        entry->workload->facts.not_before_ns = engine->now.mono_ns + 10 * CLOCK_MINUTE;
        return true;
    }
    if (entry->workload->facts.attempt == 0 && !is_there(entry, action) &&
        (!act_accepts(engine, entry) || !kueue_permits(engine, entry)))
        return true;
    char body[640];
    const char *name = engine->clusters[action->cluster].name;
    int len =
        snprintf(body, sizeof body,
                 "{\"metadata\":{\"uid\":\"%s\",\"resourceVersion\":\"%s\",\"annotations\":{\"" MARK_CLUSTER
                 "\":\"%s\",\"" MARK_ATTEMPT "\":\"%u\"},\"labels\":{\"" MARK_CLUSTER "\":\"%s\"}}}",
                 entry->workload->uid, doc_version(&engine->store, &entry->workload->doc), name, action->attempt, name);
    if (len < 0 || (size_t)len >= sizeof body) {
        queue_retry_soon(engine, &entry->workload->facts.not_before_ns);
        return true;
    }
    entry->busy =
        command_send(engine, entry,
                     &(struct command_spec){.type = REQUEST_PLACE,
                                            .verb = VERB_MERGE_PATCH,
                                            .body = body,
                                            .body_len = (size_t)len,
                                            .attempt = action->attempt,
                                            .was_clean = !entry_mirror(entry, action->cluster) ||
                                                         !entry_mirror(entry, action->cluster)->doc.text.own});
    if (!entry->busy) {
        queue_retry_soon(engine, &entry->workload->facts.not_before_ns);
        return true;
    }
    if (action->attempt != entry->workload->facts.attempt)
        attempt_history_leaves(entry, why_it_leaves(engine, entry));
    note_given_up(engine, entry, action);
    // A write that was rejected is repeated: that is the same placement.
    bool again = entry->workload->requested_attempt == action->attempt;
    entry->workload->requested_cluster = (uint32_t)action->cluster;
    entry->workload->requested_attempt = action->attempt;
    entry->workload->placement.had_choice = action->had_choice;
    if (action->attempt > 1 && entry->workload->facts.attempt && entry->workload->facts.attempt != action->attempt) {
        engine->stats.replacements += !again;
        bool hot = !again && repeat_placed(engine, entry);
        if (!hot && entry->workload->facts.cluster == DECIDE_UNKNOWN_CLUSTER)
            missing_worker_rescheduled(engine, entry, action);
        else if (!hot)
            report_rescheduled(engine, entry, action);
    } else if (action->attempt != entry->workload->facts.attempt) {
        engine->stats.placements += !again;
    }
    unstarted_placed(engine, entry, action->cluster);
    // Counted immediately, so that a burst of placements spreads over the workers.
    cluster_count_active(engine, entry, (uint32_t)action->cluster);
    capacity_placed(engine, entry, action->cluster);
    return true;
}
