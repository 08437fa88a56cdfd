// SPDX-License-Identifier: Apache-2.0
#include "core/engine/history/attempt_history.h"

#include "core/base/memory.h"
#include "core/engine/decide/decide_parts.h"
#include "core/engine/elsewhere/retried.h"
#include "core/engine/mirror/mirror.h"
#include "core/engine/placement/placing.h"

struct attempt *attempt_history_newest(const struct entry *entry) {
    return entry->workload->history.attempts.newest;
}

static const char *cluster_of(struct engine *engine, struct entry *entry) {
    if (entry->workload->facts.cluster != DECIDE_UNKNOWN_CLUSTER)
        return engine->clusters[entry->workload->facts.cluster].name;
    const char *name = object_annotation(doc_tree(&engine->store, &entry->workload->doc), MARK_CLUSTER);
    return name ? name : "";
}

static bool is_present_one(const struct engine *engine, const struct workload *w) {
    const struct attempt *attempt = w->history.attempts.newest;
    return attempt && attempt->number == w->facts.attempt &&
           (w->facts.cluster == DECIDE_UNKNOWN_CLUSTER ||
            strcmp(attempt->cluster, engine->clusters[w->facts.cluster].name) == 0);
}

static void end_attempt(const struct engine *engine, struct attempt *attempt, enum outcome outcome) {
    attempt->outcome = (uint8_t)outcome;
    attempt->ended_ns = outcome ? engine->now.wall_ns : 0;
    attempt->reason = NULL;
    free(TAKE(attempt->message));
}

static void set_message(struct attempt *attempt, const char *message) {
    char text[ATTEMPT_MESSAGE_MAX];
    text_copy(text, sizeof text, message);
    free(attempt->message);
    attempt->message = *text ? strdup(text) : NULL; // out of memory: none
}

// The record of the present attempt, created on demand. NULL: not placed, or out of memory.
static struct attempt *present_attempt(struct engine *engine, struct entry *entry) {
    struct workload *w = entry->workload;
    struct attempt_history *history = &w->history.attempts;
    if (!w->facts.exists || w->facts.attempt == 0)
        return NULL;
    if (is_present_one(engine, w))
        return history->newest;
    const char *cluster = cluster_of(engine, entry);
    size_t size = strlen(cluster) + 1;
    struct attempt *attempt = calloc(1, sizeof *attempt + size);
    if (!attempt)
        return NULL;
    memcpy(attempt->cluster, cluster, size);
    attempt->number = w->facts.attempt;
    attempt->witnessed = w->requested_attempt == attempt->number && w->requested_cluster == w->facts.cluster;
    attempt->placed_ns = attempt->witnessed ? engine->now.wall_ns : 0;
    attempt->scores = attempt->witnessed ? scoring_take_text(entry) : NULL;
    if (history->newest && !history->newest->outcome)
        end_attempt(engine, history->newest, history->leaving ? (enum outcome)history->leaving : OUTCOME_REPLACED);
    history->leaving = OUTCOME_NONE;
    attempt->older = history->newest;
    history->newest = attempt;
    attempt_history_trim(history);
    return attempt;
}

void attempt_history_leaves(struct entry *entry, enum outcome outcome) {
    entry->workload->history.attempts.leaving = (uint8_t)outcome;
}

// The mirror is gone. The reason for a withdrawal stays.
static void end_gone(const struct engine *engine, const struct workload *w, struct attempt *attempt) {
    if (w->unstarted && w->unstarted->withdrawn_attempt == attempt->number) {
        attempt->outcome = OUTCOME_WITHDRAWN;
        attempt->ended_ns = engine->now.wall_ns;
    } else {
        end_attempt(engine, attempt, w->facts.drained_attempt == attempt->number ? OUTCOME_DRAINED : OUTCOME_DELETED);
    }
}

void attempt_history_follow(struct engine *engine, struct entry *entry) {
    const struct workload *w = entry->workload;
    struct attempt *attempt = present_attempt(engine, entry);
    if (!attempt)
        return;
    const struct mirror *mirror = facts_placed_mirror(entry);
    bool is_final = attempt->outcome == OUTCOME_SUCCEEDED || attempt->outcome == OUTCOME_FAILED;
    bool leaves = attempt->outcome != OUTCOME_NONE && attempt->outcome == w->history.attempts.leaving;
    if (!leaves && (is_final ? !w->facts.finished : mirror && attempt->outcome != OUTCOME_NONE))
        end_attempt(engine, attempt, OUTCOME_NONE); // not over after all
    if (mirror && mirror->created_ns)
        attempt->created_ns = mirror->created_ns;
    if (mirror && mirror->started_ns)
        attempt->started_ns = mirror->started_ns;
    else if (mirror && w->phase == WHARF_ACTIVE && attempt->started_ns == 0 && attempt->witnessed)
        attempt->started_ns = engine->now.wall_ns;
    if (attempt->placed_ns == 0)
        attempt->placed_ns = attempt->created_ns; // placed just before
    if (w->facts.gone_attempt == attempt->number && attempt->outcome == OUTCOME_NONE && !w->facts.finished)
        end_gone(engine, w, attempt);
}

void attempt_history_failed(struct engine *engine, struct entry *entry, enum outcome outcome, const char *reason,
                            const char *message) {
    struct attempt *attempt = present_attempt(engine, entry);
    if (!attempt)
        return;
    if (outcome != OUTCOME_NONE)
        end_attempt(engine, attempt, outcome);
    attempt->reason = reason;
    set_message(attempt, message);
}

void attempt_history_finished(struct engine *engine, struct entry *entry, const struct wharf_phase *phase) {
    struct attempt *attempt = present_attempt(engine, entry);
    if (!attempt)
        return;
    end_attempt(engine, attempt, phase->phase == WHARF_SUCCEEDED ? OUTCOME_SUCCEEDED : OUTCOME_FAILED);
    if (phase->since_ns > 0 && phase->since_ns < engine->now.wall_ns)
        attempt->ended_ns = phase->since_ns;
    if (!phase->reason && !phase->message)
        return;
    AUTO_TEXT text = text_format("%s%s%s", phase->reason ? phase->reason : "",
                                 phase->reason && phase->message ? ": " : "", phase->message ? phase->message : "");
    AUTO_TEXT tried = attempt->outcome == OUTCOME_FAILED ? retried_text(engine, entry) : NULL;
    size_t size = tried ? strlen(tried) + 3 : 1;
    int room = size < ATTEMPT_MESSAGE_MAX ? (int)(ATTEMPT_MESSAGE_MAX - size) : 0;
    AUTO_TEXT whole = text_format("%.*s%s%s", room, text ? text : "", tried ? "; " : "", tried ? tried : "");
    set_message(attempt, whole ? whole : "");
}

static int64_t time_at(const struct json *object, const char *part, const char *key) {
    const char *text = json_string(json_path(object, part, key, NULL));
    int64_t wall_ns = 0;
    return text && clock_parse_rfc3339(text, &wall_ns) ? wall_ns : 0;
}

void attempt_history_read_mirror(struct mirror *mirror, const struct json *object) {
    if (mirror->created_ns == 0)
        mirror->created_ns = time_at(object, "metadata", "creationTimestamp");
    if (mirror->started_ns == 0)
        mirror->started_ns = time_at(object, "status", "startTime");
}
