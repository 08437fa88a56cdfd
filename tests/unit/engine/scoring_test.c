// SPDX-License-Identifier: Apache-2.0
// Scores of adapters in the choice of a worker: their effect, the workers that adapters see, failures, and the limit of
// time for a batch.
#include "core/adapter/services.h"
#include "core/engine/history/inspect.h"
#include "tests/unit/engine/stage.h"

#include <string.h>

// Both scorers -----------------------------------------------------------------------------------------------------

static struct rating {
    const char *scores;        // JSON with ' for ", which the scorer gives
    wharf_result result;       // with a message
    enum call_trouble trouble; // what its process reports
    unsigned waits;            // so many CALL_WAITS come first
    int64_t takes_ns;          // of the clock that measures calls
    unsigned calls;
    char workers[4096]; // of the last call, as text
    const struct wharf_kind *kind;
    bool has_pods;
} first, second;

static int64_t ticks_ns;

static int64_t ticks(void) {
    return ticks_ns;
}

static wharf_result rate(struct rating *rating, const wharf_call *call, const wharf_value *pod_sets,
                         const wharf_value *workers, wharf_value *scores) {
    const wharf_host *host = services_table();
    rating->calls++;
    rating->kind = call->kind;
    rating->has_pods = host->count(pod_sets) > 0;
    text_copy(rating->workers, sizeof rating->workers, host->print(call, workers, NULL));
    ticks_ns += rating->takes_ns;
    if (rating->trouble == CALL_WAITS && (rating->waits == 0 || rating->calls <= rating->waits)) {
        call_set_trouble(call, CALL_WAITS, "busy");
        return WHARF_RETRY;
    }
    if (rating->trouble == CALL_BROKEN) {
        call_set_trouble(call, CALL_BROKEN, "signal 11 (Segmentation fault)");
        return WHARF_RETRY;
    }
    if (rating->scores) {
        char text[256];
        text_copy(text, sizeof text, rating->scores);
        for (char *at = text; *at; at++)
            *at = *at == '\'' ? '"' : *at;
        host->set(call, scores, "", host->parse(call, text, strlen(text)));
    }
    if (rating->result != WHARF_OK)
        call->answer->message = "the catalog is empty";
    return rating->result;
}

static wharf_result rate_first(const wharf_call *call, const wharf_value *workload, const wharf_value *pod_sets,
                               const wharf_value *workers, wharf_value *scores) {
    assert_non_null(services_table()->find(workload, "/metadata/name"));
    return rate(&first, call, pod_sets, workers, scores);
}

static wharf_result rate_second(const wharf_call *call, const wharf_value *workload, const wharf_value *pod_sets,
                                const wharf_value *workers, wharf_value *scores) {
    (void)workload;
    return rate(&second, call, pod_sets, workers, scores);
}

static struct adapter stranger;
static const struct scorer scorer_first = {rate_first, "locality", NULL, true};
static const struct scorer scorer_second = {rate_second, "cost", NULL, true};
static const struct scorer scorer_of_others = {rate_second, "other", &stranger, false};
static const struct scorer *const both[] = {&scorer_first, &scorer_second};
static const struct scorer *const others[] = {&scorer_first, &scorer_of_others};

static void begin(struct stage *stage, size_t n_scorers) {
    first = second = (struct rating){.scores = NULL};
    stage_init(stage);
    stage->options.scorers = both;
    stage->options.n_scorers = n_scorers;
    stage->options.ticks = ticks;
    stage_start(stage);
}

static size_t place(struct stage *stage, const char *name, const char *annotations) {
    stage_submit(stage, name, annotations);
    stage_run(stage, CLOCK_SECOND);
    return stage_where(stage, name);
}

// What is told about the last attempt; "": nothing.
static const char *told(struct stage *stage, const char *name) {
    struct explain_view view;
    stage_explain(stage, name, &view);
    return view.attempts && view.attempts->scores ? view.attempts->scores : "";
}

static void worker_is(struct stage *stage, size_t cluster, struct worker_settings settings) {
    settings.name = cluster == 1 ? "w1" : "w2";
    stage_step(stage, &(struct engine_event){.type = EVENT_WORKER, .cluster = cluster, .worker = settings});
}

// Their effect -----------------------------------------------------------------------------------------------------

static void scores_come_before_the_policy(void **state) {
    (void)state;
    static const struct {
        const char *what, *first, *second, *told;
        size_t expected;
    } cases[] = {
        {"one adapter", "{'w2': 1}", "{}", "locality: w2 1; cost: no opinion", 2},
        {"without opinions the policy chooses by name", "{}", "{}", "locality: no opinion; cost: no opinion", 1},
        {"equal scores: the same", "{'w1': 70, 'w2': 70}", "{}", "locality: w1 70, w2 70; cost: no opinion", 1},
        {"the sum counts", "{'w1': 60, 'w2': 40}", "{'w1': 10, 'w2': 50}", "locality: w1 60, w2 40; cost: w2 50, w1 10",
         2},
        {"equal sums", "{'w1': 30, 'w2': 100}", "{'w1': 70}", "locality: w2 100, w1 30; cost: w1 70", 1},
        {"an absent score is 0", "{'w1': 0}", "{'w2': 1}", "locality: w1 0; cost: w2 1", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stage stage;
        begin(&stage, 2);
        first.scores = cases[i].first;
        second.scores = cases[i].second;
        size_t where = place(&stage, "j1", "");
        if (where != cases[i].expected)
            fail_msg("%s: w%zu, expected w%zu", cases[i].what, where, cases[i].expected);
        assert_string_equal(told(&stage, "j1"), cases[i].told);
        assert_int_equal(engine_stats(stage.engine)->unscored, 0);
        assert_int_equal(engine_stats(stage.engine)->kinds[0].calls[FUNCTION_SCORE].count, first.calls + second.calls);
        stage_end(&stage);
    }
}

static void a_placement_without_a_choice_asks_nobody(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, 1);
    first.scores = "{'w2': 100}";
    assert_int_equal(place(&stage, "pinned", "'wharf.dev/cluster-names':'w1,w2'"), 1);
    assert_int_equal(first.calls, 0);
    assert_string_equal(told(&stage, "pinned"), "");
    worker_is(&stage, 1, (struct worker_settings){.labels = "zone=a"});
    assert_int_equal(place(&stage, "one", "'wharf.dev/cluster-selector':'zone=a'"), 1);
    assert_int_equal(first.calls, 0);
    stage_end(&stage);
}

static void no_score_overrides_a_rule(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, 1);
    first.scores = "{'w2': 100}";
    worker_is(&stage, 2, (struct worker_settings){.max_active = 2});
    for (unsigned i = 1; i <= 4; i++) {
        AUTO_TEXT name = text_format("j%u", i);
        assert_int_equal(place(&stage, name, ""), i <= 2 ? 2 : 1);
    }
    assert_int_equal(first.calls, 2); // only w1 was eligible for the others
    worker_is(&stage, 2, (struct worker_settings){.policy = WORKER_CORDONED});
    assert_int_equal(place(&stage, "j5", ""), 1);
    assert_int_equal(first.calls, 2);
    stage_end(&stage);
}

static void an_adapter_with_kinds_is_asked_for_these_alone(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, 1);
    engine_set_scorers(stage.engine, others, 2);
    second.scores = "{'w2': 100}";
    assert_int_equal(place(&stage, "j1", ""), 1);
    assert_int_equal(first.calls, 1);
    assert_int_equal(second.calls, 0);
    assert_null(first.kind); // the kind of another adapter
    stage.kind->adapter = &stranger;
    assert_int_equal(place(&stage, "j2", ""), 2);
    assert_ptr_equal(second.kind, stage.kind->given);
    stage.kind->adapter = NULL;
    stage_end(&stage);
}

static void scorers_can_be_added_later(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, 0);
    first.scores = "{'w2': 1}";
    assert_int_equal(place(&stage, "j1", ""), 1);
    engine_set_scorers(stage.engine, both, 1);
    assert_int_equal(place(&stage, "j2", ""), 2);
    assert_int_equal(place(&stage, "j3", ""), 2);
    stage_end(&stage);
}

// The workers ------------------------------------------------------------------------------------------------------

static void has_one_node(struct stage *stage, size_t cluster, int64_t milli_cpu, int64_t memory) {
    static const char *const names[] = {"cpu", "memory", "pods", "example.com/none"};
    struct nodes *nodes = nodes_new(1, names, 4, 0);
    assert_non_null(nodes);
    nodes->allocatable[0] = nodes->left[0] = milli_cpu;
    nodes->allocatable[1] = nodes->left[1] = memory;
    nodes->allocatable[2] = nodes->left[2] = 7;
    nodes->marks[0] = node_marks_of_node(NULL, NULL);
    stage_step(stage, &(struct engine_event){.type = EVENT_CAPACITY,
                                             .cluster = cluster,
                                             .capacity = {.state = CAPACITY_KNOWN, .nodes = nodes}});
}

static void adapters_see_the_eligible_workers(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, 1);
    worker_is(&stage, 2, (struct worker_settings){.labels = "gpu=h100,zone=a"});
    place(&stage, "j1", "");
    assert_string_equal(first.workers, "[{\"name\":\"w1\",\"labels\":{},\"active\":0,\"activeOfKind\":0},"
                                       "{\"name\":\"w2\",\"labels\":{\"gpu\":\"h100\",\"zone\":\"a\"},"
                                       "\"active\":0,\"activeOfKind\":0}]");
    assert_true(first.has_pods);
    has_one_node(&stage, 1, 61500, 4096);
    place(&stage, "j2", "");
    assert_string_equal(first.workers, "[{\"name\":\"w1\",\"labels\":{},\"active\":1,\"activeOfKind\":1,"
                                       "\"free\":{\"cpu\":61.500,\"memory\":4096,\"pods\":7}},"
                                       "{\"name\":\"w2\",\"labels\":{\"gpu\":\"h100\",\"zone\":\"a\"},"
                                       "\"active\":0,\"activeOfKind\":0}]");
    stage_end(&stage);
}

// Failures ---------------------------------------------------------------------------------------------------------

static void a_failing_adapter_leaves_the_choice_to_the_others_and_the_policy(void **state) {
    (void)state;
    static const struct {
        struct rating first;
        const char *told;
    } cases[] = {
        {{.result = WHARF_REFUSED}, "locality: none (the catalog is empty)"},
        {{.result = WHARF_RETRY}, "locality: none (the catalog is empty)"},
        {{.result = 77, .scores = "{'w1': 9}"}, "locality: none (the catalog is empty)"},
        {{.trouble = CALL_BROKEN}, "locality: none (signal 11 (Segmentation fault))"},
        {{.scores = "{'w1': 101}"}, "locality: none (found 101 as the score of w1, expected an integer from 0 to 100)"},
        {{.scores = "{'w1': -1}"}, "locality: none (found -1 as the score of w1, expected an integer from 0 to 100)"},
        {{.scores = "{'w1': 0.5}"}, "locality: none (found 0.5 as the score of w1, expected an integer from 0 to 100)"},
        {{.scores = "{'w1': '5'}"},
         "locality: none (found a string as the score of w1, expected an integer from 0 to 100)"},
        {{.scores = "{'w1': 9, 'w9': 5}"},
         "locality: none (found a score of \"w9\", expected the name of one of the workers)"},
        {{.scores = "[1]"}, "locality: none (: found an array, expected an object, as there)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stage stage;
        begin(&stage, 2);
        first = cases[i].first;
        second.scores = "{'w2': 3}";
        assert_int_equal(place(&stage, "j1", ""), 2); // by the other adapter
        AUTO_TEXT expected = text_format("%s; cost: w2 3", cases[i].told);
        if (i + 1 < sizeof cases / sizeof *cases)
            assert_string_equal(told(&stage, "j1"), expected);
        else
            assert_non_null(strstr(told(&stage, "j1"), "locality: none ("));
        unsigned warnings = stage.warnings;
        assert_true(warnings > 0);
        assert_int_equal(place(&stage, "j2", ""), 2);
        assert_int_equal(stage.warnings, warnings); // logged once
        assert_int_equal(engine_stats(stage.engine)->unscored, 2);
        second.scores = "{}";
        assert_int_equal(place(&stage, "j3", ""), 1); // the policy: the least active
        stage_end(&stage);
    }
}

static void a_failure_is_logged_again_after_a_success(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, 1);
    first.result = WHARF_REFUSED;
    place(&stage, "j1", "");
    unsigned warnings = stage.warnings;
    first.result = WHARF_OK;
    place(&stage, "j2", "");
    first.result = WHARF_REFUSED;
    place(&stage, "j3", "");
    assert_int_equal(stage.warnings, warnings + 1);
    stage_end(&stage);
}

// The limit --------------------------------------------------------------------------------------------------------

static void a_batch_of_placements_has_200_ms(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, 1);
    first = (struct rating){.scores = "{'w2': 5}", .takes_ns = 60 * CLOCK_MS};
    for (unsigned i = 1; i <= 10; i++) {
        AUTO_TEXT name = text_format("j%u", i);
        stage_submit(&stage, name, "");
    }
    stage_run(&stage, 500 * CLOCK_MS);
    assert_int_equal(first.calls, 4); // the fourth reaches the limit
    size_t late = 0, in_w2 = 0;
    for (unsigned i = 1; i <= 10; i++) {
        AUTO_TEXT name = text_format("j%u", i);
        late += strstr(told(&stage, name), "took more than 200 ms") ? 1 : 0;
        in_w2 += stage_where(&stage, name) == 2;
    }
    assert_int_equal(late, 6);
    assert_int_equal(in_w2, 5); // the policy evens out
    assert_int_equal(engine_stats(stage.engine)->unscored, 6);
    assert_int_equal(stage.warnings, 1);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(place(&stage, "later", ""), 2);
    assert_string_equal(told(&stage, "later"), "locality: w2 5");
    stage_end(&stage);
}

static void a_placement_waits_for_an_answer_that_is_on_its_way(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, 1);
    first = (struct rating){.scores = "{'w2': 5}", .trouble = CALL_WAITS, .waits = 3};
    assert_int_equal(place(&stage, "j1", ""), 2);
    assert_int_equal(first.calls, 4);
    assert_string_equal(told(&stage, "j1"), "locality: w2 5");
    assert_int_equal(engine_stats(stage.engine)->unscored, 0);
    assert_int_equal(stage.warnings, 0);
    stage_end(&stage);
}

static void a_placement_waits_no_longer_than_the_limit(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, 1);
    first = (struct rating){.trouble = CALL_WAITS};
    int64_t begun_ns = stage.now.mono_ns;
    stage_submit(&stage, "j1", "");
    while (stage_where(&stage, "j1") == 0)
        stage_run(&stage, CLOCK_MS);
    assert_in_range(stage.now.mono_ns - begun_ns, SCORING_LIMIT_NS, SCORING_LIMIT_NS + 30 * CLOCK_MS);
    stage_run(&stage, 10 * CLOCK_MS);
    assert_non_null(strstr(told(&stage, "j1"), "took more than 200 ms"));
    begun_ns = stage.now.mono_ns;
    stage_submit(&stage, "j2", ""); // in the same batch
    while (stage_where(&stage, "j2") == 0)
        stage_run(&stage, CLOCK_MS);
    assert_true(stage.now.mono_ns - begun_ns < 30 * CLOCK_MS);
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_come_before_the_policy),
        cmocka_unit_test(a_placement_without_a_choice_asks_nobody),
        cmocka_unit_test(no_score_overrides_a_rule),
        cmocka_unit_test(an_adapter_with_kinds_is_asked_for_these_alone),
        cmocka_unit_test(scorers_can_be_added_later),
        cmocka_unit_test(adapters_see_the_eligible_workers),
        cmocka_unit_test(a_failing_adapter_leaves_the_choice_to_the_others_and_the_policy),
        cmocka_unit_test(a_failure_is_logged_again_after_a_success),
        cmocka_unit_test(a_batch_of_placements_has_200_ms),
        cmocka_unit_test(a_placement_waits_for_an_answer_that_is_on_its_way),
        cmocka_unit_test(a_placement_waits_no_longer_than_the_limit),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
