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
        size_t found = dropped_find(NULL, false, sent, stored, &said);
        if (found != cases[i].found || strcmp(said.data ? said.data : "", cases[i].said) != 0)
            fail_msg("case %zu: %zu, \"%s\"", i, found, said.data ? said.data : "");
    }
}

static const char *field;                  // that the policies drop
static unsigned dropping, passed, creates; // what the policies do, and how many creates they saw

// Of each worker that has it: the first `passed` creates are left as they are.
static int drop(void *ctx, enum world_verb verb, const char *plural, struct json *object, char message[256]) {
    (void)ctx, (void)plural, (void)message;
    if (verb != WORLD_CREATE || creates++ < passed || !dropping)
        return 0;
    pointer_remove(object, field);
    return 0;
}

static void begin(struct stage *stage, enum require_fields require) {
    dropping = 1;
    passed = creates = 0;
    stage_init(stage);
    stage->options.settings.placement.otherwise.require_fields = require;
    field = "/spec/activeDeadlineSeconds";
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
    begin(&stage, REQUIRE_SCHEDULING);
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
    begin(&stage, REQUIRE_SCHEDULING);
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
    begin(&stage, REQUIRE_ALL);
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
    begin(&stage, REQUIRE_ALL);
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
    begin(&stage, REQUIRE_ALL);
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
        pointer_remove(object, field);
    return drop(ctx, verb, plural, object, message);
}

static void a_field_that_is_dropped_while_its_workload_changes_withdraws_the_mirror(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, REQUIRE_ALL);
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

// The worker drops nothing, and `meddle` changes the workload during the create.
static void keeps_its_mirror(int (*meddle)(struct stage *stage, const struct command *command)) {
    struct stage stage;
    begin(&stage, REQUIRE_ALL);
    stage.meddle = meddle;
    dropping = 0;
    submit(&stage);
    stage_run(&stage, CLOCK_MINUTE);
    assert_non_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage.sent[1][VERB_DELETE], 0);
    assert_int_equal(stage_told(&stage, "FieldsDropped"), 0);
    stage_end(&stage);
}

static void a_workload_that_changes_while_its_mirror_is_created_keeps_it(void **state) {
    (void)state;
    keeps_its_mirror(change_meanwhile);
}

static int change_template(struct stage *stage, const struct command *command) {
    static const char *const patches[] = {"{'spec':{'suspend':true}}",
                                          "{'spec':{'template':{'spec':{'nodeSelector':{'zone':'a'}}}}}",
                                          "{'spec':{'suspend':false}}"};
    bool create = command->cluster == 1 && command->request.verb == VERB_CREATE && stage->sent[1][VERB_CREATE] == 2;
    for (size_t i = 0; create && i < sizeof patches / sizeof *patches; i++)
        assert_int_equal(stage_patch(stage, 0, "a", NULL, patches[i]), 200);
    return STAGE_PASS;
}

static void a_change_that_its_mirror_cannot_have_is_not_dropped_by_the_worker(void **state) {
    (void)state;
    keeps_its_mirror(change_template);
}

static void where_no_worker_keeps_the_fields_it_waits_and_is_tried_slowly(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, REQUIRE_ALL);
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

// Fields that change the scheduling, by default.

#define PRIORITY "/spec/template/spec/priorityClassName"
#define IMPORTANT                                                                                                      \
    "'template':{'spec':{'restartPolicy':'Never','priorityClassName':'high','containers':[" CONTAINER "]}}"
#define PLAIN "'template':{'spec':{'restartPolicy':'Never','containers':[" CONTAINER "]}}"
#define CONTAINER "{'name':'c','image':'i'}"
#define GANG "'scheduling':{'schedulingPolicy':{'gang':{}}}"

// A Job of two pods.
static void submit_with(struct stage *stage, const char *name, const char *spec) {
    AUTO_TEXT text = text_format("{'metadata':{'name':'%s','namespace':'default'},'spec':{'managedBy':'wharf.dev/host',"
                                 "'parallelism':2,%s}}",
                                 name, spec);
    AUTO_JSON job = harness_json(text);
    assert_int_equal(world_apply(stage->clusters[0], "batch", "jobs", job, stage->now.wall_ns), 201);
}

static void begin_with(struct stage *stage, const char *dropped) {
    begin(stage, REQUIRE_SCHEDULING);
    field = dropped;
}

static void what_changes_the_scheduling_is_known_by_its_name(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        bool counts;
    } cases[] = {
        {"{'parallelism':2,'template':{'spec':{'containers':[{'resources':{'limits':{'cpu':'1'}}}]}}}", false},
        {"{'template':{'spec':{'schedulerName':'default-scheduler'}}}", false}, // a default
        {"{'scheduling':{'schedulingPolicy':{'gang':{}}}}", true},
        {"{'template':{'spec':{'schedulingGroup':{'podGroupName':'g'}}}}", true},
        {"{'template':{'spec':{'workloadRef':{'name':'w'}}}}", true},
        {"{'template':{'spec':{'schedulingGates':[{'name':'g'}]}}}", true},
        {"{'template':{'spec':{'schedulingGates':[],'nodeSelector':{},'priorityClassName':''}}}", false},
        {"{'template':{'spec':{'nodeSelector':{'a':'b'}}}}", true},
        {"{'template':{'spec':{'resources':{'requests':{'cpu':'1'}}}}}", true},
        {"{'template':{'spec':{'containers':[{'resources':{'claims':[{'name':'gpu'}]}}]}}}", true},
        {"{'claims':[{'name':'gpu'}]}", false},
        {"{'rayClusterSpec':{'workerGroupSpecs':[{'template':{'spec':{'tolerations':[{'operator':'Exists'}]}}}]}}",
         true},
        {"{'runPolicy':{'schedulingPolicy':{'minAvailable':2}}}", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_TEXT text = text_format("{'spec':%s}", cases[i].spec);
        AUTO_JSON workload = harness_json(text);
        struct kind kind = {.plural_group = "jobs.batch"};
        if ((scheduling_fingerprint(&kind, workload) != 0) != cases[i].counts ||
            scheduling_is_below(workload, NULL) != cases[i].counts)
            fail_msg("%s", cases[i].spec);
    }
}

static void combinations_differ_by_fields_and_not_by_values(void **state) {
    (void)state;
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"{'nodeSelector':{'a':'b'}}", "{'nodeSelector':{'c':'d','e':'f'}}", true},
        {"{'nodeSelector':{'a':'b'}}", "{'pod':{'nodeSelector':{'a':'b'}}}", false},
        {"{'tolerations':[{'key':'a'}]}", "{'tolerations':[{'key':'b'}]}", true},
        {"{'tolerations':[{'key':'a'}]}", "{'tolerations':[{'key':'a','effect':'NoSchedule'}]}", false},
        {"{'scheduling':{'a':{'gang':{}}}}", "{'scheduling':{'a':{'basic':{}}}}", false},
        {"{'parallelism':1,'nodeName':'n'}", "{'parallelism':2,'suspend':true,'nodeName':'m'}", true},
    };
    struct kind kind = {.plural_group = "jobs.batch"}, other = {.plural_group = "jobsets.jobset.x-k8s.io"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_TEXT a_text = text_format("{'spec':%s}", cases[i].a);
        AUTO_TEXT b_text = text_format("{'spec':%s}", cases[i].b);
        AUTO_JSON a = harness_json(a_text);
        AUTO_JSON b = harness_json(b_text);
        if ((scheduling_fingerprint(&kind, a) == scheduling_fingerprint(&kind, b)) != cases[i].same)
            fail_msg("%s, %s", cases[i].a, cases[i].b);
        assert_int_not_equal(scheduling_fingerprint(&kind, a), scheduling_fingerprint(&other, a));
    }
}

static void a_workload_does_not_run_where_a_field_for_its_scheduling_is_dropped(void **state) {
    (void)state;
    struct stage stage;
    begin_with(&stage, PRIORITY);
    submit_with(&stage, "a", IMPORTANT);
    stage_run(&stage, CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    assert_non_null(stage_job(&stage, 2, "a"));
    assert_int_equal(stage.sent[1][VERB_CREATE], 1); // not stored
    assert_int_equal(stage.sent[1][VERB_DELETE], 0);
    assert_int_equal(stage_told(&stage,
                                "FieldsDropped: cluster w1 rejected the mirror: the worker does not keep " PRIORITY
                                ", which requireFields asks for; the host created nothing"),
                     1);
    stage_end(&stage);
}

// A server before 1.37, or without the feature.
static void a_job_with_a_gang_runs_where_the_server_has_gangs(void **state) {
    (void)state;
    struct stage stage;
    begin_with(&stage, PRIORITY);
    world_set_scheduling(stage.clusters[0], true);
    world_set_scheduling(stage.clusters[2], true);
    submit_with(&stage, "a", GANG "," PLAIN);
    stage_run(&stage, CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage.sent[1][VERB_DELETE], 0);
    assert_int_equal(stage_told(&stage, "the worker does not keep /spec/scheduling"), 1);
    assert_non_null(pointer_find(stage_job(&stage, 2, "a"), "/spec/scheduling/schedulingPolicy/gang"));
    assert_int_equal(
        stage_patch(&stage, 0, "a", NULL, "{'spec':{'scheduling':{'schedulingPolicy':{'gang':{'minCount':1}}}}}"), 200);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(
        json_int64(pointer_find(stage_job(&stage, 2, "a"), "/spec/scheduling/schedulingPolicy/gang/minCount"), 0), 1);
    stage_end(&stage);
}

// Creates and dry runs in w1 for one workload more.
static unsigned creates_for(struct stage *stage, const char *name, const char *spec) {
    unsigned before = stage->sent[1][VERB_CREATE] + stage->sent[2][VERB_CREATE];
    submit_with(stage, name, spec);
    stage_run(stage, CLOCK_SECOND);
    assert_int_not_equal(stage_where(stage, name), 0);
    return stage->sent[1][VERB_CREATE] + stage->sent[2][VERB_CREATE] - before;
}

static void each_combination_is_tried_once_until_the_watch_ends(void **state) {
    (void)state;
    struct stage stage;
    begin_with(&stage, PRIORITY);
    dropping = 0;
    stage_disconnect(&stage, 2);
    assert_int_equal(creates_for(&stage, "a", PLAIN), 1);
    assert_int_equal(creates_for(&stage, "b", IMPORTANT), 2);
    assert_int_equal(creates_for(&stage, "c", IMPORTANT), 1);
    stage_disconnect(&stage, 1);
    stage_connect(&stage, 1);
    assert_int_equal(creates_for(&stage, "d", IMPORTANT), 2);
    assert_int_equal(creates_for(&stage, "e", PLAIN), 1);
    stage_end(&stage);
}

static void a_worker_that_drops_what_it_kept_before_is_tried_again(void **state) {
    (void)state;
    struct stage stage;
    begin_with(&stage, PRIORITY);
    passed = 2; // the trial and the first create
    submit_with(&stage, "a", IMPORTANT);
    stage_run(&stage, CLOCK_SECOND);
    assert_non_null(stage_job(&stage, 1, "a"));
    stage_disconnect(&stage, 2);
    submit_with(&stage, "b", IMPORTANT);
    stage_run(&stage, CLOCK_SECOND);
    assert_null(stage_job(&stage, 1, "b"));
    assert_int_equal(stage.sent[1][VERB_DELETE], 1);
    assert_int_equal(stage_told(&stage, "The host deletes the mirror, which may have begun to run"), 1);
    unsigned before = stage.sent[1][VERB_CREATE];
    submit_with(&stage, "c", IMPORTANT);
    stage_run(&stage, CLOCK_SECOND);
    assert_true(stage.sent[1][VERB_CREATE] > before);
    assert_int_equal(stage.sent[1][VERB_DELETE], 1);
    assert_null(stage_job(&stage, 1, "c"));
    stage_end(&stage);
}

static void where_no_field_is_required_the_mirror_runs_without(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, REQUIRE_NONE);
    field = PRIORITY;
    submit_with(&stage, "a", IMPORTANT);
    stage_run(&stage, CLOCK_MINUTE);
    assert_non_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage.sent[1][VERB_CREATE], 1);
    assert_int_equal(stage_told(&stage, "FieldsDropped: cluster w1 does not keep " PRIORITY " of the mirror"), 1);
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
        cmocka_unit_test(a_change_that_its_mirror_cannot_have_is_not_dropped_by_the_worker),
        cmocka_unit_test(where_no_worker_keeps_the_fields_it_waits_and_is_tried_slowly),
        cmocka_unit_test(what_changes_the_scheduling_is_known_by_its_name),
        cmocka_unit_test(combinations_differ_by_fields_and_not_by_values),
        cmocka_unit_test(a_workload_does_not_run_where_a_field_for_its_scheduling_is_dropped),
        cmocka_unit_test(a_job_with_a_gang_runs_where_the_server_has_gangs),
        cmocka_unit_test(each_combination_is_tried_once_until_the_watch_ends),
        cmocka_unit_test(a_worker_that_drops_what_it_kept_before_is_tried_again),
        cmocka_unit_test(where_no_field_is_required_the_mirror_runs_without),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
