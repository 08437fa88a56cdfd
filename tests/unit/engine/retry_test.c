// SPDX-License-Identifier: Apache-2.0
// The annotation wharf.dev/retry ends what a workload waits for, once for each new value.
#include "tests/unit/engine/stage.h"

#include <string.h>

#define RETRY(value) "{'metadata':{'annotations':{'wharf.dev/retry':'" value "'}}}"

static bool broken;  // workers reject creates
static bool invalid; // the management cluster rejects statuses

static int reject(struct stage *stage, const struct command *command) {
    (void)stage;
    if (invalid && command->request.verb == VERB_STATUS_PATCH)
        return 422;
    return broken && command->request.verb == VERB_CREATE && command->cluster > 0 ? 403 : STAGE_PASS;
}

static unsigned creates(const struct stage *stage) {
    return stage->sent[1][VERB_CREATE] + stage->sent[2][VERB_CREATE];
}

static void begin(struct stage *stage) {
    broken = true;
    stage_init(stage);
    stage->meddle = reject;
    stage_start(stage);
    stage_submit(stage, "a", "");
    stage_run(stage, 2 * 60 * CLOCK_MINUTE); // both workers are excluded for minutes
}

static void a_new_value_ends_exclusions_and_backoffs_at_once(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    stage_run(&stage, CLOCK_SECOND);
    broken = false;
    unsigned before = creates(&stage);
    stage_run(&stage, 30 * CLOCK_SECOND);
    assert_int_equal(creates(&stage), before);
    assert_int_equal(stage_patch(&stage, 0, "a", NULL, RETRY("1")), 200);
    stage_run(&stage, 100 * CLOCK_MS);
    size_t where = stage_where(&stage, "a");
    assert_non_null(stage_job(&stage, where, "a"));
    assert_null(pointer_find(stage_job(&stage, where, "a"), "/metadata/annotations/wharf.dev~1retry"));
    // A later value reaches no mirror either, and costs nothing.
    unsigned patches = stage.sent[where][VERB_MERGE_PATCH], own = stage.sent[0][VERB_MERGE_PATCH];
    assert_int_equal(stage_patch(&stage, 0, "a", NULL, RETRY("2")), 200);
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage.sent[where][VERB_MERGE_PATCH], patches);
    assert_int_equal(stage.sent[0][VERB_MERGE_PATCH], own);
    stage_end(&stage);
}

static void the_same_value_or_its_removal_changes_nothing(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    assert_int_equal(stage_patch(&stage, 0, "a", NULL, RETRY("1")), 200);
    stage_run(&stage, CLOCK_MINUTE);
    stage_run(&stage, 2 * 60 * CLOCK_MINUTE);
    unsigned before = creates(&stage);
    assert_int_equal(stage_patch(&stage, 0, "a", NULL, "{'metadata':{'labels':{'x':'y'}}}"), 200);
    assert_int_equal(stage_patch(&stage, 0, "a", NULL, "{'metadata':{'annotations':{'wharf.dev/retry':null}}}"), 200);
    stage_run(&stage, 5 * CLOCK_SECOND);
    assert_in_range(creates(&stage) - before, 0, 1); // one may have been due
    stage_end(&stage);
}

// Each value costs one round of the workers, and there is at most one a second.
static void values_that_follow_each_other_quickly_make_no_hot_loop(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    unsigned before = creates(&stage);
    for (int i = 0; i < 100; i++) {
        AUTO_TEXT patch = text_format("{'metadata':{'annotations':{'wharf.dev/retry':'%d'}}}", i);
        assert_int_equal(stage_patch(&stage, 0, "a", NULL, patch), 200);
        stage_run(&stage, 100 * CLOCK_MS);
    }
    assert_in_range(creates(&stage) - before, 10, 30);
    broken = false;
    stage_run(&stage, 2 * CLOCK_SECOND);
    unsigned settled = creates(&stage);
    stage_run(&stage, CLOCK_MINUTE);
    assert_in_range(creates(&stage) - settled, 0, 1);
    stage_end(&stage);
}

static void a_value_from_before_the_start_is_no_news(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    assert_int_equal(stage_patch(&stage, 0, "a", NULL, RETRY("1")), 200);
    stage_restart(&stage);
    stage_run(&stage, 10 * CLOCK_MINUTE);
    unsigned before = creates(&stage);
    assert_int_equal(stage_patch(&stage, 0, "a", NULL, RETRY("1")), 200);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(creates(&stage), before);
    assert_int_equal(stage_patch(&stage, 0, "a", NULL, RETRY("2")), 200);
    stage_run(&stage, CLOCK_SECOND);
    assert_true(creates(&stage) > before);
    stage_end(&stage);
}

static void report_active(struct stage *stage, size_t where, int active) {
    AUTO_TEXT patch = text_format("{'status':{'active':%d,'startTime':'" HARNESS_NOW "'}}", active);
    assert_int_equal(stage_patch(stage, where, "a", "status", patch), 200);
    stage_run(stage, CLOCK_SECOND / 2);
}

static void a_workload_made_anew_waits_for_nothing_that_the_former_one_caused(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    broken = false;
    for (int incarnation = 0; incarnation < 2; incarnation++) {
        stage_run(&stage, incarnation ? 5 * CLOCK_SECOND : 20 * CLOCK_MINUTE);
        size_t where = stage_where(&stage, "a");
        invalid = true;
        report_active(&stage, where, 1);
        unsigned sent = stage.sent[0][VERB_STATUS_PATCH];
        report_active(&stage, where, 2); // a different status is sent at once, the first few times
        assert_int_equal(stage.sent[0][VERB_STATUS_PATCH], sent + 1);
        for (int i = 0; i < 20; i++)
            report_active(&stage, where, i % 2);
        assert_int_equal(stage_delete(&stage, 0, "a"), 200);
        invalid = false;
        stage_submit(&stage, "a", "");
    }
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_value_ends_exclusions_and_backoffs_at_once),
        cmocka_unit_test(the_same_value_or_its_removal_changes_nothing),
        cmocka_unit_test(values_that_follow_each_other_quickly_make_no_hot_loop),
        cmocka_unit_test(a_value_from_before_the_start_is_no_news),
        cmocka_unit_test(a_workload_made_anew_waits_for_nothing_that_the_former_one_caused),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
