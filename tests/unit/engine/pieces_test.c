// SPDX-License-Identifier: Apache-2.0
// A change that a worker rejects is carried in pieces: nothing waits for the part that the worker does not accept.
#include "tests/unit/engine/stage.h"

static const char *unwanted; // the worker rejects a patch that has this in it

static int reject(struct stage *stage, const struct command *command) {
    (void)stage;
    bool patch = command->cluster != 0 && command->request.verb == VERB_MERGE_PATCH;
    return patch && unwanted && strstr(command->request.body, unwanted) ? 422 : STAGE_PASS;
}

static void start_one(struct stage *stage) {
    unwanted = NULL;
    stage_init(stage);
    stage->meddle = reject;
    stage_start(stage);
    stage_submit(stage, "a", "");
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_non_null(stage_job(stage, 1, "a"));
}

static void change(struct stage *stage, const char *patch) {
    assert_int_equal(stage_patch(stage, 0, "a", NULL, patch), 200);
    stage_run(stage, CLOCK_SECOND / 2);
}

static const struct json *at(struct stage *stage, const char *pointer) {
    return pointer_find(stage_job(stage, 1, "a"), pointer);
}

static bool is_suspended(struct stage *stage) {
    return json_bool(at(stage, "/spec/suspend"), false);
}

static void suspension_and_resumption_do_not_wait_for_a_change_that_is_rejected(void **state) {
    (void)state;
    for (int restarted = 0; restarted < 2; restarted++) {
        struct stage stage;
        start_one(&stage);
        unwanted = "parallelism";
        change(&stage, "{'spec':{'parallelism':3}}");
        for (int times = 0; times < 3; times++) {
            change(&stage, "{'spec':{'suspend':true}}");
            assert_true(is_suspended(&stage));
            if (restarted)
                stage_restart(&stage);
            stage_run(&stage, CLOCK_SECOND);
            change(&stage, "{'spec':{'suspend':false}}");
            assert_false(is_suspended(&stage));
        }
        assert_int_equal(json_int64(at(&stage, "/spec/parallelism"), 0), 1);
        assert_int_equal(stage_told(&stage, "SuspendedInWorker"), 0);
        unwanted = NULL;
        stage_run(&stage, 30 * CLOCK_MINUTE); // the whole is tried again
        assert_int_equal(json_int64(at(&stage, "/spec/parallelism"), 0), 3);
        stage_end(&stage);
    }
}

static void one_rejected_field_is_named_and_the_others_are_carried(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    unwanted = "parallelism";
    change(&stage, "{'metadata':{'labels':{'team':'x'}},'spec':{'parallelism':3,'backoffLimit':9}}");
    assert_int_equal(json_int64(at(&stage, "/spec/backoffLimit"), 0), 9);
    assert_string_equal(json_string_or(at(&stage, "/metadata/labels/team"), ""), "x");
    assert_int_equal(json_int64(at(&stage, "/spec/parallelism"), 0), 1);
    assert_int_equal(stage_told(&stage, "cluster w1 rejected a change of the mirror (/spec/parallelism): meddled"), 1);
    assert_int_equal(stage_told(&stage, "rejected a change"), 1);
    stage_end(&stage);
}

static void a_rejected_label_does_not_hold_up_fields(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    unwanted = "bad";
    change(&stage, "{'metadata':{'labels':{'bad':'x'}},'spec':{'parallelism':3}}");
    assert_int_equal(json_int64(at(&stage, "/spec/parallelism"), 0), 3);
    assert_int_equal(stage_told(&stage, "rejected a change of the mirror (labels and annotations)"), 1);
    // It was not carried: whoever gives the mirror that label keeps it.
    assert_int_equal(stage_patch(&stage, 1, "a", NULL, "{'metadata':{'labels':{'bad':'theirs'}}}"), 200);
    unwanted = NULL;
    change(&stage, "{'metadata':{'labels':{'bad':null}}}");
    assert_string_equal(json_string_or(at(&stage, "/metadata/labels/bad"), ""), "theirs");
    stage_end(&stage);
}

static void a_rejected_piece_is_sent_again_only_when_it_has_changed_or_later(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    unwanted = "parallelism\":3";
    change(&stage, "{'spec':{'parallelism':3}}");
    unsigned sent = stage.sent[1][VERB_MERGE_PATCH];
    assert_in_range(sent, 1, 3);
    stage_patch(&stage, 1, "a", "status", "{'status':{'active':1,'startTime':'" HARNESS_NOW "'}}");
    stage_run(&stage, 2 * CLOCK_SECOND);
    change(&stage, "{'spec':{'backoffLimit':9}}");
    assert_int_equal(json_int64(at(&stage, "/spec/backoffLimit"), 0), 9);
    change(&stage, "{'spec':{'parallelism':2}}");
    assert_int_equal(json_int64(at(&stage, "/spec/parallelism"), 0), 2);
    change(&stage, "{'spec':{'parallelism':3}}");
    sent = stage.sent[1][VERB_MERGE_PATCH];
    stage_run(&stage, 60 * CLOCK_MINUTE);
    assert_in_range(stage.sent[1][VERB_MERGE_PATCH], sent + 3, sent + 45);
    assert_int_equal(stage_told(&stage, "MirrorRewritten"), 0);
    stage_end(&stage);
}

// The API allows them while the mirror is suspended only.
static void fields_that_change_while_suspended_go_before_the_resumption(void **state) {
    (void)state;
    for (int rejected = 0; rejected < 2; rejected++) {
        struct stage stage;
        start_one(&stage);
        change(&stage, "{'spec':{'suspend':true}}");
        assert_int_equal(stage_patch(&stage, 1, "a", "status",
                                     "{'status':{'conditions':[{'type':'Suspended','status':'True',"
                                     "'lastTransitionTime':'" HARNESS_NOW "'}]}}"),
                         200);
        stage_run(&stage, CLOCK_SECOND);
        unwanted = rejected ? "zone" : "bad";
        change(&stage, "{'metadata':{'labels':{'bad':'x'}},'spec':{'suspend':false,'template':{'spec':{'nodeSelector':{"
                       "'zone':'a'}}}}}");
        assert_false(is_suspended(&stage));
        assert_string_equal(json_string_or(at(&stage, "/spec/template/spec/nodeSelector/zone"), ""),
                            rejected ? "" : "a");
        assert_true(!at(&stage, "/metadata/labels/bad") == !rejected);
        stage_end(&stage);
    }
}

// Somebody reverts the pieces that are accepted.
static void pieces_that_are_reverted_are_not_repeated_without_end(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    unwanted = "backoffLimit";
    change(&stage, "{'metadata':{'labels':{'team':'x'}},'spec':{'backoffLimit':9,'parallelism':3}}");
    for (int i = 0; i < 3600; i++) {
        assert_int_equal(
            stage_patch(&stage, 1, "a", NULL, "{'metadata':{'labels':{'team':'theirs'}},'spec':{'parallelism':7}}"),
            200);
        stage_run(&stage, CLOCK_SECOND);
    }
    assert_in_range(stage.sent[1][VERB_MERGE_PATCH], 10, 600);
    change(&stage, "{'spec':{'suspend':true}}"); // that is not delayed
    assert_true(is_suspended(&stage));
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suspension_and_resumption_do_not_wait_for_a_change_that_is_rejected),
        cmocka_unit_test(one_rejected_field_is_named_and_the_others_are_carried),
        cmocka_unit_test(a_rejected_label_does_not_hold_up_fields),
        cmocka_unit_test(a_rejected_piece_is_sent_again_only_when_it_has_changed_or_later),
        cmocka_unit_test(fields_that_change_while_suspended_go_before_the_resumption),
        cmocka_unit_test(pieces_that_are_reverted_are_not_repeated_without_end),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
