// SPDX-License-Identifier: Apache-2.0
#include "core/engine/elsewhere/elsewhere.h"

#include "core/adapter/phase.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/history/attempt_history.h"
#include "core/engine/placement/placing.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"

#define AGAIN_MIN_NS (2 * CLOCK_SECOND) // between two questions about a mirror that does not start, doubling
#define AGAIN_MAX_NS (10 * CLOCK_MINUTE)
#define ANSWER_NS (30 * CLOCK_SECOND) // so long an answer holds
#define CAUSE_MAX 400

// About one attempt.
struct elsewhere {
    uint32_t attempt;
    bool failed;                  // the mirror has failed; else it does not start
    bool asked;                   // about the failure
    bool keeps;                   // the status without the failure has progress
    bool left;                    // the placement elsewhere, or the withdrawal, was sent
    enum elsewhere_verdict state; // see decide.h
    int64_t until_ns;             // ASKED: of the wait; MOVES, STUCK: of the answer
    int64_t ask_ns, delay_ns;     // of the next question about a mirror that does not start; until the one after
    char reason[64];
    char cause[CAUSE_MAX]; // "pod a-x7k: ..."; "": none
};

// Answers -----------------------------------------------------------------------------------------------------------

static const char *reasons_of(const struct retry_elsewhere *retry) {
    return retry->reasons ? retry->reasons : RETRY_REASONS;
}

// Ends the text at the separator; the rest after it, or NULL.
static char *cut(char *text, char separator) {
    char *end = strchr(text, separator);
    if (end)
        *end++ = '\0';
    return end;
}

// One line of the causes: a reason, an exit code and a text, separated by tabs.
static bool take_cause(const struct retry_elsewhere *retry, char *reason, struct elsewhere *out) {
    char *code = cut(reason, '\t'), *text = code ? cut(code, '\t') : NULL;
    if (!text)
        return false;
    bool listed = pattern_list_matches(reasons_of(retry), reason);
    bool exits = *code && retry->exit_codes && pattern_list_matches(retry->exit_codes, code);
    if (listed)
        text_copy(out->reason, sizeof out->reason, reason);
    else
        snprintf(out->reason, sizeof out->reason, "exit code %.20s", code);
    text_shorten(out->cause, sizeof out->cause, text);
    return listed || exits;
}

static bool find_cause(const struct retry_elsewhere *retry, const char *causes, struct elsewhere *out) {
    AUTO_TEXT copy = strdup(causes ? causes : "");
    for (char *line = copy, *next; line && *line; line = next) {
        next = cut(line, '\n');
        if (take_cause(retry, line, out))
            return true;
    }
    return false;
}

static const struct retry_elsewhere *retry_of(const struct engine *engine, const struct entry *entry, bool *known) {
    return &placement_rule_of(engine, entry, known, NULL)->retry;
}

static bool is_failure(const struct json *condition) {
    const char *type = json_string_or(json_get(condition, "type"), "");
    return strcmp(type, "FailureTarget") == 0 || strcmp(type, "Failed") == 0;
}

bool elsewhere_moves(const struct entry *entry, uint32_t attempt) {
    const struct elsewhere *e = entry->workload->elsewhere.state;
    return e && e->state == ELSEWHERE_MOVES && e->attempt == attempt;
}

struct json *elsewhere_without_failure(struct engine *engine, struct mirror *mirror) {
    AUTO_JSON copy = json_copy(doc_tree(&engine->store, &mirror->doc));
    AUTO_JSON conditions = json_new_array();
    bool good = copy && conditions;
    const struct json *c = json_first(json_path(copy, "status", "conditions", NULL));
    for (; good && c; c = json_next(c))
        good = is_failure(c) || json_append(conditions, json_copy(c));
    good = good && json_set(json_get(copy, "status"), "conditions", TAKE(conditions));
    return good ? TAKE(copy) : NULL;
}

// The status without the failure is one of a mirror that runs, in which the adapter may find progress.
static bool keeps_progress(struct engine *engine, struct entry *entry, struct mirror *mirror) {
    AUTO_JSON object = engine->kinds[entry->kind]->abi.progress ? elsewhere_without_failure(engine, mirror) : NULL;
    AUTO_CALL call;
    wharf_phase phase = {.size = sizeof phase};
    call_begin(engine, entry, WHARF_MIRROR_PRESENT, &call);
    return object && adapter_phase(&call, object, &phase) == WHARF_OK && !phase_is_final(phase.phase);
}

static void decide_cause(struct engine *engine, struct entry *entry, struct mirror *mirror, bool found) {
    struct elsewhere *e = entry->workload->elsewhere.state;
    if (e->failed)
        e->state = found ? ELSEWHERE_MOVES : ELSEWHERE_NO;
    else
        e->state = found ? ELSEWHERE_STUCK : ELSEWHERE_NO;
    e->until_ns = engine->now.mono_ns + ANSWER_NS;
    e->keeps = e->state == ELSEWHERE_MOVES && keeps_progress(engine, entry, mirror);
    if (found)
        suspects_note(engine, entry, mirror->facts.cluster, e->reason);
}

static void on_causes(struct engine *engine, struct engine_event *event) {
    struct entry *entry = store_get(&engine->store, event->kind, event->causes.namespace_, event->causes.name);
    struct elsewhere *e = entry ? entry->workload->elsewhere.state : NULL;
    struct mirror *mirror = e ? facts_placed_mirror(entry) : NULL;
    bool known = false;
    if (!mirror || mirror->facts.cluster != event->cluster || mirror->facts.attempt != e->attempt ||
        strcmp(mirror->uid, event->causes.uid) != 0 || (e->failed && e->state != ELSEWHERE_ASKED))
        return;
    const struct retry_elsewhere *retry = retry_of(engine, entry, &known);
    decide_cause(engine, entry, mirror, known && find_cause(retry, event->causes.causes, e));
    queue_entry(engine, entry);
}

// Questions ---------------------------------------------------------------------------------------------------------

static void ask(struct engine *engine, const struct entry *entry, const struct mirror *mirror, bool stuck) {
    struct update *update = engine->update;
    char space[254];
    entry_namespace(entry, space);
    struct pod_question wanted = {.namespace_ = space,
                                  .name = entry_name(entry),
                                  .uid = mirror->uid,
                                  .cluster = mirror->facts.cluster,
                                  .kind = entry->kind,
                                  .stuck = stuck};
    struct pod_question *copy =
        array_reserve(&update->questions, &update->cap_questions, update->n_questions + 1, sizeof *update->questions)
            ? struct_copy_with_texts(&wanted, sizeof wanted, POD_QUESTION_TEXTS)
            : NULL;
    if (copy)
        update->questions[update->n_questions++] = copy;
}

// The Job controller decides the failure with this condition, and writes Failed once the pods are gone. The API server
// lets nobody take the condition back.
static bool has_failure_target(const struct json *mirror) {
    for (const struct json *c = json_first(json_path(mirror, "status", "conditions", NULL)); c; c = json_next(c))
        if (text_equal(json_string(json_get(c, "type")), "FailureTarget") &&
            text_equal(json_string(json_get(c, "status")), "True"))
            return true;
    return false;
}

static bool is_failing(struct engine *engine, struct mirror *mirror) {
    if (mirror->facts.unread)
        return false;
    return mirror->facts.finished ? mirror->phase == WHARF_FAILED
                                  : has_failure_target(doc_tree(&engine->store, &mirror->doc));
}

// The failure's own reason, such as PodFailurePolicy.
static bool is_listed_itself(struct engine *engine, struct entry *entry, struct mirror *mirror,
                             const struct retry_elsewhere *retry) {
    struct elsewhere *e = entry->workload->elsewhere.state;
    AUTO_CALL call;
    wharf_phase phase = {.size = sizeof phase};
    const struct json *object = doc_tree(&engine->store, &mirror->doc);
    call_begin(engine, entry, WHARF_MIRROR_PRESENT, &call);
    if (!object || adapter_phase(&call, object, &phase) != WHARF_OK || !phase.reason)
        return false;
    AUTO_TEXT line = text_format("%s\t\t%s", phase.reason, phase.message ? phase.message : phase.reason);
    return line && take_cause(retry, line, e);
}

static bool begin(struct entry *entry, uint32_t attempt, bool failed) {
    struct elsewhere **state = &entry->workload->elsewhere.state;
    if (*state && (*state)->attempt == attempt && (*state)->failed == failed)
        return true;
    if (!*state)
        *state = malloc(sizeof **state);
    if (*state)
        **state = (struct elsewhere){.attempt = attempt, .failed = failed};
    return *state;
}

static void check_failed(struct engine *engine, struct entry *entry, struct mirror *mirror,
                         const struct retry_elsewhere *retry, bool may_ask) {
    struct elsewhere *e = entry->workload->elsewhere.state;
    int64_t now_ns = engine->now.mono_ns;
    if (e->until_ns == 0) {
        e->state = ELSEWHERE_ASKED;
        e->until_ns = now_ns + ELSEWHERE_HOLD_NS;
    }
    if (e->state != ELSEWHERE_ASKED)
        return;
    if (may_ask && !e->asked) {
        e->asked = true;
        if (is_listed_itself(engine, entry, mirror, retry))
            decide_cause(engine, entry, mirror, true);
        else
            ask(engine, entry, mirror, false);
    } else if (now_ns >= e->until_ns) {
        e->state = ELSEWHERE_NO;
        report_mirror(engine, LOG_INFO, entry, mirror,
                      "the reasons of the pods are not known in time: the failure is final");
    }
}

static void check_stuck(struct engine *engine, struct entry *entry, const struct mirror *mirror,
                        const struct retry_elsewhere *retry) {
    struct elsewhere *e = entry->workload->elsewhere.state;
    int64_t now_ns = engine->now.mono_ns, from_ns = clock_after(mirror->facts.unstarted_since_ns, retry->stuck_for_ns);
    if (e->state == ELSEWHERE_STUCK && now_ns >= e->until_ns) {
        e->state = ELSEWHERE_NO;
        e->ask_ns = e->delay_ns = 0;
    }
    if (e->state == ELSEWHERE_STUCK) {
        queue_wake(engine, entry, e->until_ns);
        return;
    }
    e->ask_ns = clock_later(e->ask_ns, from_ns);
    if (now_ns >= e->ask_ns) {
        ask(engine, entry, mirror, true);
        e->delay_ns = clock_earlier(clock_later(2 * e->delay_ns, clock_later(retry->stuck_for_ns / 4, AGAIN_MIN_NS)),
                                    AGAIN_MAX_NS);
        e->ask_ns = now_ns + e->delay_ns;
    }
    queue_wake(engine, entry, e->ask_ns);
}

static void drop(struct entry *entry) {
    free(TAKE(entry->workload->elsewhere.state));
}

static bool may_move(const struct entry *entry, const struct mirror *mirror) {
    const struct workload_facts *w = &entry->workload->facts;
    return mirror && w->exists && !w->finished && !w->being_deleted && !w->suspended;
}

static bool is_usable(const struct engine *engine, const struct entry *entry, const struct mirror *mirror) {
    const struct worker_facts *worker = &engine->workers[entry->kind][mirror->facts.cluster];
    return worker->connected && !worker->frozen;
}

static void check(struct engine *engine, struct entry *entry) {
    struct mirror *mirror = placement_retries_elsewhere(engine) ? facts_placed_mirror(entry) : NULL;
    struct elsewhere *e = entry->workload->elsewhere.state;
    if (!may_move(entry, mirror)) {
        if (e && (!entry->workload->facts.exists || e->attempt != entry->workload->facts.attempt))
            drop(entry);
        return;
    }
    bool known = false, failing = is_failing(engine, mirror), usable = is_usable(engine, entry, mirror);
    const struct retry_elsewhere *retry = retry_of(engine, entry, &known);
    bool stuck =
        !failing && known && usable && mirror->facts.unstarted_since_ns && !mirror->facts.queued && retry->stuck_for_ns;
    bool exhausted = known && entry->workload->elsewhere.retried >= retry->max;
    if (failing && exhausted && entry->workload->elsewhere.retried)
        suspects_forget(engine, entry);
    if (exhausted || (!failing && !stuck))
        drop(entry);
    else if (begin(entry, mirror->facts.attempt, failing) && failing)
        check_failed(engine, entry, mirror, retry, known && usable);
    else if (!failing && entry->workload->elsewhere.state)
        check_stuck(engine, entry, mirror, retry);
}

static void facts(const struct engine *engine, const struct entry *entry, struct decide_facts *facts) {
    const struct elsewhere *e = entry->workload->elsewhere.state;
    (void)engine;
    if (!e || e->attempt != entry->workload->facts.attempt)
        return;
    facts->elsewhere = e->state;
    facts->elsewhere_keeps = e->keeps;
    facts->elsewhere_until_ns = e->until_ns;
}

// The placement -------------------------------------------------------------------------------------------------------

static void seen(struct engine *engine, struct entry *entry, const struct json *object, bool had) {
    (void)engine;
    (void)had;
    entry->workload->elsewhere.retried = (uint8_t)retried_count(object_annotation(object, MARK_RETRIED));
}

void elsewhere_avoid(struct engine *engine, const struct entry *entry, struct placement_view *view) {
    for (size_t c = 1; c < view->n_clusters; c++)
        view->workers[c].avoided |= !cluster_is_vacant(engine, c) && retried_from(engine, entry, c);
}

bool elsewhere_leaves(const struct entry *entry, uint32_t attempt) {
    const struct elsewhere *e = entry->workload->elsewhere.state;
    uint32_t present = entry->workload->facts.attempt;
    return e && present && e->attempt == present && attempt == present + 1 && (e->state == ELSEWHERE_MOVES || e->left);
}

void elsewhere_put_mark(struct engine *engine, struct entry *entry, uint32_t attempt, struct buffer *out) {
    const char *former = retried_names(engine, entry), *name = facts_worker_name(engine, entry);
    if (!elsewhere_leaves(entry, attempt) || !name)
        return;
    AUTO_TEXT names = text_format("%s%s%s", former ? former : "", former && *former ? "," : "", name);
    buffer_text(out, ",\"" MARK_RETRIED "\":");
    if (names)
        buffer_json_string(out, names, strlen(names));
    out->failed |= !names;
}

struct json *elsewhere_marked(struct engine *engine, const struct entry *entry) {
    if (!elsewhere_leaves(entry, entry->workload->facts.attempt + 1))
        return NULL;
    AUTO_JSON copy = json_copy(doc_tree(&engine->store, &entry->workload->doc));
    struct json *annotations = json_path(copy, "metadata", "annotations", NULL);
    return json_set(annotations, MARK_RETRIED, json_new_string("true")) ? TAKE(copy) : NULL;
}

static void report(struct engine *engine, struct entry *entry, const char *worker, const char *then) {
    const struct elsewhere *e = entry->workload->elsewhere.state;
    report_event(engine, entry, true, "RetriedElsewhere", "Place", "attempt %u %s in cluster %s, %s (%s): %s",
                 e->attempt, e->failed ? "failed" : "does not start", worker, e->reason, e->cause, then);
}

bool elsewhere_report_placed(struct engine *engine, struct entry *entry, const struct action *action) {
    struct elsewhere *e = entry->workload->elsewhere.state;
    const char *worker = facts_worker_name(engine, entry);
    if (!elsewhere_leaves(entry, action->attempt) || !e->failed || !worker)
        return false;
    if (e->left)
        return true;
    e->left = true;
    AUTO_TEXT then = text_format("placed in %s (attempt %u)", engine->clusters[action->cluster].name, action->attempt);
    AUTO_TEXT text = text_format("%s: %s", e->reason, e->cause);
    attempt_history_failed(engine, entry, OUTCOME_FAILED, "FailedInWorker", text ? text : e->reason);
    report(engine, entry, worker, then ? then : "placed in another one");
    engine->stats.clusters[entry->workload->facts.cluster].retried_elsewhere++;
    return true;
}

const char *elsewhere_stuck_reason(const struct entry *entry) {
    const struct elsewhere *e = entry->workload->elsewhere.state;
    return e && e->state == ELSEWHERE_STUCK && e->attempt == entry->workload->facts.attempt ? e->cause : NULL;
}

void elsewhere_withdrawn(struct engine *engine, struct entry *entry, const struct mirror *mirror) {
    struct elsewhere *e = entry->workload->elsewhere.state;
    if (e->left)
        return;
    e->left = true;
    report(engine, entry, engine->clusters[mirror->facts.cluster].name,
           "the host deletes the mirror, and tries another worker once the mirror is gone");
    engine->stats.clusters[mirror->facts.cluster].retried_elsewhere++;
}

// The part ----------------------------------------------------------------------------------------------------------

static void forget(struct engine *engine, struct entry *entry) {
    (void)engine;
    drop(entry);
}

const struct part part_elsewhere = {.name = "retries elsewhere",
                                    .events = PART_EVENT(EVENT_CAUSES),
                                    .event = on_causes,
                                    .seen = seen,
                                    .before = check,
                                    .facts = facts,
                                    .workload_ends = forget};
