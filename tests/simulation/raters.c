// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/raters.h"

#include "core/base/text.h"

#include <string.h>

#define MOOD_NS (300 * CLOCK_MS) // a workload's rating is of the same kind for so long
#define SLOW_NS (90 * CLOCK_MS)

static struct trial *asking; // trials run one after another
static int64_t ticks_ns;

int64_t raters_ticks(void) {
    return ticks_ns;
}

static uint64_t draw(const char *what, const char *name, int64_t time, uint64_t bound) {
    struct random random = {.state = text_hash(text_hash(asking->seed + (uint64_t)time, name), what)};
    (void)random_next(&random);
    return random_below(&random, bound);
}

static bool is_known(const char *name) {
    for (size_t c = 1; c < asking->plan.n_clusters; c++)
        if (strcmp(asking->names[c], name) == 0)
            return true;
    return false;
}

static void check_workers(const struct json *workers, const char *workload) {
    const char *last = "";
    if (json_size(workers) < 2)
        trial_fail(asking, "adapters rate %zu workers for %s, where there is no choice", json_size(workers), workload);
    for (const struct json *worker = json_first(workers); worker; worker = json_next(worker)) {
        const char *name = json_string_or(json_get(worker, "name"), "");
        if (strcmp(name, last) <= 0 || !is_known(name) || json_int64(json_get(worker, "active"), -1) < 0)
            trial_fail(asking, "adapters get \"%s\" after \"%s\" among the workers for %s", name, last, workload);
        last = name;
    }
}

static void rate(const wharf_call *call, const struct json *workers, const char *workload, wharf_value *scores) {
    const wharf_host *host = services_table();
    for (const struct json *worker = json_first(workers); worker; worker = json_next(worker)) {
        const char *name = json_string_or(json_get(worker, "name"), "");
        if (draw(name, workload, 0, 4) > 0)
            host->set_integer(call, scores, host->format(call, "/%s", name), (int64_t)draw(name, workload, 0, 101));
    }
}

static wharf_result score(const char *adapter, const wharf_call *call, const wharf_value *workload,
                          const wharf_value *workers, wharf_value *scores) {
    const struct json *list = (const struct json *)workers;
    const char *name = json_string_or(json_path((const struct json *)workload, "metadata", "name", NULL), "");
    check_workers(list, name);
    switch (draw(adapter, name, call->now_ns / MOOD_NS, 12)) {
    case 0:
        return WHARF_REFUSED;
    case 1:
        return WHARF_RETRY;
    case 2:
        services_table()->set_integer(call, scores, "/nobody", 1);
        return WHARF_OK;
    case 3:
        call_set_trouble(call, CALL_WAITS, "busy");
        return WHARF_RETRY;
    case 4:
        call_set_trouble(call, CALL_BROKEN, "signal 11 (Segmentation fault)");
        return WHARF_RETRY;
    case 5:
        ticks_ns += SLOW_NS;
        break;
    default:
        break;
    }
    rate(call, list, name, scores);
    return WHARF_OK;
}

static wharf_result score_first(const wharf_call *call, const wharf_value *workload, const wharf_value *pod_sets,
                                const wharf_value *workers, wharf_value *scores) {
    (void)pod_sets;
    return score("first", call, workload, workers, scores);
}

static wharf_result score_second(const wharf_call *call, const wharf_value *workload, const wharf_value *pod_sets,
                                 const wharf_value *workers, wharf_value *scores) {
    (void)pod_sets;
    return score("second", call, workload, workers, scores);
}

const struct scorer *const *raters_list(struct trial *trial, size_t *count) {
    static const struct scorer first = {score_first, "first", NULL, true},
                               second = {score_second, "second", NULL, true};
    static const struct scorer *const both[] = {&first, &second};
    asking = trial;
    *count = trial->plan.raters ? 1 + trial->seed % 2 : 0;
    return both;
}
