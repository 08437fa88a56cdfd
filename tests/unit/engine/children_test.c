// SPDX-License-Identifier: Apache-2.0
// The progress of a mirror's children: core/engine/continuity/children.c.
#include "tests/unit/engine/children_play.h"

#define KEPT                                                                                                           \
    "\"children\":{\"jobs\":{\"a-w-0\":{\"status\":{\"completedIndexes\":\"0-2\",\"succeeded\":3}},"                   \
    "\"a-w-1\":{\"status\":{\"completedIndexes\":\"1\",\"succeeded\":1}}}}}"

// Rule P2: the host changes Jobs of a suspended mirror only.
static void check_order(struct stage *stage, size_t cluster, const struct world_write *write) {
    if (!stage->user && !write->internal && strcmp(write->plural, "jobs") == 0)
        assert_true(play_is_suspended(stage, cluster));
}

static void a_moved_jobset_goes_on_where_its_jobs_were(void **state) {
    (void)state;
    struct stage stage;
    play_begin(&stage, "");
    stage.other = check_order;
    assert_int_equal(stage.sent[1][VERB_RAW_GET], 0);
    unsigned patches = stage.sent[0][VERB_MERGE_PATCH];
    play_does(&stage, 1, "a-w-0", 3, "0-2");
    play_does(&stage, 1, "a-w-1", 1, "1");
    play_policy(&stage, 1, WORKER_DRAIN_MOVE);
    stage_run(&stage, 5 * CLOCK_SECOND);
    assert_int_equal(stage.sent[1][VERB_RAW_GET], 1);
    assert_int_equal(stage.sent[0][VERB_MERGE_PATCH] - patches, 2); // what is kept, and the placement
    assert_non_null(strstr(play_text(&stage, 0, PROGRESS_AT), KEPT));
    // The new mirror waits for its Jobs.
    assert_null(stage_job(&stage, 1, "a"));
    assert_string_equal(play_text(&stage, 2, PROGRESS_AT), "owed");
    assert_true(play_is_suspended(&stage, 2));
    assert_int_equal(stage.sent[2][VERB_RAW_GET], 0);
    play_make_all(&stage, 2);
    play_assert_given(&stage, 2);
    assert_string_equal(play_job_text(&stage, 2, "a-w-0", "/status/completedIndexes"), "0-2");
    assert_string_equal(play_job_text(&stage, 2, "a-w-1", "/status/completedIndexes"), "1");
    assert_int_equal(json_size(json_get(play_job(&stage, 2, "a-d-0"), "status")), 0);
    assert_int_equal(stage.sent[2][VERB_RAW_GET], 1);
    assert_int_equal(stage.sent[2][VERB_STATUS_PATCH], 2);
    assert_int_equal(stage.sent[2][VERB_MERGE_PATCH], 1);
    assert_int_equal(stage_told(&stage, "ProgressRefused"), 0);
    stage_end(&stage);
}

static void the_next_move_keeps_more(void **state) {
    (void)state;
    struct stage stage;
    play_move(&stage, "");
    play_make_all(&stage, 2);
    play_does(&stage, 2, "a-w-1", 2, "1,3");
    play_policy(&stage, 1, WORKER_ACTIVE);
    play_policy(&stage, 2, WORKER_DRAIN_MOVE);
    stage_run(&stage, 5 * CLOCK_SECOND);
    assert_int_equal(stage_attempt(&stage, "a"), 3);
    play_make_all(&stage, 1);
    play_assert_given(&stage, 1);
    assert_string_equal(play_job_text(&stage, 1, "a-w-0", "/status/completedIndexes"), "0-2");
    assert_string_equal(play_job_text(&stage, 1, "a-w-1", "/status/completedIndexes"), "1,3");
    stage_end(&stage);
}

// What was kept at the move counts after the loss of the next worker, too.
static void a_lost_worker_leaves_what_was_kept_and_what_the_status_says(void **state) {
    (void)state;
    struct stage stage;
    play_move(&stage, "");
    play_make_all(&stage, 2);
    play_does(&stage, 2, "a-d-0", 4, "0-3");
    play_does(&stage, 2, "a-w-1", 2, "1,2");
    play_status(&stage, 2, "'restarts':0,'replicatedJobsStatus':[" COUNTS("w", 0, 0, 0) "," COUNTS("d", 0, 1, 0) "]");
    play_policy(&stage, 1, WORKER_ACTIVE);
    stage_disconnect(&stage, 2);
    stage_contact(&stage, 2, CONTACT_LOST);
    stage_run(&stage, 6 * CLOCK_MINUTE);
    assert_int_equal(stage_attempt(&stage, "a"), 3);
    assert_string_equal(play_text(&stage, 1, PROGRESS_AT), "owed");
    play_make_all(&stage, 1);
    play_assert_given(&stage, 1);
    assert_string_equal(play_job_text(&stage, 1, "a-w-0", "/status/completedIndexes"), "0-2");
    assert_string_equal(play_job_text(&stage, 1, "a-w-1", "/status/completedIndexes"), "1");
    assert_string_equal(play_job_text(&stage, 1, "a-d-0", "/status/completedIndexes"), "0-3");
    stage_end(&stage);
}

static void lose_first(struct stage *stage, const char *status) {
    play_begin(stage, "");
    play_does(stage, 1, "a-w-0", 3, "0-2");
    play_status(stage, 1, status);
    stage_disconnect(stage, 1);
    stage_contact(stage, 1, CONTACT_LOST);
    stage_run(stage, 6 * CLOCK_MINUTE);
    assert_int_equal(stage_attempt(stage, "a"), 2);
}

static void progress_that_no_status_tells_is_not_given(void **state) {
    (void)state;
    struct stage stage;
    lose_first(&stage, IDLE);
    assert_false(play_is_suspended(&stage, 2));
    assert_string_equal(play_text(&stage, 2, PROGRESS_AT), "");
    assert_int_equal(stage.sent[2][VERB_RAW_GET], 0);
    stage_end(&stage);
}

// The status that tells the restart still counts the Jobs before it.
static void jobs_before_a_restart_are_not_given(void **state) {
    (void)state;
    struct stage stage;
    lose_first(&stage, "'restarts':1,'replicatedJobsStatus':[" COUNTS("w", 0, 0, 1) "," COUNTS("d", 0, 1, 0) "]");
    assert_false(play_is_suspended(&stage, 2));
    stage_end(&stage);
    // What was kept in the first attempt is void after a restart in the second one, also for the fourth.
    play_move(&stage, "");
    play_make_all(&stage, 2);
    play_status(&stage, 2, "'restarts':1,'replicatedJobsStatus':[" COUNTS("w", 0, 0, 0) "," COUNTS("d", 0, 0, 0) "]");
    for (size_t lost = 2; lost > 0; lost--) {
        play_policy(&stage, 1, WORKER_ACTIVE);
        stage_connect(&stage, 3 - lost);
        stage_contact(&stage, 3 - lost, CONTACT_GOOD);
        stage_disconnect(&stage, lost);
        stage_contact(&stage, lost, CONTACT_LOST);
        stage_run(&stage, 6 * CLOCK_MINUTE);
        assert_int_equal(stage_attempt(&stage, "a"), 5 - lost);
        assert_string_equal(play_text(&stage, 3 - lost, PROGRESS_AT), "");
        assert_false(play_is_suspended(&stage, 3 - lost));
        play_status(&stage, 3 - lost, IDLE);
        assert_int_equal(json_int64(pointer_find(stage_job(&stage, 0, "a"), "/status/restarts"), 0), 1);
    }
    stage_end(&stage);
}

static void jobs_of_an_earlier_restart_are_not_kept(void **state) {
    (void)state;
    struct stage stage;
    play_begin(&stage, "");
    play_does(&stage, 1, "a-w-0", 3, "0-2");
    play_status(&stage, 1, "'restarts':1,'replicatedJobsStatus':[" COUNTS("w", 0, 0, 0) "," COUNTS("d", 0, 0, 0) "]");
    play_policy(&stage, 1, WORKER_DRAIN_MOVE);
    stage_run(&stage, 5 * CLOCK_SECOND);
    assert_string_equal(play_text(&stage, 0, PROGRESS_AT), "");
    assert_false(play_is_suspended(&stage, 2));
    stage_end(&stage);
}

static void it_is_off_by_an_annotation(void **state) {
    (void)state;
    struct stage stage;
    play_move(&stage, "'wharf.dev/continue':'false'");
    assert_int_equal(stage.sent[1][VERB_RAW_GET], 0);
    assert_string_equal(play_text(&stage, 0, PROGRESS_AT), "");
    assert_non_null(stage_job(&stage, 2, "a"));
    assert_false(play_is_suspended(&stage, 2));
    stage_end(&stage);
}

// A copy of the workload, with its annotations, is another workload.
static void what_another_workload_has_kept_is_not_given(void **state) {
    (void)state;
    struct stage stage;
    play_begin(&stage, "'wharf.dev/progress':'{\\\"uid\\\":\\\"u\\\","
                       "\\\"children\\\":{\\\"jobs\\\":{\\\"a-w-0\\\":{\\\"status\\\":{\\\"succeeded\\\":4,"
                       "\\\"completedIndexes\\\":\\\"0-3\\\"}}}}}'");
    stage_disconnect(&stage, 1);
    stage_contact(&stage, 1, CONTACT_LOST);
    stage_run(&stage, 6 * CLOCK_MINUTE);
    assert_int_equal(stage_attempt(&stage, "a"), 2);
    assert_false(play_is_suspended(&stage, 2));
    stage_end(&stage);
}

// Requests --------------------------------------------------------------------------------------------------------

struct fault {
    enum verb verb;
    size_t cluster;
    const char *plural; // of the request; NULL: any
    int answer;
    unsigned times, seen;
};

static int meddle(struct stage *stage, const struct command *command) {
    struct fault *fault = stage->ctx;
    const struct request *request = &command->request;
    bool is = request->verb == fault->verb && command->cluster == fault->cluster &&
              (!fault->plural || text_equal(request->resource.plural, fault->plural));
    if (!is || fault->seen >= fault->times)
        return STAGE_PASS;
    fault->seen++;
    return fault->answer;
}

static void a_refusal_is_told_once_and_the_attempt_runs(void **state) {
    (void)state;
    static const int answers[] = {403, 422};
    for (size_t i = 0; i < 2; i++) {
        struct stage stage;
        struct fault fault = {VERB_STATUS_PATCH, 2, "jobs", answers[i], UINT_MAX, 0};
        play_move(&stage, "");
        stage.ctx = &fault;
        stage.meddle = meddle;
        play_make_all(&stage, 2);
        assert_string_equal(play_text(&stage, 2, PROGRESS_AT), "refused");
        assert_false(play_is_suspended(&stage, 2));
        stage_run(&stage, CLOCK_MINUTE);
        assert_int_equal(fault.seen, 1);
        assert_int_equal(stage_told(&stage, "ProgressRefused"), 1);
        stage_end(&stage);
    }
}

// A policy of the worker.
static int reset(void *ctx, enum world_verb verb, const char *plural, struct json *object, char message[256]) {
    (void)ctx, (void)verb, (void)message;
    if (strcmp(plural, "jobs") == 0)
        json_remove(object, "status");
    return 0;
}

static void a_status_that_does_not_stay_is_told_once(void **state) {
    (void)state;
    struct stage stage;
    play_move(&stage, "");
    world_set_admission(stage.clusters[2], reset, NULL);
    play_make_all(&stage, 2);
    stage_run(&stage, CLOCK_MINUTE);
    assert_string_equal(play_text(&stage, 2, PROGRESS_AT), "refused");
    assert_false(play_is_suspended(&stage, 2));
    assert_int_equal(stage.sent[2][VERB_STATUS_PATCH], 2);
    assert_int_equal(stage_told(&stage, "does not keep it"), 1);
    stage_end(&stage);
}

static void a_list_that_is_refused_does_not_stop_the_move(void **state) {
    (void)state;
    struct stage stage;
    struct fault fault = {VERB_RAW_GET, 1, NULL, 403, UINT_MAX, 0};
    play_begin(&stage, "");
    play_does(&stage, 1, "a-w-0", 3, "0-2");
    stage.ctx = &fault;
    stage.meddle = meddle;
    play_policy(&stage, 1, WORKER_DRAIN_MOVE);
    stage_run(&stage, 5 * CLOCK_SECOND);
    assert_int_equal(fault.seen, 1);
    assert_int_equal(stage_told(&stage, "ProgressRefused"), 1);
    assert_non_null(stage_job(&stage, 2, "a"));
    assert_false(play_is_suspended(&stage, 2));
    stage_end(&stage);
}

// A policy of the management cluster.
static int strip(void *ctx, enum world_verb verb, const char *plural, struct json *object, char message[256]) {
    (void)ctx, (void)verb, (void)plural, (void)message;
    pointer_remove(object, PROGRESS_AT);
    return 0;
}

static void an_annotation_that_is_stripped_does_not_stop_the_move(void **state) {
    (void)state;
    struct stage stage;
    play_begin(&stage, "");
    play_does(&stage, 1, "a-w-0", 3, "0-2");
    world_set_admission(stage.clusters[0], strip, NULL);
    unsigned patches = stage.sent[0][VERB_MERGE_PATCH];
    play_policy(&stage, 1, WORKER_DRAIN_MOVE);
    stage_run(&stage, 5 * CLOCK_SECOND);
    assert_int_equal(stage.sent[0][VERB_MERGE_PATCH] - patches, 2); // the annotation, and the placement
    assert_non_null(stage_job(&stage, 2, "a"));
    assert_false(play_is_suspended(&stage, 2));
    stage_end(&stage);
}

// The Jobs go on while the deletion has to wait, and their JobSet does not change.
static void the_last_list_before_the_move_counts(void **state) {
    (void)state;
    struct stage stage;
    struct fault fault = {VERB_DELETE, 1, NULL, 500, 8, 0};
    play_begin(&stage, "");
    play_does(&stage, 1, "a-w-0", 1, "0");
    stage.ctx = &fault;
    stage.meddle = meddle;
    play_policy(&stage, 1, WORKER_DRAIN_MOVE);
    for (int done = 2; stage_job(&stage, 1, "a") && done < 4; done++) {
        AUTO_TEXT indexes = text_format("0-%d", done - 1);
        stage_run(&stage, 5 * CLOCK_SECOND);
        play_does(&stage, 1, "a-w-0", done, indexes);
    }
    stage_run(&stage, 2 * CLOCK_MINUTE);
    assert_int_equal(fault.seen, 8);
    assert_non_null(strstr(play_text(&stage, 0, PROGRESS_AT), "0-2"));
    stage_end(&stage);
}

// A mirror that changes all the time moves nevertheless.
static int change(struct stage *stage, const struct command *command) {
    static unsigned round;
    if (command->cluster == 1 && command->request.verb == VERB_RAW_GET && stage_job(stage, 1, "a")) {
        AUTO_TEXT status = text_format("{'status':{'restartsCountTowardsMax':%u}}", ++round);
        assert_int_equal(stage_patch(stage, 1, "a", "status", status), 200);
    }
    return STAGE_PASS;
}

static void a_mirror_that_always_changes_moves(void **state) {
    (void)state;
    struct stage stage;
    play_begin(&stage, "");
    play_does(&stage, 1, "a-w-0", 3, "0-2");
    stage.meddle = change;
    play_policy(&stage, 1, WORKER_DRAIN_MOVE);
    stage_run(&stage, 10 * CLOCK_SECOND);
    assert_null(stage_job(&stage, 1, "a"));
    assert_non_null(strstr(play_text(&stage, 0, PROGRESS_AT), "0-2"));
    assert_in_range(stage.sent[1][VERB_RAW_GET], 2, 4);
    stage_end(&stage);
}

static void lost_answers_are_repeated(void **state) {
    (void)state;
    static const struct fault faults[] = {
        {VERB_RAW_GET, 1, NULL, STAGE_LOST, 1, 0},
        {VERB_RAW_GET, 1, NULL, 500, 2, 0},
        {VERB_MERGE_PATCH, 0, "jobsets", STAGE_LOST, 1, 0},
        {VERB_MERGE_PATCH, 0, "jobsets", STAGE_UNHEARD, 1, 0},
        {VERB_MERGE_PATCH, 0, "jobsets", 409, 1, 0},
        {VERB_DELETE, 1, NULL, STAGE_UNHEARD, 1, 0},
        {VERB_DELETE, 1, NULL, 409, 1, 0},
        {VERB_RAW_GET, 2, NULL, STAGE_LOST, 1, 0},
        {VERB_STATUS_PATCH, 2, "jobs", STAGE_LOST, 1, 0},
        {VERB_STATUS_PATCH, 2, "jobs", STAGE_UNHEARD, 1, 0},
        {VERB_STATUS_PATCH, 2, "jobs", 409, 1, 0},
        {VERB_STATUS_PATCH, 2, "jobs", 500, 1, 0},
        {VERB_MERGE_PATCH, 2, "jobsets", STAGE_LOST, 1, 0},
        {VERB_MERGE_PATCH, 2, "jobsets", STAGE_UNHEARD, 1, 0},
        {VERB_CREATE, 2, "jobsets", STAGE_UNHEARD, 1, 0},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct stage stage;
        struct fault fault = faults[i];
        play_begin(&stage, "");
        play_does(&stage, 1, "a-w-0", 3, "0-2");
        stage.ctx = &fault;
        stage.meddle = meddle;
        play_policy(&stage, 1, WORKER_DRAIN_MOVE);
        stage_run(&stage, 2 * CLOCK_MINUTE);
        play_make_all(&stage, 2);
        stage_run(&stage, 2 * CLOCK_MINUTE);
        assert_int_equal(fault.seen, fault.times);
        play_assert_given(&stage, 2);
        assert_string_equal(play_job_text(&stage, 2, "a-w-0", "/status/completedIndexes"), "0-2");
        assert_int_equal(stage_attempt(&stage, "a"), 2);
        assert_int_equal(stage_told(&stage, "ProgressRefused"), 0);
        stage_end(&stage);
    }
}

// A host that ends after any of the steps: the next one goes on.
static void a_restarted_host_goes_on(void **state) {
    (void)state;
    for (int64_t ms = 1; ms < 40; ms++) {
        struct stage stage;
        play_begin(&stage, "");
        play_does(&stage, 1, "a-w-0", 3, "0-2");
        play_does(&stage, 1, "a-w-1", 1, "1");
        play_policy(&stage, 1, WORKER_DRAIN_MOVE);
        stage_run(&stage, ms * CLOCK_MS);
        stage_restart(&stage);
        play_policy(&stage, 1, WORKER_DRAIN_MOVE);
        stage_run(&stage, CLOCK_MINUTE);
        assert_non_null(stage_job(&stage, 2, "a"));
        stage_run(&stage, ms * CLOCK_MS);
        play_make_job(&stage, 2, "w", 0, 0);
        play_make_job(&stage, 2, "w", 1, 0);
        play_make_job(&stage, 2, "d", 0, 0);
        assert_int_equal(stage_patch(&stage, 2, "a", "status", "{'status':{" IDLE "}}"), 200);
        stage_run(&stage, ms * CLOCK_MS);
        stage_restart(&stage);
        play_policy(&stage, 1, WORKER_DRAIN_MOVE);
        stage_run(&stage, CLOCK_MINUTE);
        play_assert_given(&stage, 2);
        assert_int_equal(stage_attempt(&stage, "a"), 2);
        assert_string_equal(play_job_text(&stage, 2, "a-w-0", "/status/completedIndexes"), "0-2");
        assert_string_equal(play_job_text(&stage, 2, "a-w-1", "/status/completedIndexes"), "1");
        stage_end(&stage);
    }
}

// Children that depend on others come after these.
static void later_children_are_waited_for(void **state) {
    (void)state;
    for (int made = 0; made < 2; made++) {
        struct stage stage;
        play_move(&stage, "");
        play_make_job(&stage, 2, "w", 0, 0);
        play_status(&stage, 2, IDLE);
        assert_true(play_is_suspended(&stage, 2));
        assert_string_equal(play_job_text(&stage, 2, "a-w-0", "/status/completedIndexes"), "0-2");
        if (made)
            play_make_job(&stage, 2, "w", 1, 0);
        stage_run(&stage, 10 * CLOCK_SECOND);
        play_assert_given(&stage, 2);
        assert_string_equal(play_job_text(&stage, 2, "a-w-1", "/status/completedIndexes"), made ? "1" : "");
        stage_end(&stage);
    }
}

// The garbage collector may be slow: Jobs of another mirror of the same name are nobody's.
static void only_children_of_the_mirror_count(void **state) {
    (void)state;
    struct stage stage;
    play_move(&stage, "");
    play_make_job(&stage, 2, "w", 0, 0);
    AUTO_TEXT text = text_format("{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"jobset.x-k8s.io/v1alpha2\","
                                 "\"kind\":\"JobSet\",\"name\":\"a\",\"uid\":\"%s\",\"controller\":true}]}}",
                                 object_uid(world_object(stage.clusters[2], "", "namespaces", "", "default")));
    stage.user = true;
    assert_int_equal(world_patch(stage.clusters[2], "batch", "jobs", "default", "a-w-0", NULL, text, stage.now.wall_ns),
                     200);
    stage.user = false;
    play_status(&stage, 2, IDLE);
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage.sent[2][VERB_STATUS_PATCH], 0);
    stage_end(&stage);
}

// Rule P2: children that may have run get nothing.
static void a_mirror_that_another_writer_resumes_starts_from_nothing(void **state) {
    (void)state;
    struct stage stage;
    play_move(&stage, "");
    assert_int_equal(stage_patch(&stage, 2, "a", NULL, "{'spec':{'suspend':false}}"), 200);
    play_make_all(&stage, 2);
    assert_string_equal(play_text(&stage, 2, PROGRESS_AT), "refused");
    assert_int_equal(stage.sent[2][VERB_STATUS_PATCH], 0);
    assert_int_equal(stage_told(&stage, "ProgressRefused"), 1);
    stage_end(&stage);
}

static void one_attempt_costs_nothing(void **state) {
    (void)state;
    struct stage stage;
    play_begin(&stage, "");
    play_status(&stage, 1,
                "'restarts':0,'terminalState':'Completed','replicatedJobsStatus':[" COUNTS("w", 0, 2, 0) "," COUNTS(
                    "d", 0, 1, 0) "],'conditions':[" CONDITION("Completed") "]");
    stage_run(&stage, CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage.sent[1][VERB_RAW_GET], 0);
    assert_int_equal(stage.sent[0][VERB_MERGE_PATCH], 1);
    assert_int_equal(stage.sent[1][VERB_MERGE_PATCH], 0);
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_moved_jobset_goes_on_where_its_jobs_were),
        cmocka_unit_test(the_next_move_keeps_more),
        cmocka_unit_test(a_lost_worker_leaves_what_was_kept_and_what_the_status_says),
        cmocka_unit_test(progress_that_no_status_tells_is_not_given),
        cmocka_unit_test(jobs_before_a_restart_are_not_given),
        cmocka_unit_test(jobs_of_an_earlier_restart_are_not_kept),
        cmocka_unit_test(it_is_off_by_an_annotation),
        cmocka_unit_test(what_another_workload_has_kept_is_not_given),
        cmocka_unit_test(a_refusal_is_told_once_and_the_attempt_runs),
        cmocka_unit_test(a_status_that_does_not_stay_is_told_once),
        cmocka_unit_test(a_list_that_is_refused_does_not_stop_the_move),
        cmocka_unit_test(an_annotation_that_is_stripped_does_not_stop_the_move),
        cmocka_unit_test(the_last_list_before_the_move_counts),
        cmocka_unit_test(a_mirror_that_always_changes_moves),
        cmocka_unit_test(lost_answers_are_repeated),
        cmocka_unit_test(a_restarted_host_goes_on),
        cmocka_unit_test(later_children_are_waited_for),
        cmocka_unit_test(only_children_of_the_mirror_count),
        cmocka_unit_test(a_mirror_that_another_writer_resumes_starts_from_nothing),
        cmocka_unit_test(one_attempt_costs_nothing),
    };
    return cmocka_run_group_tests(tests, play_load, play_unload);
}
