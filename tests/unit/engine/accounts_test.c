// SPDX-License-Identifier: Apache-2.0
// Who used how much, where: by the times in the objects, over moves and restarts.
#include "tests/unit/engine/accounts_play.h"

#include "core/engine/accounts/account_table.h"

#define GIB ((double)(1 << 30))

static void begin(struct stage *stage) {
    stage_init(stage);
    stage_start(stage);
    stage_run(stage, 3 * CLOCK_SECOND); // the process is older than its workloads
}

// A Job runs in w1.
static void begin_run(struct stage *stage, int64_t after_ns) {
    begin(stage);
    accounts_submit(stage, "a", "");
    stage_run(stage, CLOCK_SECOND);
    assert_int_equal(stage_where(stage, "a"), 1);
    accounts_runs(stage, 1, "a", after_ns);
}

static void a_workload_uses_from_its_start_to_its_end(void **state) {
    (void)state;
    struct stage stage;
    begin_run(&stage, 0);
    stage_run(&stage, 50 * CLOCK_SECOND);
    accounts_near(accounts_used_in(&stage, "w1", NULL), 50, 1.2);
    accounts_near(accounts_counted_in(&stage, "w1", "cpu"), 49, 1.2);
    stage_run(&stage, 50 * CLOCK_SECOND - 100 * CLOCK_MS);
    accounts_completes(&stage, 1, "a", 0);
    for (int counted = 0; counted < 2; counted++) {
        accounts_near(accounts_sum(&stage, "w1", NULL, counted), 100, 1.2);
        double seconds = accounts_sum(&stage, "w1", NULL, counted);
        accounts_near(accounts_sum(&stage, "w1", "cpu", counted), seconds, 0.001);
        accounts_near(accounts_sum(&stage, "w1", "memory", counted), 2 * GIB * seconds, 1);
        accounts_near(accounts_sum(&stage, "w1", GPU, counted), 2 * seconds, 0.001);
        accounts_near(accounts_sum(&stage, "w1", "pods", counted), 2 * seconds, 0.001);
    }
    double counted = accounts_counted_in(&stage, NULL, NULL);
    stage_run(&stage, CLOCK_MINUTE);
    assert_true(accounts_counted_in(&stage, NULL, NULL) == counted);
    assert_int_equal(stage_delete(&stage, 0, "a"), 200);
    stage_run(&stage, CLOCK_MINUTE);
    assert_true(accounts_used_in(&stage, NULL, NULL) == 0); // it does not exist
    assert_true(accounts_counted_in(&stage, NULL, NULL) == counted);
    stage_end(&stage);
}

static void pods_that_do_not_start_use_nothing(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    accounts_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_SECOND);
    char start[CLOCK_RFC3339_MAX];
    accounts_time(&stage, 0, start);
    AUTO_TEXT patch = text_format("{'status':{'active':2,'ready':0,'startTime':'%s'}}", start);
    assert_int_equal(stage_patch(&stage, 1, "a", "status", patch), 200);
    stage_run(&stage, CLOCK_MINUTE);
    assert_true(accounts_used_in(&stage, NULL, NULL) == 0);
    assert_int_equal(stage_patch(&stage, 1, "a", "status", "{'status':{'ready':1}}"), 200);
    stage_run(&stage, CLOCK_SECOND);
    accounts_near(accounts_used_in(&stage, "w1", NULL), 61, 1.2); // the start in the object
    stage_end(&stage);
}

static void a_restart_knows_the_start_and_counts_nothing_twice(void **state) {
    (void)state;
    struct stage stage;
    begin_run(&stage, 0);
    stage_run(&stage, 60 * CLOCK_SECOND);
    accounts_near(accounts_counted_in(&stage, "w1", NULL), 59, 1.2);
    stage_restart(&stage);
    stage_run(&stage, 2 * CLOCK_SECOND);
    accounts_near(accounts_used_in(&stage, "w1", NULL), 62, 1.2);
    accounts_near(accounts_counted_in(&stage, "w1", NULL), 1, 0.2);
    stage_run(&stage, 38 * CLOCK_SECOND - 100 * CLOCK_MS);
    accounts_completes(&stage, 1, "a", 0);
    accounts_near(accounts_used_in(&stage, "w1", GPU), 200, 2.4);
    accounts_near(accounts_counted_in(&stage, "w1", GPU), 80, 2.4);
    stage_restart(&stage);
    stage_run(&stage, 3 * CLOCK_SECOND);
    accounts_near(accounts_used_in(&stage, "w1", GPU), 200, 2.4);
    assert_true(accounts_counted_in(&stage, NULL, NULL) == 0);
    stage_run(&stage, 20 * CLOCK_MINUTE); // the mirror is deleted: the status of the workload remains
    stage_restart(&stage);
    stage_run(&stage, 3 * CLOCK_SECOND);
    assert_null(stage_job(&stage, 1, "a"));
    accounts_near(accounts_used_in(&stage, "w1", GPU), 200, 2.4);
    stage_end(&stage);
}

static bool is_second(struct stage *stage) {
    return stage_attempt(stage, "a") == 2 && stage_job(stage, 2, "a");
}

static const char *annotation(struct stage *stage) {
    return object_annotation(stage_job(stage, 0, "a"), MARK_USED);
}

static void lose_w1(struct stage *stage) {
    stage_disconnect(stage, 1);
    stage_contact(stage, 1, CONTACT_LOST);
    stage_until(stage, is_second);
}

static void both_attempts_count(void **state) {
    (void)state;
    struct stage stage;
    begin_run(&stage, 0);
    int64_t start_ns = stage.now.wall_ns;
    stage_run(&stage, 30 * CLOCK_SECOND);
    assert_null(annotation(&stage));
    unsigned patches = stage.sent[0][VERB_MERGE_PATCH];
    lose_w1(&stage);
    assert_int_equal(stage.sent[0][VERB_MERGE_PATCH], patches + 1); // the placement has it
    double first = (double)(stage.now.wall_ns - start_ns) / 1e9;
    assert_non_null(strstr(annotation(&stage), "{\"seconds\":{\"w1\":"));
    assert_null(object_annotation(stage_job(&stage, 2, "a"), MARK_USED));
    accounts_near(accounts_used_in(&stage, "w1", NULL), first, 1.5);
    accounts_runs(&stage, 2, "a", 0);
    stage_run(&stage, 40 * CLOCK_SECOND);
    stage_restart(&stage);
    stage_run(&stage, 2 * CLOCK_SECOND);
    accounts_near(accounts_used_in(&stage, "w1", GPU), 2 * first, 3);
    accounts_near(accounts_used_in(&stage, "w2", GPU), 84, 3);
    accounts_near(accounts_counted_in(&stage, "w1", NULL), 0, 0.001);
    accounts_completes(&stage, 2, "a", 0);
    accounts_near(accounts_used_in(&stage, "w2", NULL), 42, 1.5);
    stage_run(&stage, 20 * CLOCK_MINUTE);
    stage_restart(&stage);
    stage_run(&stage, 2 * CLOCK_SECOND);
    assert_null(stage_job(&stage, 2, "a"));
    accounts_near(accounts_used_in(&stage, "w1", NULL), first, 1.5);
    accounts_near(accounts_used_in(&stage, "w2", NULL), 42, 2); // since the placement
    stage_end(&stage);
}

static int drop_placements(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->request.verb == VERB_MERGE_PATCH && command->cluster == 0 ? STAGE_LOST : STAGE_PASS;
}

static int hide_placements(struct stage *stage, const struct command *command) {
    return drop_placements(stage, command) ? STAGE_UNHEARD : STAGE_PASS;
}

// kill -9 before the placement of the next attempt, or before its answer.
static void a_kill_in_the_middle_of_a_move_loses_nothing(void **state) {
    (void)state;
    for (int written = 0; written < 2; written++) {
        struct stage stage;
        begin_run(&stage, 0);
        stage_run(&stage, 40 * CLOCK_SECOND);
        stage.meddle = written ? hide_placements : drop_placements;
        assert_int_equal(stage_delete(&stage, 1, "a"), 200); // by another client
        stage_run(&stage, CLOCK_SECOND);
        assert_int_equal(stage_attempt(&stage, "a"), 1 + written);
        stage.meddle = NULL;
        stage_restart(&stage);
        stage_run(&stage, CLOCK_SECOND);
        assert_non_null(stage_job(&stage, stage_where(&stage, "a"), "a"));
        accounts_near(accounts_used_in(&stage, "w1", NULL), 41, 1.5);
        stage_end(&stage);
    }
}

static void three_attempts_add_up(void **state) {
    (void)state;
    struct stage stage;
    begin_run(&stage, 0);
    for (unsigned attempt = 2; attempt <= 4; attempt++) {
        size_t cluster = stage_where(&stage, "a");
        stage_run(&stage, 10 * CLOCK_SECOND - 100 * CLOCK_MS);
        assert_int_equal(stage_delete(&stage, cluster, "a"), 200);
        for (int i = 0; i < 100 && stage_attempt(&stage, "a") < attempt; i++)
            stage_run(&stage, 10 * CLOCK_MS);
        assert_int_equal(stage_attempt(&stage, "a"), attempt);
        stage_run(&stage, CLOCK_SECOND);
        accounts_runs(&stage, stage_where(&stage, "a"), "a", 0);
    }
    accounts_near(accounts_used_in(&stage, NULL, NULL), 30, 4);
    accounts_near(accounts_counted_in(&stage, NULL, NULL), 29.5, 4);
    double used = accounts_used_in(&stage, NULL, NULL);
    stage_restart(&stage);
    stage_run(&stage, CLOCK_SECOND);
    accounts_near(accounts_used_in(&stage, NULL, NULL), used + 1, 3.2); // whole seconds for each attempt
    stage_end(&stage);
}

// One clock tells both ends, so the length is exact; until then, the workload did not start before its placement.
static void clocks_of_workers_may_differ(void **state) {
    (void)state;
    static const int64_t differences[] = {-5 * CLOCK_MINUTE, 5 * CLOCK_MINUTE};
    for (size_t i = 0; i < 2; i++) {
        struct stage stage;
        begin_run(&stage, differences[i]);
        double before = accounts_counted_in(&stage, "w1", NULL);
        for (int s = 0; s < 100; s++) {
            stage_run(&stage, CLOCK_SECOND);
            double now = accounts_counted_in(&stage, "w1", NULL);
            assert_true(now >= before);
            before = now;
        }
        accounts_near(accounts_used_in(&stage, "w1", NULL), 100, 2);
        accounts_completes(&stage, 1, "a", differences[i]);
        accounts_near(accounts_used_in(&stage, "w1", NULL), 100, 1.2);
        accounts_near(accounts_counted_in(&stage, "w1", NULL), 100, 2.2);
        assert_true(accounts_counted_in(&stage, "w1", NULL) >= before);
        stage_end(&stage);
    }
}

// The worker was unreachable at the end.
static void a_late_end_takes_nothing_back_from_the_counter(void **state) {
    (void)state;
    struct stage stage;
    begin_run(&stage, 0);
    stage_run(&stage, CLOCK_MINUTE);
    double before = accounts_counted_in(&stage, "w1", "cpu");
    accounts_completes(&stage, 1, "a", -20 * CLOCK_SECOND);
    accounts_near(accounts_used_in(&stage, "w1", "cpu"), 40, 1.2);
    accounts_near(accounts_counted_in(&stage, "w1", "cpu"), 60, 1.2);
    assert_true(accounts_counted_in(&stage, "w1", "cpu") >= before);
    accounts_submit(&stage, "b", "");
    stage_run(&stage, CLOCK_SECOND);
    size_t cluster = stage_where(&stage, "b");
    accounts_runs(&stage, cluster, "b", 0);
    stage_run(&stage, CLOCK_MINUTE);
    double all = accounts_counted_in(&stage, NULL, "cpu");
    accounts_near(all, cluster == 1 ? 100 : 120, 2.4); // in the same account it continues from 40
    stage_end(&stage);
}

static void a_clock_that_is_set_changes_nothing(void **state) {
    (void)state;
    struct stage stage;
    begin_run(&stage, 0);
    stage_run(&stage, 30 * CLOCK_SECOND);
    double before = accounts_counted_in(&stage, "w1", NULL);
    for (int i = 0; i < 2; i++) {
        stage.now.wall_ns += (i ? 120 : -60) * CLOCK_MINUTE;
        stage_run(&stage, 10 * CLOCK_SECOND);
        accounts_near(accounts_counted_in(&stage, "w1", NULL), before + 10 * (i + 1), 0.1);
        accounts_near(accounts_used_in(&stage, "w1", NULL), before + 1 + 10 * (i + 1), 1.2);
    }
    stage_end(&stage);
}

static void lead(struct stage *stage, int64_t for_ns, uint64_t term) {
    stage_step(stage, &(struct engine_event){.type = EVENT_LEASE, .lease = {0, stage->now.mono_ns + for_ns, term}});
}

// The other replica counts meanwhile.
static void a_replica_counts_while_it_leads(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage.options.shards = 1;
    stage_start(&stage);
    lead(&stage, 100 * CLOCK_SECOND, 1);
    stage_run(&stage, 3 * CLOCK_SECOND);
    accounts_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_SECOND);
    accounts_runs(&stage, stage_where(&stage, "a"), "a", 0);
    stage_run(&stage, 20 * CLOCK_SECOND);
    lead(&stage, 0, 1);
    stage_run(&stage, 2 * CLOCK_SECOND);
    double counted = accounts_counted_in(&stage, NULL, NULL);
    accounts_near(counted, 20, 1.5);
    stage_run(&stage, 30 * CLOCK_SECOND);
    assert_true(accounts_counted_in(&stage, NULL, NULL) == counted);
    lead(&stage, CLOCK_MINUTE, 2);
    stage_run(&stage, 11 * CLOCK_SECOND);
    accounts_near(accounts_counted_in(&stage, NULL, NULL), counted + 10, 1.2);
    accounts_near(accounts_used_in(&stage, NULL, NULL), 63, 1.5);
    stage_end(&stage);
}

static void without_a_start_time_it_runs_since_it_was_seen(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    accounts_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_patch(&stage, 1, "a", "status", "{'status':{'active':2,'ready':1}}"), 200);
    stage_run(&stage, 30 * CLOCK_SECOND);
    accounts_near(accounts_used_in(&stage, "w1", NULL), 30, 0.1);
    stage_restart(&stage);
    stage_run(&stage, CLOCK_SECOND);
    accounts_near(accounts_used_in(&stage, "w1", NULL), 32, 1.2); // since the creation of the mirror
    stage_end(&stage);
}

static void suspended_parts_do_not_count(void **state) {
    (void)state;
    struct stage stage;
    begin_run(&stage, 0);
    stage_run(&stage, 20 * CLOCK_SECOND);
    assert_int_equal(stage_patch(&stage, 0, "a", NULL, "{'spec':{'suspend':true}}"), 200);
    stage_run(&stage, CLOCK_SECOND);
    char now[CLOCK_RFC3339_MAX];
    accounts_time(&stage, 0, now);
    AUTO_TEXT patch = text_format("{'status':{'active':0,'ready':0,'startTime':null,'conditions':[{'type':'Suspended',"
                                  "'status':'True','lastTransitionTime':'%s'}]}}",
                                  now);
    assert_int_equal(stage_patch(&stage, 1, "a", "status", patch), 200);
    stage_run(&stage, CLOCK_SECOND);
    double part = accounts_used_in(&stage, "w1", NULL);
    accounts_near(part, 21, 1.2);
    stage_run(&stage, 60 * CLOCK_SECOND);
    assert_true(accounts_used_in(&stage, "w1", NULL) == part);
    assert_int_equal(stage_patch(&stage, 0, "a", NULL, "{'spec':{'suspend':false}}"), 200);
    stage_run(&stage, CLOCK_SECOND);
    accounts_time(&stage, 0, now);
    AUTO_TEXT resumed = text_format("{'status':{'active':2,'ready':2,'startTime':'%s','conditions':[{'type':"
                                    "'Suspended','status':'False','lastTransitionTime':'%s'}]}}",
                                    now, now);
    assert_int_equal(stage_patch(&stage, 1, "a", "status", resumed), 200);
    stage_run(&stage, 10 * CLOCK_SECOND);
    accounts_near(accounts_used_in(&stage, "w1", NULL), part + 10, 1.2);
    accounts_near(accounts_counted_in(&stage, "w1", NULL), part + 9, 1.2);
    accounts_completes(&stage, 1, "a", 0);
    accounts_near(accounts_used_in(&stage, "w1", NULL), part + 10, 1.2);
    stage_restart(&stage);
    stage_run(&stage, CLOCK_SECOND);
    accounts_near(accounts_used_in(&stage, "w1", NULL), 10, 1.2); // no object tells of the part before
    stage_end(&stage);
}

static void elastic_workloads_count_what_they_request_at_the_time(void **state) {
    (void)state;
    struct stage stage;
    begin_run(&stage, 0);
    stage_run(&stage, 20 * CLOCK_SECOND);
    assert_int_equal(stage_patch(&stage, 0, "a", NULL, "{'spec':{'parallelism':1}}"), 200);
    stage_run(&stage, 20 * CLOCK_SECOND);
    accounts_near(accounts_counted_in(&stage, "w1", GPU), 60 - 1, 2.4);
    accounts_near(accounts_used_in(&stage, "w1", GPU), 40, 1.2); // objects tell the present number only
    stage_end(&stage);
}

static void a_lost_worker_uses_until_it_is_given_up(void **state) {
    (void)state;
    struct stage stage;
    begin_run(&stage, 0);
    stage_run(&stage, 10 * CLOCK_SECOND);
    stage_disconnect(&stage, 1);
    stage_contact(&stage, 1, CONTACT_LOST);
    stage_run(&stage, 20 * CLOCK_SECOND);
    accounts_near(accounts_used_in(&stage, "w1", NULL), 30, 1.2);
    stage_restart(&stage); // w1 does not answer: the copied status tells the start
    stage_disconnect(&stage, 1);
    stage_contact(&stage, 1, CONTACT_LOST);
    stage_run(&stage, 10 * CLOCK_SECOND);
    accounts_near(accounts_used_in(&stage, "w1", NULL), 40, 1.2);
    stage_until(&stage, is_second);
    stage_run(&stage, CLOCK_SECOND);
    double used = accounts_used_in(&stage, "w1", NULL);
    stage_run(&stage, CLOCK_MINUTE);
    assert_true(accounts_used_in(&stage, "w1", NULL) == used);
    stage_end(&stage);
}

static void a_copy_of_a_workload_counts_nothing_of_the_other_one(void **state) {
    (void)state;
    struct stage stage;
    begin_run(&stage, 0);
    stage_run(&stage, 100 * CLOCK_SECOND);
    assert_int_equal(stage_delete(&stage, 1, "a"), 200);
    stage_until(&stage, is_second);
    AUTO_TEXT used = json_text(pointer_find(stage_job(&stage, 0, "a"), "/metadata/annotations/wharf.dev~1used"), NULL);
    assert_non_null(used);
    assert_int_equal(stage_delete(&stage, 0, "a"), 200);
    stage_run(&stage, CLOCK_MINUTE);
    AUTO_TEXT annotations = text_format("'wharf.dev/cluster':'w1','wharf.dev/attempt':'2','" MARK_USED "':%s", used);
    stage_submit(&stage, "b", annotations);
    stage_run(&stage, 200 * CLOCK_SECOND);
    stage_restart(&stage);
    stage_run(&stage, CLOCK_SECOND);
    accounts_near(accounts_used_in(&stage, NULL, NULL), 0, 1);
    stage_end(&stage);
}

// Authors may write the annotation.
static void an_annotation_counts_no_more_than_the_age(void **state) {
    (void)state;
    struct stage stage;
    begin_run(&stage, 0);
    stage_run(&stage, 10 * CLOCK_SECOND);
    assert_int_equal(stage_delete(&stage, 1, "a"), 200);
    stage_until(&stage, is_second);
    static const char *const forged[] = {"{\\\"seconds\\\":{\\\"w1\\\":1e300,\\\"w2\\\":-5,\\\"w3\\\":\\\"x\\\"}}", "[",
                                         "{\\\"seconds\\\":7,\\\"until\\\":\\\"3000-01-01T00:00:00Z\\\"}"};
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
        AUTO_TEXT patch = text_format("{\"metadata\":{\"annotations\":{\"" MARK_USED "\":\"%s\"}}}", forged[i]);
        stage.user = true;
        assert_int_equal(
            world_patch(stage.clusters[0], "batch", "jobs", "default", "a", NULL, patch, stage.now.wall_ns), 200);
        stage.user = false;
        stage_restart(&stage);
        stage_run(&stage, CLOCK_SECOND);
        assert_true(accounts_used_in(&stage, NULL, NULL) <= 15);
        assert_true(accounts_used_in(&stage, "w2", NULL) >= 0);
    }
    stage_end(&stage);
}

#define INVENTED 15 // workloads, with 16 invented names of workers each

static void invented_workers_leave_room_for_accounts(void **state) {
    (void)state;
    struct stage stage;
    begin_run(&stage, 0);
    stage_run(&stage, CLOCK_MINUTE);
    for (int i = 0; i < INVENTED; i++) {
        AUTO_BUFFER(names, 1024);
        for (int k = 0; k < 16; k++)
            buffer_printf(&names, "%s\\\"x%d-%d\\\":0.1", k > 0 ? "," : "", i, k);
        AUTO_TEXT text = text_format(
            "{\"metadata\":{\"name\":\"j%d\",\"namespace\":\"default\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\","
            "\"annotations\":{\"wharf.dev/cluster\":\"w2\",\"wharf.dev/attempt\":\"2\",\"" MARK_USED
            "\":\"{\\\"seconds\\\":{%s}}\"}},\"spec\":{\"managedBy\":\"wharf.dev/host\",\"template\":{\"spec\":{"
            "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}",
            i, names.data);
        assert_int_equal(stage_apply(&stage, 0, "batch", "jobs", text), 201);
    }
    stage_run(&stage, CLOCK_MINUTE);
    size_t rows = engine_stats(stage.engine)->accounts->n_rows;
    assert_in_range(rows, ACCOUNTS_INVENTED / 2, ACCOUNTS_INVENTED + 3);
    stage_end(&stage);
}

static void claims_without_a_known_class_are_claims(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    accounts_submit(&stage, "a",
                    "'resourceClaims':[{'name':'x','resourceClaimTemplateName':'t'},{'name':'y','resourceClaimName':"
                    "'shared'}],");
    stage_run(&stage, CLOCK_SECOND);
    accounts_runs(&stage, 1, "a", 0);
    stage_run(&stage, 10 * CLOCK_SECOND);
    double seconds = accounts_used_in(&stage, "w1", NULL);
    accounts_near(accounts_used_in(&stage, "w1", "resourceclaims"), 3 * seconds,
                  0.001); // one for each pod, one for both
    stage_end(&stage);
}

static void many_namespaces_share_an_account_in_the_end(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    for (int i = 0; i < 2005; i++) {
        AUTO_TEXT space = text_format("n%d", i);
        stage.space = space;
        AUTO_TEXT object = text_format("{'metadata':{'name':'%s'}}", space);
        for (size_t c = 0; c < STAGE_CLUSTERS; c++)
            assert_int_equal(stage_apply(&stage, c, "", "namespaces", object), 201);
        accounts_submit(&stage, "a", "");
        stage_run(&stage, 20 * CLOCK_MS);
        size_t cluster = stage_where(&stage, "a");
        assert_int_equal(stage_patch(&stage, cluster, "a", "status", "{'status':{'active':2,'ready':1}}"), 200);
        stage_run(&stage, 2 * CLOCK_MS);
    }
    const struct account_sums *sums = engine_stats(stage.engine)->accounts;
    size_t others = 0;
    uint64_t running = 0;
    for (size_t i = 0; i < sums->n_rows; i++) {
        others += !*sums->rows[i].namespace_;
        running += sums->rows[i].running;
    }
    assert_int_equal(sums->n_rows, 2001);
    assert_int_equal(others, 1);
    assert_int_equal(running, 2005);
    stage.space = NULL;
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_workload_uses_from_its_start_to_its_end),
        cmocka_unit_test(pods_that_do_not_start_use_nothing),
        cmocka_unit_test(a_restart_knows_the_start_and_counts_nothing_twice),
        cmocka_unit_test(both_attempts_count),
        cmocka_unit_test(a_kill_in_the_middle_of_a_move_loses_nothing),
        cmocka_unit_test(three_attempts_add_up),
        cmocka_unit_test(a_copy_of_a_workload_counts_nothing_of_the_other_one),
        cmocka_unit_test(clocks_of_workers_may_differ),
        cmocka_unit_test(a_late_end_takes_nothing_back_from_the_counter),
        cmocka_unit_test(a_clock_that_is_set_changes_nothing),
        cmocka_unit_test(a_replica_counts_while_it_leads),
        cmocka_unit_test(without_a_start_time_it_runs_since_it_was_seen),
        cmocka_unit_test(suspended_parts_do_not_count),
        cmocka_unit_test(elastic_workloads_count_what_they_request_at_the_time),
        cmocka_unit_test(a_lost_worker_uses_until_it_is_given_up),
        cmocka_unit_test(an_annotation_counts_no_more_than_the_age),
        cmocka_unit_test(invented_workers_leave_room_for_accounts),
        cmocka_unit_test(claims_without_a_known_class_are_claims),
        cmocka_unit_test(many_namespaces_share_an_account_in_the_end),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
