// SPDX-License-Identifier: Apache-2.0
// A controller in the management cluster that ignores managedBy runs the workload too: its status is not the mirror's.
#include "tests/unit/engine/stage.h"

static void start_one(struct stage *stage) {
    stage_init(stage);
    stage_start(stage);
    stage_submit(stage, "a", "");
    stage_run(stage, 2 * CLOCK_SECOND);
    stage_runs(stage, 1, "a");
    stage_run(stage, CLOCK_SECOND);
}

static void fails(struct stage *stage, size_t cluster) {
    assert_int_equal(stage_patch(stage, cluster, "a", "status",
                                 "{'status':{'active':0,'ready':0,'failed':1,'conditions':[{'type':'FailureTarget',"
                                 "'status':'True','reason':'x','lastTransitionTime':'2026-03-01T12:00:02Z'},{'type':"
                                 "'Failed','status':'True','reason':'x','lastTransitionTime':"
                                 "'2026-03-01T12:00:02Z'}]}}"),
                     200);
}

static void anothers_final_status_does_not_end_a_running_mirror(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    fails(&stage, 0);
    stage_run(&stage, 60 * CLOCK_MINUTE);
    assert_non_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage_told(&stage, "Finished"), 0);
    assert_int_equal(stage_told(&stage, "AlsoRunHere"), 1);
    assert_int_equal(stage_told(&stage, "client"), 1);
    assert_true(stage.sent[0][VERB_STATUS_PATCH] < 20);
    // A Job's final status cannot be taken back: an Event has the mirror's.
    stage_completes(&stage, 1, "a");
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_told(&stage, "succeeded in w1"), 1);
    assert_non_null(stage_job(&stage, 1, "a"));
    stage_run(&stage, CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    stage_end(&stage);
}

static void it_does_not_end_one_after_a_restart(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    fails(&stage, 0);
    stage_restart(&stage);
    stage_run(&stage, 60 * CLOCK_MINUTE);
    assert_non_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage_told(&stage, "AlsoRunHere"), 1);
    stage_completes(&stage, 1, "a");
    stage_run(&stage, CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    stage_end(&stage);
}

static int nothing_is_read(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->request.verb == VERB_RAW_GET ? 500 : STAGE_PASS;
}

static void it_does_not_end_one_while_its_writer_cannot_be_read(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    stage.meddle = nothing_is_read;
    fails(&stage, 0);
    stage_run(&stage, 60 * CLOCK_MINUTE);
    assert_non_null(stage_job(&stage, 1, "a"));
    assert_in_range(stage.sent[0][VERB_RAW_GET], 2, 40);
    stage.meddle = NULL;
    stage_run(&stage, 10 * CLOCK_MINUTE);
    assert_non_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage_told(&stage, "AlsoRunHere"), 1);
    stage_end(&stage);
}

static void its_mirror_is_deleted_with_its_workload(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    fails(&stage, 0);
    stage_run(&stage, CLOCK_MINUTE);
    stage_delete(&stage, 0, "a");
    stage_run(&stage, CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    stage_end(&stage);
}

// The mirror has what ended it: its deletion in the worker does not run the workload again.
static void its_workload_is_not_placed_again(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    fails(&stage, 0);
    stage_run(&stage, CLOCK_MINUTE);
    stage_delete(&stage, 1, "a");
    stage_run(&stage, 60 * CLOCK_MINUTE);
    assert_int_equal(stage.sent[1][VERB_CREATE] + stage.sent[2][VERB_CREATE], 1);
    stage_end(&stage);
}

// The host's own final status, of a mirror that the worker shows in an earlier state after a restart.
static void a_final_status_of_this_host_ends_the_mirror(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    struct world_copy *copy = world_copy(stage.clusters[1]);
    stage_completes(&stage, 1, "a");
    stage_run(&stage, CLOCK_SECOND);
    assert_true(stage_finished(&stage, "a"));
    assert_int_equal(stage_told(&stage, "Finished: succeeded in w1"), 1);
    world_restore(stage.clusters[1], copy, stage.now.wall_ns);
    world_copy_free(copy);
    stage_restart(&stage);
    stage_run(&stage, CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage_told(&stage, "AlsoRunHere"), 0);
    stage_end(&stage);
}

// Such an attempt runs in vain after a restore: it ends once suspended, without a final mirror.
static void a_status_of_this_host_that_the_watch_shows_before_the_answer_ends_the_mirror(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    struct world_copy *copy = world_copy(stage.clusters[1]);
    assert_int_equal(stage_patch(&stage, 1, "a", "status",
                                 "{'status':{'failed':1,'conditions':[{'type':'FailureTarget','status':'True','reason':"
                                 "'x','lastTransitionTime':'2026-03-01T12:00:02Z'}]}}"),
                     200);
    stage_run(&stage, CLOCK_SECOND);
    stage_back(&stage, 1, copy);
    world_copy_free(copy);
    stage_run(&stage, CLOCK_SECOND);
    stage.latency_ns = 50 * CLOCK_MS;
    assert_int_equal(stage_patch(&stage, 1, "a", "status",
                                 "{'status':{'active':null,'ready':0,'startTime':null,'conditions':[{'type':"
                                 "'Suspended','status':'True','lastTransitionTime':'2026-03-01T12:00:03Z'}]}}"),
                     200);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_told(&stage, "Finished: failed in w1"), 1);
    assert_int_equal(stage.sent[0][VERB_RAW_GET], 0);
    stage_run(&stage, CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    stage_end(&stage);
}

static uint64_t also_run(struct stage *stage) {
    return engine_stats(stage->engine)->kinds[0].also_run;
}

static void another_writer_of_the_status_is_noticed_at_once(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    stage_patch(&stage, 0, "a", "status", "{'status':{'active':5}}");
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_told(&stage, "AlsoRunHere"), 1);
    assert_int_equal(stage_told(&stage, "the writer of the status is client"), 1);
    assert_int_equal(also_run(&stage), 1);
    // Nothing new is placed until it has stopped.
    stage_submit(&stage, "b", "");
    stage_run(&stage, 9 * CLOCK_MINUTE);
    assert_int_equal(stage_where(&stage, "b"), 0);
    assert_int_equal(stage_told(&stage, "Waiting: waiting for more than a minute: a controller in the management"), 1);
    stage_run(&stage, 3 * CLOCK_MINUTE);
    assert_int_not_equal(stage_where(&stage, "b"), 0);
    assert_int_equal(also_run(&stage), 0);
    assert_int_equal(json_int64(pointer_find(stage_job(&stage, 0, "a"), "/status/active"), 0), 1);
    assert_int_equal(stage.sent[0][VERB_RAW_GET], 1);
    stage_end(&stage);
}

static const char *placed_in(struct stage *stage, const char *space, const char *name) {
    return object_annotation(world_object(stage->clusters[0], "batch", "jobs", space, name), MARK_CLUSTER);
}

static void submit_in(struct stage *stage, const char *space, const char *name, const char *spec) {
    AUTO_TEXT text =
        text_format("{'metadata':{'name':'%s','namespace':'%s'},'spec':{%s'managedBy':'wharf.dev/"
                    "host','parallelism':1,'completions':1,"
                    "'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'i'}]}}}}",
                    name, space, spec);
    AUTO_JSON job = harness_json(text);
    assert_int_equal(world_apply(stage->clusters[0], "batch", "jobs", job, stage->now.wall_ns), 201);
    stage_run(stage, CLOCK_SECOND);
}

// An author may write a status, or make a child: that holds up no one else.
static void signs_in_one_namespace_do_not_hold_up_another(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    stage_patch(&stage, 0, "a", "status", "{'status':{'active':5}}");
    stage_run(&stage, CLOCK_SECOND);
    submit_in(&stage, "default", "b", "");
    submit_in(&stage, "kube-public", "c", "");
    assert_null(placed_in(&stage, "default", "b"));
    assert_non_null(placed_in(&stage, "kube-public", "c"));
    // In two of them: it is the controller.
    world_patch(stage.clusters[0], "batch", "jobs", "kube-public", "c", "status", "{\"status\":{\"active\":5}}",
                stage.now.wall_ns);
    stage_run(&stage, CLOCK_SECOND);
    submit_in(&stage, "kube-node-lease", "d", "");
    assert_null(placed_in(&stage, "kube-node-lease", "d"));
    stage_run(&stage, 11 * CLOCK_MINUTE);
    assert_non_null(placed_in(&stage, "default", "b"));
    assert_non_null(placed_in(&stage, "kube-node-lease", "d"));
    stage_end(&stage);
}

static void it_is_permitted_by_the_configuration(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    stage.kind->hybrid = HYBRID_ALLOW;
    stage_patch(&stage, 0, "a", "status", "{'status':{'active':5}}");
    stage_run(&stage, CLOCK_SECOND);
    stage_submit(&stage, "b", "");
    stage_run(&stage, CLOCK_SECOND);
    assert_int_not_equal(stage_where(&stage, "b"), 0);
    assert_int_equal(stage_told(&stage, "AlsoRunHere"), 1);
    stage_end(&stage);
}

static void make_child(struct stage *stage, const char *name, const char *owner) {
    AUTO_TEXT text = text_format(
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\","
        "\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"%s\",\"uid\":\"%s\","
        "\"controller\":true}]},\"spec\":{\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{"
        "\"name\":"
        "\"c\",\"image\":\"i\"}]}}}}",
        name, owner, object_uid(stage_job(stage, 0, owner)));
    AUTO_JSON child = NULL;
    assert_null(json_parse(text, strlen(text), &child));
    assert_int_equal(world_apply(stage->clusters[0], "batch", "jobs", child, stage->now.wall_ns), 201);
}

static void an_object_that_was_made_from_it_is_noticed(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    make_child(&stage, "a-node-0", "a");
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_told(&stage, "AlsoRunHere"), 1);
    assert_int_equal(stage_told(&stage, "it made Job a-node-0"), 1);
    assert_int_equal(also_run(&stage), 1);
    assert_int_equal(stage.sent[0][VERB_RAW_GET], 0);
    stage_delete(&stage, 0, "a");
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(also_run(&stage), 0);
    stage_end(&stage);
}

// It runs before this host has placed it: it is not, unless somebody says so.
static void what_runs_already_is_not_placed(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage_start(&stage);
    stage_disconnect(&stage, 1);
    stage_disconnect(&stage, 2);
    stage_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_SECOND);
    stage_runs(&stage, 0, "a");
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(also_run(&stage), 1);
    stage_restart(&stage);
    stage_run(&stage, 60 * CLOCK_MINUTE);
    assert_int_equal(also_run(&stage), 1);
    assert_int_equal(stage_where(&stage, "a"), 0);
    stage_patch(&stage, 0, "a", NULL, "{'metadata':{'annotations':{'wharf.dev/retry':'now'}}}");
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_not_equal(stage_where(&stage, "a"), 0);
    stage_end(&stage);
}

static int answers_are_lost(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->request.verb == VERB_STATUS_PATCH ? STAGE_UNHEARD : STAGE_PASS;
}

static void this_hosts_own_writes_raise_no_suspicion(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    stage.meddle = answers_are_lost;
    stage_runs(&stage, 1, "a");
    stage_run(&stage, CLOCK_MINUTE);
    stage_patch(&stage, 1, "a", "status", "{'status':{'ready':0}}");
    stage_run(&stage, CLOCK_MINUTE);
    stage.meddle = NULL;
    stage_completes(&stage, 1, "a");
    stage_run(&stage, CLOCK_MINUTE);
    assert_true(stage_finished(&stage, "a"));
    assert_int_equal(stage_told(&stage, "AlsoRunHere"), 0);
    assert_int_equal(stage.sent[0][VERB_RAW_GET], 0);
    stage_end(&stage);
}

static bool is_suspended(struct stage *stage) {
    return json_bool(pointer_find(stage_job(stage, 1, "a"), "/spec/suspend"), false);
}

static int64_t active_here(struct stage *stage) {
    return json_int64(pointer_find(stage_job(stage, 0, "a"), "/status/active"), 0);
}

// hybrid: suspend; a controller in the management cluster runs "a", too.
static void start_yielding(struct stage *stage) {
    start_one(stage);
    stage->kind->hybrid = HYBRID_SUSPEND;
    stage_patch(stage, 0, "a", "status", "{'status':{'active':5}}");
    stage_run(stage, CLOCK_SECOND);
    assert_true(is_suspended(stage));
    assert_int_equal(stage_told(stage, "the host suspends the mirror"), 1);
    assert_int_equal(stage_told(stage, "SuspendedInWorker"), 0);
    // The mirror's controller follows.
    stage_patch(stage, 1, "a", "status",
                "{'status':{'active':0,'ready':0,'conditions':[{'type':'Suspended','status':'True'}]}}");
    stage_run(stage, 60 * CLOCK_MINUTE);
    assert_true(is_suspended(stage));
    assert_int_equal(active_here(stage), 5);
}

static void it_keeps_a_workload_that_the_host_yields(void **state) {
    (void)state;
    struct stage stage;
    start_yielding(&stage);
    stage_patch(&stage, 0, "a", "status", "{'status':{'active':4}}");
    stage_run(&stage, CLOCK_SECOND);
    stage_submit(&stage, "b", "");
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage_where(&stage, "b"), 0);
    fails(&stage, 0);
    stage_run(&stage, CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage_told(&stage, "finished in the management cluster"), 1);
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    assert_int_equal(stage.sent[1][VERB_CREATE] + stage.sent[2][VERB_CREATE], 1);
    stage_end(&stage);
}

static void a_restarted_host_still_yields_it(void **state) {
    (void)state;
    struct stage stage;
    start_yielding(&stage);
    unsigned patches = stage.sent[1][VERB_MERGE_PATCH];
    stage_restart(&stage);
    stage_run(&stage, 60 * CLOCK_MINUTE);
    assert_true(is_suspended(&stage));
    assert_int_equal(active_here(&stage), 5);
    assert_int_equal(stage.sent[1][VERB_MERGE_PATCH], patches);
    stage_end(&stage);
}

static void a_retry_resumes_a_yielded_mirror(void **state) {
    (void)state;
    struct stage stage;
    start_yielding(&stage);
    stage_patch(&stage, 0, "a", NULL, "{'metadata':{'annotations':{'wharf.dev/retry':'now'}}}");
    stage_run(&stage, CLOCK_MINUTE);
    assert_false(is_suspended(&stage));
    stage_runs(&stage, 1, "a");
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(active_here(&stage), 1);
    stage_completes(&stage, 1, "a");
    stage_run(&stage, CLOCK_MINUTE);
    assert_true(stage_finished(&stage, "a"));
    stage_end(&stage);
}

// A final status is the first sign: the mirror goes on until it is suspended.
static void a_final_status_ends_a_mirror_that_yields(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    stage.kind->hybrid = HYBRID_SUSPEND;
    fails(&stage, 0);
    stage_run(&stage, CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage_told(&stage, "finished in the management cluster"), 1);
    stage_end(&stage);
}

static int suspensions_get_lost(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->cluster == 1 && command->request.verb == VERB_MERGE_PATCH ? STAGE_LOST : STAGE_PASS;
}

// The mirror finishes before the host has suspended the mirror.
static void a_mirror_that_finishes_while_the_host_yields_is_deleted(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    stage.kind->hybrid = HYBRID_SUSPEND;
    stage.meddle = suspensions_get_lost;
    fails(&stage, 0);
    stage_run(&stage, CLOCK_SECOND);
    stage_completes(&stage, 1, "a");
    stage_run(&stage, CLOCK_SECOND);
    stage.meddle = NULL;
    stage_run(&stage, CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage_told(&stage, "the host deletes the finished mirror"), 1);
    stage_end(&stage);
}

static void holds(struct stage *stage, int64_t for_ns) {
    int64_t until_ns = stage->now.mono_ns + for_ns;
    stage_step(stage, &(struct engine_event){.type = EVENT_LEASE, .lease = {0, until_ns, 1}});
}

static void the_workload_ends_before_the_worker_is_listed(struct stage *stage, size_t cluster) {
    if (cluster != ENGINE_MANAGEMENT)
        return;
    stage_completes(stage, 1, "a");
    fails(stage, 0);
    stage_run(stage, CLOCK_SECOND);
}

// A host that stands by asks nobody whether the workload also runs here.
static void a_mirror_that_ends_before_the_host_takes_over_is_deleted(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    stage.kind->hybrid = HYBRID_SUSPEND;
    stage.options.shards = 1;
    stage.linked = the_workload_ends_before_the_worker_is_listed;
    stage_restart(&stage);
    holds(&stage, 120 * CLOCK_MINUTE);
    stage_run(&stage, 60 * CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    stage_end(&stage);
}

static void start_doubted(struct stage *stage) {
    stage_init(stage);
    stage->kind->doubted_until = "";
    stage_start(stage);
    stage_run(stage, CLOCK_MINUTE);
    stage_submit(stage, "a", "");
    stage_run(stage, 9 * CLOCK_SECOND);
    assert_int_equal(stage_where(stage, "a"), 0);
}

static void the_first_workload_waits_for_signs(void **state) {
    (void)state;
    struct stage stage;
    start_doubted(&stage);
    stage_run(&stage, 2 * CLOCK_SECOND);
    assert_int_not_equal(stage_where(&stage, "a"), 0);
    stage_submit(&stage, "b", "");
    stage_run(&stage, CLOCK_SECOND);
    assert_int_not_equal(stage_where(&stage, "b"), 0);
    assert_int_equal(stage.sent[0][VERB_RAW_GET], 0);
    stage_end(&stage);
}

static void a_sign_before_the_first_placement_prevents_it(void **state) {
    (void)state;
    struct stage stage;
    start_doubted(&stage);
    stage_patch(&stage, 0, "a", "status", "{'status':{'active':1}}");
    stage_run(&stage, 60 * CLOCK_MINUTE);
    assert_int_equal(stage_where(&stage, "a"), 0);
    assert_int_equal(stage_told(&stage, "the writer of the status is client"), 1);
    stage_end(&stage);
}

static void a_suspended_workload_shows_no_signs(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage.kind->doubted_until = "";
    stage_start(&stage);
    submit_in(&stage, "default", "a", "'suspend':true,");
    stage_run(&stage, CLOCK_MINUTE);
    stage_patch(&stage, 0, "a", NULL, "{'spec':{'suspend':false}}");
    stage_run(&stage, 9 * CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 0);
    stage_run(&stage, 2 * CLOCK_SECOND);
    assert_int_not_equal(stage_where(&stage, "a"), 0);
    stage_end(&stage);
}

static void begin_with_pods(struct stage *stage) {
    stage_init(stage);
    assert_true(kind_set_owned(stage->kind, "v1/pods"));
    stage_start(stage);
    stage_submit(stage, "a", "");
    stage_run(stage, 9 * CLOCK_SECOND);
    assert_int_equal(stage_where(stage, "a"), 0);
    assert_int_equal(stage->sent[0][VERB_RAW_GET], 0);
}

static void make_pod(struct stage *stage, const char *owner) {
    AUTO_TEXT text = text_format(
        "{'metadata':{'name':'%s-x7','namespace':'default','ownerReferences':[{'apiVersion':'batch/v1','kind':'Job',"
        "'name':'%s','uid':'%s','controller':true}]},'spec':{'containers':[{'name':'c','image':'i'}]}}",
        owner, owner, object_uid(stage_job(stage, 0, owner)));
    AUTO_JSON pod = harness_json(text);
    assert_int_equal(world_apply(stage->clusters[0], "", "pods", pod, stage->now.wall_ns), 201);
}

static void a_pod_prevents_the_first_placement(void **state) {
    (void)state;
    struct stage stage;
    begin_with_pods(&stage);
    make_pod(&stage, "a");
    stage_run(&stage, 60 * CLOCK_MINUTE);
    assert_int_equal(stage_where(&stage, "a"), 0);
    assert_int_equal(stage_told(&stage, "it made pods a-x7"), 1);
    assert_int_equal(stage.sent[0][VERB_RAW_GET], 1);
    stage_end(&stage);
}

static void pods_are_listed_once(void **state) {
    (void)state;
    struct stage stage;
    begin_with_pods(&stage);
    stage_run(&stage, 2 * CLOCK_SECOND);
    assert_int_not_equal(stage_where(&stage, "a"), 0);
    stage_submit(&stage, "b", "");
    stage_run(&stage, CLOCK_SECOND);
    assert_int_not_equal(stage_where(&stage, "b"), 0);
    assert_int_equal(stage.sent[0][VERB_RAW_GET], 1);
    stage_end(&stage);
}

static int answer_to_lists;

static int meddle_with_lists(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->request.verb == VERB_RAW_GET ? answer_to_lists : STAGE_PASS;
}

static void pods_that_cannot_be_listed_delay_nothing_for_long(void **state) {
    (void)state;
    struct stage stage;
    begin_with_pods(&stage);
    stage.meddle = meddle_with_lists;
    answer_to_lists = 503;
    stage_run(&stage, 10 * CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 0);
    assert_true(stage.sent[0][VERB_RAW_GET] < 15);
    answer_to_lists = 403;
    unsigned warnings = stage.warnings;
    stage_run(&stage, 2 * CLOCK_SECOND);
    assert_int_equal(stage.warnings, warnings + 1);
    assert_int_not_equal(stage_where(&stage, "a"), 0);
    stage_end(&stage);
}

static void a_later_api_ends_the_wait(void **state) {
    (void)state;
    struct stage stage;
    start_doubted(&stage);
    stage_step(&stage, &(struct engine_event){.type = EVENT_FIELD, .field.settled = true});
    stage_run(&stage, CLOCK_SECOND / 2);
    assert_int_not_equal(stage_where(&stage, "a"), 0);
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(anothers_final_status_does_not_end_a_running_mirror),
        cmocka_unit_test(it_does_not_end_one_after_a_restart),
        cmocka_unit_test(it_does_not_end_one_while_its_writer_cannot_be_read),
        cmocka_unit_test(its_mirror_is_deleted_with_its_workload),
        cmocka_unit_test(its_workload_is_not_placed_again),
        cmocka_unit_test(a_final_status_of_this_host_ends_the_mirror),
        cmocka_unit_test(a_status_of_this_host_that_the_watch_shows_before_the_answer_ends_the_mirror),
        cmocka_unit_test(another_writer_of_the_status_is_noticed_at_once),
        cmocka_unit_test(signs_in_one_namespace_do_not_hold_up_another),
        cmocka_unit_test(it_is_permitted_by_the_configuration),
        cmocka_unit_test(an_object_that_was_made_from_it_is_noticed),
        cmocka_unit_test(what_runs_already_is_not_placed),
        cmocka_unit_test(this_hosts_own_writes_raise_no_suspicion),
        cmocka_unit_test(it_keeps_a_workload_that_the_host_yields),
        cmocka_unit_test(a_restarted_host_still_yields_it),
        cmocka_unit_test(a_mirror_that_ends_before_the_host_takes_over_is_deleted),
        cmocka_unit_test(a_retry_resumes_a_yielded_mirror),
        cmocka_unit_test(a_final_status_ends_a_mirror_that_yields),
        cmocka_unit_test(a_mirror_that_finishes_while_the_host_yields_is_deleted),
        cmocka_unit_test(the_first_workload_waits_for_signs),
        cmocka_unit_test(a_sign_before_the_first_placement_prevents_it),
        cmocka_unit_test(a_suspended_workload_shows_no_signs),
        cmocka_unit_test(a_later_api_ends_the_wait),
        cmocka_unit_test(a_pod_prevents_the_first_placement),
        cmocka_unit_test(pods_are_listed_once),
        cmocka_unit_test(pods_that_cannot_be_listed_delay_nothing_for_long),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
