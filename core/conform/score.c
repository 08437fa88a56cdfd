// SPDX-License-Identifier: Apache-2.0
// The function `score`: some placements of each object among three workers.
#include "core/adapter/pods.h"
#include "core/adapter/scores.h"
#include "core/conform/child.h"

#define ORDINAL 1000000u // numbers of these calls: the trials have smaller ones

static const char *const placements[] = {
    "[{\"name\":\"w1\",\"labels\":{},\"active\":0,\"activeOfKind\":0},"
    "{\"name\":\"w2\",\"labels\":{\"gpu\":\"h100\",\"zone\":\"a\"},\"active\":3,\"activeOfKind\":1,"
    "\"free\":{\"cpu\":61.5,\"memory\":274877906944,\"nvidia.com/gpu\":8,\"pods\":100}},"
    "{\"name\":\"w3\",\"labels\":{\"zone\":\"b\"},\"active\":12,\"activeOfKind\":12,"
    "\"free\":{\"cpu\":0.250,\"memory\":0}}]",
    "[{\"name\":\"a\",\"labels\":{}},{\"name\":\"b\",\"labels\":{\"zone\":\"\"},\"active\":9007199254740993}]",
};

struct rating {
    struct json *workload, *workers, *sets; // input memory
    const struct kind *kind;
};

// The scores as text, or the adapter's reason; NULL: out of memory.
static char *call_score(struct run *run, const struct rating *rating, const struct scorer *scorer) {
    AUTO_CALL call;
    AUTO_JSON scores = json_new_object();
    if (rating->kind)
        probe_begin_call(&call, rating->kind, 0, rating->workload, WHARF_MIRROR_NONE);
    else
        adapter_call_begin(&call, &(struct call_context){.version = "v1", .object = "default/object"});
    run->board->calls++;
    run->board->stage = STAGE_CALL;
    wharf_result result =
        scores ? adapter_score(&call, scorer, rating->workload, rating->sets, rating->workers, scores) : WHARF_RETRY;
    run->board->stage = STAGE_HOST;
    if (result == WHARF_OK)
        return json_text(scores, NULL);
    if (call.failure == WHARF_REFUSED)
        run_report(run, RULE_SCORE, CALL_SCORE, "", "%s", adapter_answer_message(&call, "an invalid answer"));
    return strdup(adapter_answer_message(&call, "no reason given"));
}

static void rate(struct run *run, const struct rating *rating, const struct scorer *scorer) {
    run->workload = rating->workload;
    run->board->ordinal++;
    if (!rating->workload || !rating->workers || run->board->given_up[0][CALL_SCORE] || probe_is_skipped(run->board))
        return;
    AUTO_TEXT first = call_score(run, rating, scorer);
    AUTO_TEXT again = call_score(run, rating, scorer);
    if (first && again && strcmp(first, again) != 0)
        run_report(run, RULE_REPEAT, CALL_SCORE, "", "%.200s, and then %.200s", first, again);
}

static void rate_object(struct run *run, const struct json *object, const char *words, const struct kind *kind,
                        const struct scorer *scorer) {
    text_copy(run->board->object, sizeof run->board->object, words);
    for (size_t i = 0; i < sizeof placements / sizeof *placements; i++) {
        AUTO_JSON sets = json_new_array();
        struct rating rating = {.workload = input_copy(object),
                                .workers = input_take(parsed(placements[i])),
                                .sets = i == 1 ? NULL : input_copy(sets),
                                .kind = kind};
        rate(run, &rating, scorer);
        input_reset();
    }
    run->workload = NULL;
}

void score_run(struct run *run) {
    run->board->function = CALL_SCORE;
    run->board->kind_index = 0;
    run->board->ordinal = ORDINAL;
    for (size_t i = 0; i < run->adapters->n_scorers; i++) {
        const struct scorer *scorer = run->adapters->scorers[i];
        run_print(run, "%s rates the workers for %s", scorer->name, scorer->every_kind ? "all kinds" : "its kinds");
        for (size_t t = 0; t < run->n_tested; t++)
            for (size_t s = 0; s < run->tested[t].n_subjects; s++)
                rate_object(run, run->tested[t].subjects[s].object, run->tested[t].subjects[s].source,
                            run->tested[t].real, scorer);
        for (size_t d = 0; run->n_tested == 0 && d < run->documents->count; d++)
            rate_object(run, run->documents->list[d].value, run->documents->list[d].source, NULL, scorer);
        AUTO_JSON bare = json_new_object();
        if (bare && run->n_tested == 0)
            rate_object(run, bare, "an object without fields", NULL, scorer);
    }
}
