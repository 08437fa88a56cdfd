// SPDX-License-Identifier: Apache-2.0
// Writes a placement into the annotations of the workload.
#include "core/engine/engine_internal.h"

#include "core/engine/accounts/accounts.h"
#include "core/engine/capacity/capacity.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/clusters/missing_worker.h"
#include "core/engine/elsewhere/elsewhere.h"
#include "core/engine/history/attempt_history.h"
#include "core/engine/kueue/kueue.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/mirror/mirror_parts.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"
#include "core/engine/status/status.h"
#include "core/engine/unstarted/unstarted.h"

// The mirror exists already: the annotations record the mirror, and the host places nothing.
static bool is_there(const struct entry *entry, const struct action *action) {
    const struct mirror *mirror = entry_mirror(entry, action->cluster);
    return mirror && mirror->facts.present && mirror->facts.of_workload && mirror->facts.attempt == action->attempt;
}

// The outcome of the present attempt, for the history.
static enum outcome outcome_of(const struct engine *engine, const struct entry *entry) {
    const struct workload_facts *w = &entry->workload->facts;
    const struct unstarted_facts *unstarted = entry->workload->unstarted;
    if (elsewhere_leaves(entry, w->attempt + 1) && !(unstarted && unstarted->withdrawn_attempt == w->attempt))
        return OUTCOME_FAILED;
    if (unstarted && unstarted->withdrawn_attempt && unstarted->withdrawn_attempt == w->attempt)
        return OUTCOME_WITHDRAWN;
    if (w->attempt == 0 || w->gone_attempt == w->attempt)
        return w->drained_attempt && w->drained_attempt == w->attempt ? OUTCOME_DRAINED : OUTCOME_DELETED;
    return facts_worker_is_lost(engine, entry) ? OUTCOME_LOST : OUTCOME_REPLACED;
}

// An operator may remove and add the worker before the create of the next mirror.
static void note_given_up(const struct engine *engine, struct entry *entry, const struct action *action) {
    struct workload_facts *w = &entry->workload->facts;
    if (w->attempt == 0 || w->attempt == action->attempt || !facts_worker_is_lost(engine, entry))
        return;
    const char *name = facts_worker_name(engine, entry);
    uint32_t hash = name ? decide_name_hash(name) : DECIDE_GIVEN_UP_SEVERAL;
    w->given_up = w->given_up && w->given_up != hash ? DECIDE_GIVEN_UP_SEVERAL : hash;
}

// The annotation with the values of earlier attempts, for the pods of this one.
static bool keep_values(struct engine *engine, struct entry *entry, const struct action *action, struct buffer *out) {
    const struct kind *kind = engine->kinds[entry->kind];
    if (action->attempt <= 1 || !kind->abi.continuity)
        return true;
    AUTO_BUFFER(left_out, 4096);
    const struct json *workload = doc_tree(&engine->store, &entry->workload->doc);
    bool ok = workload && values_keep(kind, workload, action->attempt, out, &left_out);
    if (left_out.len > 0)
        report_log(engine, LOG_WARN, ENGINE_MANAGEMENT, entry->kind,
                   "%s: the pods of attempt %u do not get these values of the status: %s; a value is a text, number or "
                   "boolean of at most %zu bytes without \"{{\"",
                   entry->key, action->attempt, left_out.data, VALUES_ONE_MAX);
    return ok;
}

static bool send_placement(struct engine *engine, struct entry *entry, const struct action *action) {
    const char *name = engine->clusters[action->cluster].name;
    const struct mirror *mirror = entry_mirror(entry, action->cluster);
    AUTO_BUFFER(marks, SIZE_MAX / 4); // further annotations
    accounts_put_mark(engine, entry, action->attempt, &marks);
    elsewhere_put_mark(engine, entry, action->attempt, &marks);
    bool ok = keep_values(engine, entry, action, &marks) && !marks.failed;
    AUTO_TEXT body = !ok ? NULL
                         : text_format("{\"metadata\":{\"uid\":\"%s\",\"resourceVersion\":\"%s\",\"annotations\":"
                                       "{\"" MARK_CLUSTER "\":\"%s\",\"" MARK_ATTEMPT "\":\"%u\"%s},"
                                       "\"labels\":{\"" MARK_CLUSTER "\":\"%s\"}}}",
                                       entry->workload->uid, doc_version(&engine->store, &entry->workload->doc), name,
                                       action->attempt, marks.len > 0 ? marks.data : "", name);
    struct request_in_flight request = {.type = REQUEST_PLACE,
                                        .body = body,
                                        .body_len = body ? strlen(body) : 0,
                                        .attempt = action->attempt,
                                        .was_clean = !mirror || !mirror->doc.text.own};
    if (!body)
        queue_retry_soon(engine, &entry->workload->facts.not_before_ns);
    return body && command_send_about(engine, entry, NULL, &request);
}

static void report_placement(struct engine *engine, struct entry *entry, const struct action *action, bool again) {
    const struct workload_facts *w = &entry->workload->facts;
    if (action->attempt == w->attempt)
        return;
    if (action->attempt == 1 || w->attempt == 0) {
        engine->stats.placements += !again;
        return;
    }
    engine->stats.replacements += !again;
    if (elsewhere_report_placed(engine, entry, action))
        return;
    if (!again && repeat_placed(engine, entry)) // too frequent
        return;
    if (w->cluster == DECIDE_UNKNOWN_CLUSTER)
        missing_worker_rescheduled(engine, entry, action);
    else
        report_rescheduled(engine, entry, action);
}

// Rule 4: uid and resourceVersion are preconditions.
bool act_place(struct engine *engine, struct entry *entry, const struct action *action) {
    struct workload *w = entry->workload;
    if (action->attempt > MIRROR_ATTEMPT_MAX) {
        report_event(engine, entry, true, "TooManyAttempts", "Place",
                     MARK_ATTEMPT
                     " is %u, the maximum: the host does not place the workload again until the annotation "
                     "is lowered",
                     w->facts.attempt);
        w->facts.not_before_ns = engine->now.mono_ns + 10 * CLOCK_MINUTE;
        return true;
    }
    if (w->facts.attempt == 0 && !is_there(entry, action) &&
        (!act_accepts(engine, entry) || !kueue_permits(engine, entry)))
        return true;
    if (!send_placement(engine, entry, action))
        return true;
    if (action->attempt != w->facts.attempt)
        attempt_history_leaves(entry, outcome_of(engine, entry));
    note_given_up(engine, entry, action);
    bool again = w->requested_attempt == action->attempt; // the same placement, after a rejected write
    w->requested_cluster = (uint32_t)action->cluster;
    w->requested_attempt = action->attempt;
    w->placement.had_choice = action->had_choice;
    report_placement(engine, entry, action, again);
    unstarted_placed(engine, entry, action->cluster);
    // Counts immediately, so a burst of placements spreads over the workers.
    cluster_count_active(engine, entry, (uint32_t)action->cluster);
    capacity_placed(engine, entry, action->cluster);
    return true;
}
