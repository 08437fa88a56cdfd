// SPDX-License-Identifier: Apache-2.0
// Fields of a mirror that its worker does not keep.
#include "core/engine/mirror/mirror_parts.h"

#include "tests/unit/engine/stage.h"

static void what_was_sent_and_is_absent_is_found(void **state) {
    (void)state;
    static const struct {
        const char *sent, *stored, *said;
        size_t found;
    } cases[] = {
        {"{'a':1,'b':{'c':2}}", "{'a':1,'b':{'c':2,'d':3},'e':4}", "", 0},
        {"{'a':1,'b':2}", "{'a':1}", "/spec/b", 1},
        {"{'a':1}", "{'a':2}", "", 0}, // changed
        {"{'a':1}", "{'a':'1'}", "", 0},
        {"{'b':{'c':{'d':1}},'x':1}", "{'b':{'c':{}}}", "/spec/b/c/d, /spec/x", 2},
        {"{'b':{'c':{'d':1}}}", "{}", "/spec/b", 1},
        {"{'a':null,'b':false,'c':0,'d':'','e':{},'f':[],'g':{'h':[{'i':null}]}}", "{}", "", 0}, // omitted
        {"{'l':[1,2]}", "{'l':[3,2,1]}", "", 0},
        {"{'l':[{'name':'x','a':1},{'name':'y','a':2}]}", "{'l':[{'name':'s'},{'name':'y'},{'name':'x','a':1}]}",
         "/spec/l/1/a", 1}, // a webhook added an item
        {"{'l':[{'a':1},{'a':2}]}", "{'l':[{'a':1},{'b':2}]}", "/spec/l/1/a", 1},
        {"{'l':[{'a':1},{'a':2}]}", "{'l':[{'b':2}]}", "", 0}, // which is which is not known
        {"{'a':1,'b':1,'c':1,'d':1,'e':1,'f':1,'g':1}", "{}", "/spec/a, /spec/b, /spec/c, /spec/d, /spec/e, and 2 more",
         7},
        {"{'x/y':1}", "{}", "/spec/x~1y", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO_TEXT sent_text = text_format("{'spec':%s}", cases[i].sent);
        AUTO_TEXT stored_text = text_format("{'spec':%s}", cases[i].stored);
        AUTO_JSON sent = harness_json(sent_text);
        AUTO_JSON stored = harness_json(stored_text);
        AUTO_BUFFER(said, DROPPED_TEXT_MAX);
        size_t found = dropped_find(NULL, sent, stored, &said);
        if (found != cases[i].found || strcmp(said.data ? said.data : "", cases[i].said) != 0)
            fail_msg("case %zu: %zu, \"%s\"", i, found, said.data ? said.data : "");
    }
}

static unsigned dropping, passed, creates; // what the policies do, and how many creates they saw

// Of each worker that has it: the first `passed` creates are left as they are.
static int drop(void *ctx, enum world_verb verb, const char *plural, struct json *object, char message[256]) {
    (void)ctx, (void)plural, (void)message;
    if (verb != WORLD_CREATE || creates++ < passed || !dropping)
        return 0;
    pointer_remove(object, "/spec/activeDeadlineSeconds");
    return 0;
}

static void begin(struct stage *stage, bool require) {
    dropping = 1;
    passed = creates = 0;
    stage_init(stage);
    stage->options.settings.placement.otherwise.require_fields = require;
    world_set_admission(stage->clusters[1], drop, NULL);
    stage_start(stage);
}

static void submit(struct stage *stage) {
    stage_submit(stage, "a", "");
    assert_int_equal(stage_patch(stage, 0, "a", NULL, "{'spec':{'activeDeadlineSeconds':3000000}}"), 200);
}

static void a_dropped_field_is_told_by_its_name_and_the_mirror_stays(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, false);
    submit(&stage);
    stage_run(&stage, CLOCK_MINUTE);
    assert_non_null(stage_job(&stage, 1, "a"));
    assert_int_equal(
        stage_told(&stage, "FieldsDropped: cluster w1 does not keep /spec/activeDeadlineSeconds of the mirror"), 1);
    assert_int_equal(stage_told(&stage, "FieldsDropped"), 1);
    stage_end(&stage);
}

static void a_mirror_that_is_kept_as_it_is_is_not_told_of(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, false);
    dropping = 0;
    submit(&stage);
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage_told(&stage, "FieldsDropped"), 0);
    assert_int_equal(stage.sent[1][VERB_CREATE], 1);
    stage_end(&stage);
}

static void where_fields_are_required_nothing_is_created_before_it_is_known_to_be_kept(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true);
    submit(&stage);
    stage_run(&stage, CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    assert_non_null(stage_job(&stage, 2, "a"));
    assert_int_equal(stage.sent[1][VERB_CREATE], 1); // not stored
    assert_int_equal(stage.sent[1][VERB_DELETE], 0);
    assert_int_equal(stage.sent[2][VERB_CREATE], 2);
    assert_int_equal(stage_told(&stage, "FieldsDropped: cluster w1 rejected the mirror: the worker does not keep "
                                        "/spec/activeDeadlineSeconds"),
                     1);
    stage_runs(&stage, 2, "a");
    stage_completes(&stage, 2, "a");
    stage_run(&stage, CLOCK_SECOND);
    assert_true(stage_finished(&stage, "a"));
    stage_end(&stage);
}

static void a_field_that_is_dropped_after_all_withdraws_the_mirror(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true);
    passed = 1; // the one that is only tried
    submit(&stage);
    stage_run(&stage, CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    assert_non_null(stage_job(&stage, 2, "a"));
    assert_int_equal(stage.sent[1][VERB_DELETE], 1);
    assert_int_equal(stage_told(&stage, "The host deletes the mirror, which may have begun to run"), 1);
    stage_end(&stage);
}

static int unheard(struct stage *stage, const struct command *command) {
    bool create = command->cluster == 1 && command->request.verb == VERB_CREATE;
    return create && stage->sent[1][VERB_CREATE] == 2 ? STAGE_UNHEARD : STAGE_PASS; // the first is only tried
}

static void a_field_that_is_dropped_in_a_create_without_an_answer_withdraws_the_mirror(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true);
    stage.meddle = unheard;
    passed = 1; // the one that is only tried
    submit(&stage);
    stage_run(&stage, 5 * CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    assert_non_null(stage_job(&stage, 2, "a"));
    assert_int_equal(stage.sent[1][VERB_DELETE], 1);
    assert_int_equal(stage_told(&stage, "The host deletes the mirror, which may have begun to run"), 1);
    stage_end(&stage);
}

static int change_meanwhile(struct stage *stage, const struct command *command) {
    if (command->cluster == 1 && command->request.verb == VERB_CREATE && stage->sent[1][VERB_CREATE] == 2)
        assert_int_equal(stage_patch(stage, 0, "a", NULL, "{'spec':{'suspend':true}}"), 200);
    return STAGE_PASS;
}

// Updates too.
static int drop_always(void *ctx, enum world_verb verb, const char *plural, struct json *object, char message[256]) {
    if (verb == WORLD_UPDATE)
        pointer_remove(object, "/spec/activeDeadlineSeconds");
    return drop(ctx, verb, plural, object, message);
}

static void a_field_that_is_dropped_while_its_workload_changes_withdraws_the_mirror(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true);
    world_set_admission(stage.clusters[1], drop_always, NULL);
    stage.meddle = change_meanwhile;
    passed = 1; // the one that is only tried
    submit(&stage);
    stage_run(&stage, CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage.sent[1][VERB_DELETE], 1);
    assert_int_equal(stage_told(&stage, "The host deletes the mirror, which may have begun to run"), 1);
    stage_end(&stage);
}

static void a_workload_that_changes_while_its_mirror_is_created_keeps_it(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true);
    stage.meddle = change_meanwhile;
    dropping = 0;
    submit(&stage);
    stage_run(&stage, CLOCK_MINUTE);
    assert_non_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage.sent[1][VERB_DELETE], 0);
    assert_int_equal(stage_told(&stage, "FieldsDropped"), 0);
    stage_end(&stage);
}

static void where_no_worker_keeps_the_fields_it_waits_and_is_tried_slowly(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, true);
    world_set_admission(stage.clusters[2], drop, NULL);
    submit(&stage);
    stage_run(&stage, 60 * CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    assert_null(stage_job(&stage, 2, "a"));
    assert_in_range(stage.sent[1][VERB_CREATE] + stage.sent[2][VERB_CREATE], 5, 40);
    assert_true(stage_told(&stage, "Unschedulable: 0/2 workers accept it: w1 drops fields; w2 drops fields") >= 1);
    dropping = 0; // upgraded
    stage_run(&stage, 20 * CLOCK_MINUTE);
    assert_non_null(stage_job(&stage, stage_where(&stage, "a"), "a"));
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_sent_and_is_absent_is_found),
        cmocka_unit_test(a_dropped_field_is_told_by_its_name_and_the_mirror_stays),
        cmocka_unit_test(a_mirror_that_is_kept_as_it_is_is_not_told_of),
        cmocka_unit_test(where_fields_are_required_nothing_is_created_before_it_is_known_to_be_kept),
        cmocka_unit_test(a_field_that_is_dropped_after_all_withdraws_the_mirror),
        cmocka_unit_test(a_field_that_is_dropped_in_a_create_without_an_answer_withdraws_the_mirror),
        cmocka_unit_test(a_field_that_is_dropped_while_its_workload_changes_withdraws_the_mirror),
        cmocka_unit_test(a_workload_that_changes_while_its_mirror_is_created_keeps_it),
        cmocka_unit_test(where_no_worker_keeps_the_fields_it_waits_and_is_tried_slowly),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
