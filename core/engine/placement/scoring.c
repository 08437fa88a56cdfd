// SPDX-License-Identifier: Apache-2.0
// Asks adapters for scores of the workers that may get a workload. A batch is the placements of one second: the calls
// for it, and the waits for answers, have a limit together, so that slow adapters delay a burst of placements little.
#include "core/adapter/pods.h"
#include "core/adapter/scores.h"
#include "core/base/memory.h"
#include "core/engine/capacity/capacity.h"
#include "core/engine/clusters/cluster_state.h"
#include "core/engine/decide/decide_parts.h"
#include "core/engine/placement/placing.h"
#include "core/engine/report/report.h"
#include "core/engine/request/command.h"

#define TEXT_MAX 512
#define LATE                                                                                                           \
    "none: the adapters took more than 200 ms for the placements of one second, and the policy decides the rest"

// The question about one placement.
struct scoring_question {
    struct engine *engine;
    struct entry *entry;
    struct placement_view *view;
    size_t *candidates; // by name
    size_t count;
    const struct json *workload;
    struct json *pod_sets, *workers;
    struct buffer text;
    bool waits;    // an answer is on its way
    bool unscored; // an adapter gave no answer
};

bool scoring_is_used(const struct engine *engine, const struct entry *entry) {
    for (size_t i = 0; i < engine->n_scorers; i++)
        if (scorer_rates(engine->scorers[i], engine->kinds[entry->kind]))
            return true;
    return false;
}

char *scoring_take_text(struct entry *entry) {
    return TAKE(entry->workload->placement.scores);
}

// The limit ------------------------------------------------------------------------------------------------------

static bool is_over(const struct engine *engine) {
    const struct scoring *batch = &engine->placement.scoring;
    return batch->spent_ns >= SCORING_LIMIT_NS ||
           (batch->waits_since_ns && engine->now.mono_ns - batch->waits_since_ns >= SCORING_LIMIT_NS);
}

static void begin_batch(struct engine *engine) {
    struct scoring *batch = &engine->placement.scoring;
    if (batch->begun_ns && engine->now.mono_ns - batch->begun_ns < SCORING_BATCH_NS)
        return;
    batch->late = is_over(engine);
    batch->begun_ns = engine->now.mono_ns;
    batch->spent_ns = batch->waits_since_ns = 0;
}

static void note_late(struct engine *engine) {
    if (!engine->placement.scoring.late)
        report_log(engine, LOG_WARN, ENGINE_MANAGEMENT, LOG_NO_KIND,
                   "the adapters' scores take more than 200 ms in a second: the policy of placement decides the rest "
                   "of such seconds alone");
    engine->placement.scoring.late = true;
}

// The workers ----------------------------------------------------------------------------------------------------

static void sort_by_name(struct scoring_question *q) {
    for (size_t i = 1; i < q->count; i++)
        for (size_t j = i; j > 0 && strcmp(q->engine->clusters[q->candidates[j]].name,
                                           q->engine->clusters[q->candidates[j - 1]].name) < 0;
             j--) {
            size_t earlier = q->candidates[j];
            q->candidates[j] = q->candidates[j - 1];
            q->candidates[j - 1] = earlier;
        }
}

static struct json *worker_value(const struct scoring_question *q, size_t cluster) {
    const struct engine_cluster *slot = &q->engine->clusters[cluster];
    const struct worker_facts *facts = &q->engine->workers[q->entry->kind][cluster];
    AUTO_JSON worker = scores_worker(slot->name, slot->settings.labels);
    AUTO_JSON sums = capacity_sums(q->engine, cluster);
    bool made = worker && json_set(worker, "active", json_new_int64((int64_t)facts->active)) &&
                json_set(worker, "activeOfKind", json_new_int64((int64_t)facts->active_kind)) &&
                (!sums || json_set(worker, "free", TAKE(sums)));
    return made ? TAKE(worker) : NULL;
}

// Unknown pods stay NULL. False: out of memory.
static bool read_question(struct scoring_question *q) {
    q->workload = doc_tree(&q->engine->store, &q->entry->workload->doc);
    q->workers = json_new_array();
    if (!q->workload || !q->workers)
        return false;
    for (size_t i = 0; i < q->count; i++)
        if (!json_append(q->workers, worker_value(q, q->candidates[i])))
            return false;
    AUTO_CALL call;
    call_begin(q->engine, q->entry, WHARF_MIRROR_NONE, &call);
    (void)pods_of(&call, q->workload, &q->pod_sets);
    return true;
}

// The answers ----------------------------------------------------------------------------------------------------

static void add_scores(struct scoring_question *q, const struct json *scores) {
    for (size_t i = 0; i < q->count; i++) {
        const struct json *score = json_get(scores, q->engine->clusters[q->candidates[i]].name);
        q->view->workers[q->candidates[i]].score += (uint32_t)json_int64(score, 0);
    }
}

static void note_answer(struct scoring_question *q, size_t number, bool answered, const char *text) {
    struct engine *engine = q->engine;
    uint64_t bit = UINT64_C(1) << number % 64;
    if (answered) {
        engine->placement.scoring.silent &= ~bit;
        return;
    }
    q->unscored = true;
    if (!(engine->placement.scoring.silent & bit))
        report_log(engine, LOG_WARN, ENGINE_MANAGEMENT, q->entry->kind,
                   "scores of an adapter are missing for %s, and the placement continues without: %s", q->entry->key,
                   text);
    engine->placement.scoring.silent |= bit;
}

static void ask_one(struct scoring_question *q, size_t number) {
    struct engine *engine = q->engine;
    struct scoring *batch = &engine->placement.scoring;
    size_t from = q->text.len;
    AUTO_CALL call;
    call_begin(engine, q->entry, WHARF_MIRROR_NONE, &call);
    int64_t begun_ns = engine->clock->ticks ? engine->clock->ticks() : 0;
    AUTO_JSON scores = scores_ask(&call, engine->scorers[number], q->workload, q->pod_sets, q->workers, &q->text);
    if (engine->clock->ticks)
        batch->spent_ns += engine->clock->ticks() - begun_ns;
    q->waits = call.trouble == CALL_WAITS;
    if (q->waits && batch->waits_since_ns == 0)
        batch->waits_since_ns = engine->now.mono_ns;
    if (!q->waits)
        note_answer(q, number, scores, q->text.len > from ? q->text.data + from + (from > 0 ? 2 : 0) : "");
    add_scores(q, scores);
}

// Stops at a wait: the next try asks all again.
static void ask_all(struct scoring_question *q) {
    const struct engine *engine = q->engine;
    for (size_t i = 0; i < engine->n_scorers && !q->waits; i++) {
        if (!scorer_rates(engine->scorers[i], engine->kinds[q->entry->kind]))
            continue;
        if (!is_over(engine)) {
            ask_one(q, i);
            continue;
        }
        buffer_printf(&q->text, "%s%s", q->text.len > 0 ? "; " : "", LATE);
        q->unscored = true;
        note_late(q->engine);
        return;
    }
}

static void keep_text(struct scoring_question *q) {
    char text[TEXT_MAX];
    text_copy(text, sizeof text, q->text.data ? q->text.data : "");
    free(q->entry->workload->placement.scores);
    q->entry->workload->placement.scores = strdup(text); // out of memory: none
    q->engine->stats.unscored += q->unscored;
}

static void end_question(struct scoring_question *q) {
    free(q->candidates);
    json_free(q->pod_sets);
    json_free(q->workers);
    buffer_free(&q->text);
}

// A placement that waits for its turn to be written is asked about then. Without memory the policy decides.
struct action scoring_decide(struct engine *engine, struct entry *entry, struct placement_view *view,
                             const struct decide_facts *facts, struct action action) {
    free(TAKE(entry->workload->placement.scores));
    if (!action.had_choice || view->pinned || !scoring_is_used(engine, entry) ||
        !pacing_is_open(engine, ENGINE_MANAGEMENT))
        return action;
    __attribute__((cleanup(end_question))) struct scoring_question q = {.engine = engine, .entry = entry, .view = view};
    buffer_init(&q.text, 65536);
    q.candidates = calloc(engine->n_clusters, sizeof *q.candidates);
    if (!q.candidates)
        return action;
    q.count = placement_candidates(facts, q.candidates);
    sort_by_name(&q);
    begin_batch(engine);
    if (!is_over(engine) && !read_question(&q))
        return action;
    ask_all(&q);
    if (q.waits) {
        action = action_wait_until(engine->now.mono_ns + SCORING_AGAIN_NS, WAITING_BACKOFF, 0);
        action.why = "an adapter is about to rate the workers";
        return action;
    }
    keep_text(&q);
    return decide(facts);
}
