// SPDX-License-Identifier: Apache-2.0
#include "core/adapter/scores.h"

#include "core/base/memory.h"
#include "core/base/text.h"

#define NAMED_MAX 8 // workers in a text, the best ones

bool scorer_rates(const struct scorer *scorer, const struct kind *kind) {
    return scorer->every_kind || scorer->owner == kind->adapter;
}

struct json *scores_worker(const char *name, const char *labels) {
    AUTO_JSON worker = json_new_object();
    struct json *list = json_new_object();
    bool named = json_set(worker, "name", json_new_string(name)), made = json_set(worker, "labels", list) && named;
    AUTO_WORDS words = text_words(labels, ',');
    for (char **label = words; label && *label && made; label++) {
        char *equals = strchr(*label, '=');
        if (equals)
            *equals = '\0';
        made = !equals || json_set(list, *label, json_new_string(equals + 1));
    }
    return made && words ? TAKE(worker) : NULL;
}

// The highest score below `last`, or of the same score the next one in the order of the list; NULL: none.
static const struct json *next_best(const struct json *scores, const struct json *last) {
    const struct json *best = NULL;
    bool behind = !last; // of the same score as the last one, and later in the list
    for (const struct json *score = json_first(scores); score; score = json_next(score)) {
        int64_t value = json_int64(score, 0), limit = last ? json_int64(last, 0) : INT64_MAX;
        bool left = value < limit || (value == limit && behind);
        if (left && (!best || value > json_int64(best, 0)))
            best = score;
        behind |= score == last;
    }
    return best;
}

static void put_scores(const struct json *scores, struct buffer *out) {
    const struct json *score = NULL;
    size_t named = 0;
    while (named < NAMED_MAX && (score = next_best(scores, score)))
        buffer_printf(out, "%s%s %jd", named++ > 0 ? ", " : "", json_key(score), (intmax_t)json_int64(score, 0));
    if (named < json_size(scores))
        buffer_printf(out, " and %zu more", json_size(scores) - named);
    if (named == 0)
        buffer_text(out, "no opinion");
}

static const char *reason_of(struct adapter_call *call) {
    if (call->trouble == CALL_WAITS)
        return "no answer in time";
    if (call->trouble != CALL_FINE)
        return call->trouble_text;
    return adapter_answer_message(call, "no reason given");
}

struct json *scores_ask(struct adapter_call *call, const struct scorer *scorer, const struct json *workload,
                        const struct json *pod_sets, const struct json *workers, struct buffer *out) {
    AUTO_JSON scores = json_new_object();
    buffer_printf(out, "%s%s: ", out->len > 0 ? "; " : "", scorer->name);
    bool answered = scores && adapter_score(call, scorer, workload, pod_sets, workers, scores) == WHARF_OK;
    if (answered)
        put_scores(scores, out);
    else
        buffer_printf(out, "none (%s)", scores ? reason_of(call) : "out of memory");
    return answered ? TAKE(scores) : NULL;
}
