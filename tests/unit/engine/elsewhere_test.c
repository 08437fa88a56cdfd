// SPDX-License-Identifier: Apache-2.0
// placement.retryElsewhere: failures of a worker run elsewhere, a bounded number of times; workers in which many
// workloads fail.
#include "tests/unit/engine/stage.h"

#include "core/engine/elsewhere/elsewhere.h"
#include "core/engine/history/inspect.h"

#include <string.h>

#define IMAGE "ErrImagePull\t\tpod a-x: not found\n"
#define USER "Error\t1\tpod a-x: container c ended with exit code 1\n"

static unsigned both;      // times at which two mirrors existed
static unsigned questions; // of the engine
static bool about_start;   // the last one
static size_t asked_in;
static bool keeps; // w1 deletes nothing

static void count_mirrors(struct stage *stage, size_t cluster, const struct world_write *write) {
    (void)cluster;
    (void)write;
    both += stage_job(stage, 1, "a") && stage_job(stage, 2, "a");
}

static void note_question(struct stage *stage, const struct pod_question *question) {
    (void)stage;
    assert_string_equal(question->namespace_, "default");
    questions++;
    about_start = question->stuck;
    asked_in = question->cluster;
}

static int meddle(struct stage *stage, const struct command *command) {
    (void)stage;
    return keeps && command->cluster == 1 && command->request.verb == VERB_DELETE ? 503 : STAGE_PASS;
}

static void fails_for(struct stage *stage, size_t cluster, const char *name, const char *reason) {
    AUTO_TEXT patch = text_format(
        "{'status':{'active':0,'ready':0,'failed':1,'startTime':'2026-03-01T12:00:01Z','conditions':["
        "{'type':'FailureTarget','status':'True','reason':'%s','message':'m','lastTransitionTime':'2026-03-01T12:00:"
        "02Z'},"
        "{'type':'Failed','status':'True','reason':'%s','message':'m','lastTransitionTime':'2026-03-01T12:00:02Z'}]}}",
        reason, reason);
    assert_int_equal(stage_patch(stage, cluster, name, "status", patch), 200);
    stage_run(stage, 100 * CLOCK_MS);
}

static void fails(struct stage *stage, size_t cluster, const char *name) {
    fails_for(stage, cluster, name, "BackoffLimitExceeded");
}

static void answer_with(struct stage *stage, size_t cluster, const char *name, const char *causes,
                        const char *problem) {
    AUTO_TEXT uid = strdup(object_uid(stage_job(stage, cluster, name)));
    struct engine_event event = {
        .type = EVENT_CAUSES,
        .cluster = cluster,
        .causes = {.namespace_ = "default", .name = name, .uid = uid, .causes = causes, .problem = problem}};
    stage_step(stage, &event);
    stage_run(stage, 500 * CLOCK_MS);
}

static void answer(struct stage *stage, size_t cluster, const char *name, const char *causes) {
    answer_with(stage, cluster, name, causes, NULL);
}

static bool has_failed(struct stage *stage, const char *name) {
    for (const struct json *c = json_first(pointer_find(stage_job(stage, 0, name), "/status/conditions")); c;
         c = json_next(c))
        if (strncmp(json_string_or(json_get(c, "type"), ""), "Fail", 4) == 0)
            return true;
    return false;
}

static const char *retried(struct stage *stage, const char *name) {
    return json_string_or(pointer_find(stage_job(stage, 0, name), "/metadata/annotations/wharf.dev~1retried"), "");
}

static void expect_in(struct stage *stage, const char *name, size_t where, unsigned attempt, bool failed) {
    assert_int_equal(stage_where(stage, name), where);
    assert_int_equal(stage_attempt(stage, name), attempt);
    assert_true(has_failed(stage, name) == failed);
    assert_true(failed || stage_job(stage, where, name));
}

// Of the newest attempt but one.
static void expect_former(struct stage *stage, const char *name, const char *reason, const char *message) {
    struct explain_view view;
    stage_explain(stage, name, &view);
    assert_non_null(view.attempts->older);
    assert_string_equal(view.attempts->older->reason, reason);
    assert_string_equal(view.attempts->older->message, message);
}

static void off_by_default_and_nothing_is_asked(struct stage *stage) {
    fails(stage, 1, "a");
    expect_in(stage, "a", 1, 1, true);
    assert_int_equal(questions, 0);
}

static void a_failure_of_the_worker_runs_elsewhere(struct stage *stage) {
    fails(stage, 1, "a");
    expect_in(stage, "a", 1, 1, false);
    assert_int_equal(questions, 1);
    assert_int_equal(asked_in, 1);
    assert_false(about_start);
    answer(stage, 1, "a", USER IMAGE);
    expect_in(stage, "a", 2, 2, false);
    assert_null(stage_job(stage, 1, "a"));
    expect_former(stage, "a", "FailedInWorker", "ErrImagePull: pod a-x: not found");
    assert_string_equal(retried(stage, "a"), "w1");
    assert_int_equal(stage_told(stage, "RetriedElsewhere: attempt 1 failed in cluster w1, ErrImagePull (pod a-x: not "
                                       "found): placed in w2 (attempt 2)"),
                     1);
    assert_int_equal(stage_told(stage, "Rescheduled"), 0);
    stage_runs(stage, 2, "a");
    stage_completes(stage, 2, "a");
    stage_run(stage, CLOCK_SECOND);
    assert_true(stage_finished(stage, "a"));
    assert_int_equal(questions, 1);
}

static void an_error_of_the_user_is_final(struct stage *stage) {
    fails(stage, 1, "a");
    answer(stage, 1, "a", USER);
    expect_in(stage, "a", 1, 1, true);
    assert_string_equal(retried(stage, "a"), "");
}

static void a_listed_exit_code_runs_elsewhere(struct stage *stage) {
    fails(stage, 1, "a");
    answer(stage, 1, "a", "OOMKilled\t137\tpod a-x: killed\n");
    expect_in(stage, "a", 2, 2, false);
    assert_int_equal(stage_told(stage, "RetriedElsewhere: attempt 1 failed in cluster w1, exit code 137 ("), 1);
}

static void without_an_answer_a_failure_is_final_after_some_seconds(struct stage *stage) {
    fails(stage, 1, "a");
    stage_run(stage, ELSEWHERE_HOLD_NS - 200 * CLOCK_MS);
    expect_in(stage, "a", 1, 1, false);
    stage_run(stage, CLOCK_SECOND);
    expect_in(stage, "a", 1, 1, true);
    answer(stage, 1, "a", IMAGE); // too late
    expect_in(stage, "a", 1, 1, true);
}

static void a_worker_that_hides_the_pods_ends_the_wait(struct stage *stage) {
    fails(stage, 1, "a");
    answer_with(stage, 1, "a", "", "pods is forbidden");
    expect_in(stage, "a", 1, 1, true);
}

static void keep_reason(void *ctx, const char *name, const struct worker_reason *reason, int64_t until_ns,
                        int64_t since_ns) {
    (void)until_ns, (void)since_ns;
    if (strcmp(name, "w1") == 0)
        *(struct worker_reason *)ctx = *reason;
}

static void no_more_often_than_permitted(struct stage *stage) {
    fails(stage, 1, "a");
    answer(stage, 1, "a", IMAGE);
    struct explain_view view;
    struct worker_reason reason;
    assert_true(inspect_explain(stage->engine, stage->now, stage->kind, "default", "a", &view, keep_reason, &reason));
    assert_int_equal(reason.obstacle, OBSTACLE_NONE);
    assert_string_equal(reason.text,
                        "is the last choice, since the workload failed there: ErrImagePull: pod a-x: not found");
    fails(stage, 2, "a");
    expect_in(stage, "a", 2, 2, true);
    assert_int_equal(questions, 1);
    stage_run(stage, CLOCK_SECOND);
    assert_int_equal(
        stage_told(stage, "(attempt 2): BackoffLimitExceeded: m; tried in w1, w2 (retryElsewhere.max 1)\n"), 1);
    stage_restart(stage);
    stage_run(stage, CLOCK_SECOND);
    stage_explain(stage, "a", &view);
    assert_string_equal(view.attempts->message, "BackoffLimitExceeded: m; tried in w1, w2 (retryElsewhere.max 1)");
}

// Permitted twice, but the first worker is not tried again.
static void not_where_it_failed_before(struct stage *stage) {
    fails(stage, 1, "a");
    answer(stage, 1, "a", IMAGE);
    fails(stage, 2, "a");
    answer(stage, 2, "a", IMAGE);
    expect_in(stage, "a", 2, 2, true);
    assert_int_equal(questions, 2);
}

static void a_restarted_host_decides_the_same(struct stage *stage) {
    fails(stage, 1, "a");
    stage_restart(stage);
    stage_run(stage, 2 * CLOCK_SECOND);
    expect_in(stage, "a", 1, 1, false);
    assert_int_equal(questions, 2);
    answer(stage, 1, "a", IMAGE);
    expect_in(stage, "a", 2, 2, false);
}

// The placement is written, the failed mirror is still there.
static void a_restart_after_the_placement_counts_it_once(struct stage *stage) {
    fails(stage, 1, "a");
    keeps = true;
    answer(stage, 1, "a", IMAGE);
    assert_int_equal(stage_where(stage, "a"), 2);
    assert_non_null(stage_job(stage, 1, "a"));
    assert_null(stage_job(stage, 2, "a"));
    stage_restart(stage);
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_null(stage_job(stage, 2, "a"));
    keeps = false;
    stage_run(stage, CLOCK_MINUTE);
    expect_in(stage, "a", 2, 2, false);
    assert_null(stage_job(stage, 1, "a"));
    assert_string_equal(retried(stage, "a"), "w1");
}

static void a_decided_failure_is_held_back_before_it_is_final(struct stage *stage) {
    assert_int_equal(stage_patch(stage, 1, "a", "status",
                                 "{'status':{'active':1,'failed':1,'startTime':'2026-03-01T12:00:01Z','conditions':["
                                 "{'type':'FailureTarget','status':'True','reason':'PodFailurePolicy','message':'m',"
                                 "'lastTransitionTime':'2026-03-01T12:00:02Z'}]}}"),
                     200);
    stage_run(stage, CLOCK_SECOND);
    assert_int_equal(questions, 1);
    expect_in(stage, "a", 1, 1, false);
    answer(stage, 1, "a", IMAGE);
    expect_in(stage, "a", 2, 2, false);
}

static void without_another_worker_a_failure_is_final(struct stage *stage) {
    stage_disconnect(stage, 2);
    stage_run(stage, CLOCK_SECOND);
    fails(stage, 1, "a");
    answer(stage, 1, "a", IMAGE);
    expect_in(stage, "a", 1, 1, true);
}

static void a_reason_of_the_failure_itself_needs_no_pods(struct stage *stage) {
    fails_for(stage, 1, "a", "PodFailurePolicy");
    stage_run(stage, CLOCK_SECOND);
    assert_int_equal(questions, 0);
    expect_in(stage, "a", 2, 2, false);
}

// Another client deletes it.
static void a_failed_mirror_that_disappears_is_final(struct stage *stage) {
    fails(stage, 1, "a");
    assert_int_equal(stage_delete(stage, 1, "a"), 200);
    stage_run(stage, CLOCK_SECOND);
    expect_in(stage, "a", 1, 1, true);
}

// It is the progress of the next attempt.
static void what_the_failed_mirror_completed_is_kept(struct stage *stage) {
    assert_int_equal(
        stage_apply(stage, 0, "batch", "jobs",
                    "{'metadata':{'name':'i','namespace':'default','annotations':{"
                    "'wharf.dev/cluster-names':'w1,w2'}},'spec':{'managedBy':'wharf.dev/host',"
                    "'completionMode':'Indexed','parallelism':2,'completions':4,'backoffLimit':3,"
                    "'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'i'}]}}}}"),
        201);
    stage_run(stage, CLOCK_SECOND);
    assert_int_equal(
        stage_patch(stage, 1, "i", "status",
                    "{'status':{'failed':3,'succeeded':2,'completedIndexes':'0,2','startTime':"
                    "'2026-03-01T12:00:01Z','conditions':[{'type':'FailureTarget','status':'True','reason':"
                    "'BackoffLimitExceeded','message':'m','lastTransitionTime':'2026-03-01T12:00:02Z'}]}}"),
        200);
    stage_run(stage, CLOCK_SECOND);
    answer(stage, 1, "i", IMAGE);
    expect_in(stage, "i", 2, 2, false);
    for (size_t cluster = 0; cluster <= 2; cluster += 2) {
        const struct json *job = stage_job(stage, cluster, "i");
        assert_string_equal(json_string_or(pointer_find(job, "/status/completedIndexes"), ""), "0,2");
        assert_int_equal(json_int64(pointer_find(job, "/status/succeeded"), 0), 2);
        assert_int_equal(json_int64(pointer_find(job, "/status/failed"), 0), cluster == 0 ? 3 : 0);
    }
}

// Mirrors that do not start ------------------------------------------------------------------------------------------

static void a_mirror_that_does_not_start_for_such_a_reason_runs_elsewhere(struct stage *stage) {
    stage_run(stage, 28 * CLOCK_SECOND);
    assert_int_equal(questions, 0);
    stage_run(stage, 3 * CLOCK_SECOND);
    assert_int_equal(questions, 1);
    assert_true(about_start);
    answer(stage, 1, "a", IMAGE);
    expect_in(stage, "a", 2, 2, false);
    assert_string_equal(retried(stage, "a"), "w1");
    assert_int_equal(stage_told(stage, "RetriedElsewhere: attempt 1 does not start in cluster w1, ErrImagePull"), 1);
    assert_int_equal(stage_told(stage, "Withdrawn"), 0);
    stage_run(stage, 60 * CLOCK_MINUTE);
    expect_in(stage, "a", 2, 2, false);
    assert_int_equal(questions, 1);
}

// The withdrawal failed, and the reason is no longer known.
static void a_mirror_that_stayed_may_be_drained(struct stage *stage) {
    stage_run(stage, 31 * CLOCK_SECOND);
    keeps = true;
    answer(stage, 1, "a", IMAGE);
    stage_run(stage, 5 * CLOCK_MINUTE);
    keeps = false;
    assert_int_equal(
        stage_patch(stage, 1, "a", "status", "{'status':{'active':1,'ready':0,'startTime':'2026-03-01T12:00:01Z'}}"),
        200);
    stage_step(stage, &(struct engine_event){
                          .type = EVENT_WORKER, .cluster = 1, .worker = {.name = "w1", .policy = WORKER_DRAIN_MOVE}});
    stage_run(stage, CLOCK_MINUTE);
    expect_in(stage, "a", 2, 2, false);
}

static void it_stays_for_any_other_reason(struct stage *stage) {
    stage_run(stage, 31 * CLOCK_SECOND);
    answer(stage, 1, "a", "Unschedulable\t\tpod a-x: 0/5 nodes\n");
    expect_in(stage, "a", 1, 1, false);
    stage_run(stage, 60 * CLOCK_MINUTE);
    assert_in_range(questions, 6, 16);
    unsigned before = questions;
    stage_runs(stage, 1, "a");
    stage_run(stage, 60 * CLOCK_MINUTE);
    assert_int_equal(questions, before);
}

static void it_stays_without_another_worker(struct stage *stage) {
    stage_disconnect(stage, 2);
    stage_run(stage, 31 * CLOCK_SECOND);
    answer(stage, 1, "a", IMAGE);
    expect_in(stage, "a", 1, 1, false);
    stage_connect(stage, 2);
    stage_run(stage, CLOCK_SECOND);
    expect_in(stage, "a", 2, 2, false);
}

// Suspect workers ----------------------------------------------------------------------------------------------------

static void cordon(struct stage *stage, size_t cluster, enum worker_policy policy) {
    static const char *const names[] = {NULL, "w1", "w2"};
    struct engine_event event = {
        .type = EVENT_WORKER, .cluster = cluster, .worker = {.name = names[cluster], .policy = policy}};
    stage_step(stage, &event);
    stage_run(stage, 100 * CLOCK_MS);
}

// In w1 while w2 is cordoned.
static void fail_in_w1(struct stage *stage, const char *name, const char *causes) {
    cordon(stage, 2, WORKER_CORDONED);
    stage_submit(stage, name, "");
    stage_run(stage, CLOCK_SECOND);
    assert_int_equal(stage_where(stage, name), 1);
    cordon(stage, 2, WORKER_ACTIVE);
    fails(stage, 1, name);
    answer(stage, 1, name, causes);
}

static size_t place_new(struct stage *stage, const char *name) {
    stage_submit(stage, name, "");
    stage_run(stage, CLOCK_SECOND);
    return stage_where(stage, name);
}

static void make_suspect(struct stage *stage) {
    static const char *const names[] = {"b", "c", "d"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(stage_told(stage, "WorkerSuspect"), 0);
        fail_in_w1(stage, names[i], IMAGE);
        expect_in(stage, names[i], 2, 2, false);
    }
    assert_int_equal(stage_told(stage, "WorkerSuspect: 3 workloads failed in cluster w1 for the same reason, "
                                       "ErrImagePull, within 5 minutes"),
                     1);
    assert_int_equal(engine_stats(stage->engine)->clusters[1].failing, 1);
    assert_int_equal(place_new(stage, "e"), 2); // w1 has fewer
}

static void a_worker_where_three_workloads_fail_gets_no_new_ones_for_some_time(struct stage *stage) {
    make_suspect(stage);
    stage_run(stage, ELSEWHERE_SUSPEND_NS - 30 * CLOCK_SECOND);
    assert_int_equal(place_new(stage, "f"), 2);
    stage_run(stage, CLOCK_MINUTE);
    assert_int_equal(engine_stats(stage->engine)->clusters[1].failing, 0);
    assert_int_equal(stage_told(stage, "WorkerTrusted: cluster w1 gets new workloads again: the 10 minutes are over\n"),
                     1);
    assert_int_equal(place_new(stage, "g"), 1);
}

static void an_operator_releases_it_earlier(struct stage *stage) {
    make_suspect(stage);
    cordon(stage, 1, WORKER_CORDONED);
    cordon(stage, 1, WORKER_ACTIVE);
    assert_int_equal(stage_told(stage,
                                "WorkerTrusted: cluster w1 gets new workloads again: an operator has uncordoned the "
                                "cluster\n"),
                     1);
    assert_int_equal(place_new(stage, "f"), 1);
}

static void what_fails_elsewhere_too_releases_it(struct stage *stage) {
    make_suspect(stage);
    fails(stage, 2, "b");
    stage_run(stage, CLOCK_SECOND);
    assert_int_equal(engine_stats(stage->engine)->clusters[1].failing, 0);
    assert_int_equal(
        stage_told(stage, "WorkerTrusted: cluster w1 gets new workloads again: workloads that failed there "), 1);
}

static void different_reasons_and_one_workload_do_not_count(struct stage *stage) {
    fail_in_w1(stage, "b", IMAGE);
    fail_in_w1(stage, "c", IMAGE);
    fail_in_w1(stage, "d", "Evicted\t\tpod d-x: disk pressure\n");
    stage_run(stage, ELSEWHERE_WINDOW_NS);
    fail_in_w1(stage, "e", IMAGE);
    assert_int_equal(stage_told(stage, "WorkerSuspect"), 0);
}

static void the_last_worker_stays(struct stage *stage) {
    cordon(stage, 2, WORKER_CORDONED);
    static const char *const names[] = {"b", "c", "d"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(place_new(stage, names[i]), 1);
        fails(stage, 1, names[i]);
        answer(stage, 1, names[i], IMAGE);
        expect_in(stage, names[i], 1, 1, true);
    }
    assert_int_equal(stage_told(stage, "WorkerSuspect"), 0);
    assert_int_equal(place_new(stage, "e"), 1);
}

static void room_for(struct stage *stage, size_t cluster, int64_t pods) {
    struct nodes *nodes = nodes_new(1, (const char *const[]){"pods"}, 1, 0);
    nodes->left[0] = nodes->allocatable[0] = pods;
    stage_step(stage, &(struct engine_event){
                          .type = EVENT_CAPACITY, .cluster = cluster, .capacity = {CAPACITY_KNOWN, NULL, nodes}});
}

// Six indexes of which four have failed in w1; all are tried again elsewhere.
static void fail_indexes(struct stage *stage, const char *name, int64_t pods) {
    AUTO_TEXT job =
        text_format("{'metadata':{'name':'%s','namespace':'default'},'spec':{'managedBy':'wharf.dev/host',"
                    "'completionMode':'Indexed','completions':6,'parallelism':6,'backoffLimitPerIndex':0,"
                    "'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'i'}]}}}}",
                    name);
    room_for(stage, 1, 100);
    room_for(stage, 2, 3);
    assert_int_equal(stage_apply(stage, 0, "batch", "jobs", job), 201);
    stage_run(stage, CLOCK_SECOND);
    assert_int_equal(stage_where(stage, name), 1);
    assert_int_equal(stage_patch(stage, 1, name, "status",
                                 "{'status':{'active':2,'ready':2,'failed':1,'failedIndexes':'0-3',"
                                 "'startTime':'2026-03-01T12:00:01Z'}}"),
                     200);
    stage_run(stage, CLOCK_MINUTE);
    room_for(stage, 2, pods);
    fails(stage, 1, name);
    answer(stage, 1, name, IMAGE);
}

static void failed_indexes_need_room_for_their_next_try(struct stage *stage) {
    struct engine_settings settings = stage->options.settings;
    settings.placement.capacity = true;
    engine_configure(stage->engine, &settings);
    fail_indexes(stage, "b", 5);
    expect_in(stage, "b", 1, 1, true);
    fail_indexes(stage, "c", 6);
    expect_in(stage, "c", 2, 2, false);
}

#define TEST(name) #name, name
#define STUCK (30 * CLOCK_SECOND)

// Workload "a" runs in w1 before each; with a time in `stuck_for_ns` it does not start there.
static const struct test {
    const char *name;
    void (*check)(struct stage *stage);
    int64_t max, stuck_for_ns;
    const char *reasons;
} tests[] = {
    {TEST(off_by_default_and_nothing_is_asked), 0, 0, NULL},
    {TEST(a_failure_of_the_worker_runs_elsewhere), 1, 0, NULL},
    {TEST(an_error_of_the_user_is_final), 1, 0, NULL},
    {TEST(a_listed_exit_code_runs_elsewhere), 1, 0, ""},
    {TEST(without_an_answer_a_failure_is_final_after_some_seconds), 1, 0, NULL},
    {TEST(a_worker_that_hides_the_pods_ends_the_wait), 1, 0, NULL},
    {TEST(no_more_often_than_permitted), 1, 0, NULL},
    {TEST(not_where_it_failed_before), 2, 0, NULL},
    {TEST(a_restarted_host_decides_the_same), 1, 0, NULL},
    {TEST(a_restart_after_the_placement_counts_it_once), 1, 0, NULL},
    {TEST(a_decided_failure_is_held_back_before_it_is_final), 1, 0, NULL},
    {TEST(without_another_worker_a_failure_is_final), 1, 0, NULL},
    {TEST(a_reason_of_the_failure_itself_needs_no_pods), 1, 0, "PodFailure*"},
    {TEST(a_failed_mirror_that_disappears_is_final), 1, 0, NULL},
    {TEST(what_the_failed_mirror_completed_is_kept), 1, 0, NULL},
    {TEST(a_mirror_that_does_not_start_for_such_a_reason_runs_elsewhere), 1, STUCK, NULL},
    {TEST(a_mirror_that_stayed_may_be_drained), 1, STUCK, NULL},
    {TEST(it_stays_for_any_other_reason), 1, STUCK, NULL},
    {TEST(it_stays_without_another_worker), 1, STUCK, NULL},
    {TEST(a_worker_where_three_workloads_fail_gets_no_new_ones_for_some_time), 1, 0, NULL},
    {TEST(an_operator_releases_it_earlier), 1, 0, NULL},
    {TEST(what_fails_elsewhere_too_releases_it), 1, 0, NULL},
    {TEST(different_reasons_and_one_workload_do_not_count), 1, 0, NULL},
    {TEST(the_last_worker_stays), 1, 0, NULL},
    {TEST(failed_indexes_need_room_for_their_next_try), 1, 0, NULL},
};

static void run(void **state) {
    const struct test *test = *state;
    struct stage stage;
    stage_init(&stage);
    stage.options.settings.placement.otherwise.retry = (struct retry_elsewhere){
        .max = test->max, .reasons = test->reasons, .exit_codes = "137", .stuck_for_ns = test->stuck_for_ns};
    stage.wrote = count_mirrors;
    stage.asked = note_question;
    stage.meddle = meddle;
    both = questions = 0;
    keeps = false;
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_SECOND);
    if (!test->stuck_for_ns)
        stage_runs(&stage, 1, "a");
    stage_run(&stage, 100 * CLOCK_MS);
    test->check(&stage);
    assert_int_equal(both, 0);
    stage_end(&stage);
}

int main(void) {
    struct CMUnitTest units[sizeof tests / sizeof *tests];
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        units[i] = (struct CMUnitTest){tests[i].name, run, NULL, NULL, (void *)&tests[i]};
    return cmocka_run_group_tests(units, stage_load, NULL);
}
