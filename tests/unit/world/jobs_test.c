// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/world/helper.h"

struct outcome {
    const char *name, *spec, *annotations;
    const char *end, *reason; // condition that is True at the end, and its reason
    int64_t succeeded, failed;
    const char *completed, *lost; // index lists
    uint64_t writes;              // of the status; 0: not checked
};

static const struct outcome outcomes[] = {
    {"plain", "", "\"world.test/duration\":\"2s\"", "Complete", "CompletionsReached", 1, 0, "", "", 4},
    {"wide", "\"parallelism\":5,\"completions\":5", "", "Complete", "CompletionsReached", 5, 0, "", "", 4},
    {"waves", "\"parallelism\":2,\"completions\":4", "", "Complete", "CompletionsReached", 4, 0, "", "", 0},
    {"no-completions", "\"parallelism\":2", "", "Complete", "CompletionsReached", 2, 0, "", "", 4},
    {"indexed", "\"parallelism\":3,\"completions\":3,\"completionMode\":\"Indexed\"", "", "Complete",
     "CompletionsReached", 3, 0, "0-2", "", 4},
    {"fails-twice", "", "\"world.test/fail\":\"2\"", "Complete", "CompletionsReached", 1, 2, "", "", 0},
    {"always-fails", "\"backoffLimit\":1", "\"world.test/fail\":\"all\"", "Failed", "BackoffLimitExceeded", 0, 2, "",
     "", 0},
    {"bad-indexes", "\"parallelism\":4,\"completions\":4,\"completionMode\":\"Indexed\",\"backoffLimitPerIndex\":1",
     "\"world.test/fail\":\"index:1,3\"", "Failed", "FailedIndexes", 2, 4, "0,2", "1,3", 0},
    {"too-many-bad",
     "\"parallelism\":4,\"completions\":4,\"completionMode\":\"Indexed\",\"backoffLimitPerIndex\":0,"
     "\"maxFailedIndexes\":1",
     "\"world.test/fail\":\"index:1,3\"", "Failed", "MaxFailedIndexesExceeded", 2, 2, "0,2", "1,3", 0},
    {"deadline", "\"activeDeadlineSeconds\":1", "\"world.test/duration\":\"20s\"", "Failed", "DeadlineExceeded", 0, 1,
     "", "", 0},
    {"nothing-to-do", "\"completions\":0", "", "Complete", "CompletionsReached", 0, 0, "", "", 0},
    {"one-write", "", "\"world.test/changes\":\"1\"", "Complete", "CompletionsReached", 1, 0, "", "", 1},
    {"two-writes", "", "\"world.test/changes\":\"2\"", "Complete", "CompletionsReached", 1, 0, "", "", 2},
    {"three-writes", "", "\"world.test/changes\":\"3\"", "Complete", "CompletionsReached", 1, 0, "", "", 3},
    {"nine-writes", "\"parallelism\":2,\"completions\":2,\"completionMode\":\"Indexed\"",
     "\"world.test/changes\":\"9\"", "Complete", "CompletionsReached", 2, 0, "0-1", "", 9},
    {"five-writes-fail", "\"backoffLimit\":0", "\"world.test/changes\":\"5\",\"world.test/fail\":\"all\"", "Failed",
     "BackoffLimitExceeded", 0, 1, "", "", 5},
};

static void a_job_ends_as_its_annotations_say(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++) {
        const struct outcome *want = &outcomes[i];
        struct fixture fixture;
        begin(&fixture, &(struct world_options){.seed = i});
        make_job(&fixture, want->name, want->spec, want->annotations);
        run_until(&fixture, 60 * CLOCK_SECOND);
        const struct json *job = job_of(&fixture, want->name);
        print_message("%s\n", want->name);
        assert_true(is_true(job, want->end));
        assert_string_equal(text_at(condition_of(job, want->end), "/reason"), want->reason);
        assert_int_equal(number_at(job, "/status/succeeded"), want->succeeded);
        assert_int_equal(number_at(job, "/status/failed"), want->failed);
        assert_int_equal(number_at(job, "/status/active"), 0);
        assert_int_equal(number_at(job, "/status/terminating"), 0);
        assert_string_equal(text_at(job, "/status/completedIndexes"), want->completed);
        assert_string_equal(text_at(job, "/status/failedIndexes"), want->lost);
        assert_true(is_true(job, strcmp(want->end, "Failed") == 0 ? "FailureTarget" : "SuccessCriteriaMet"));
        if (want->writes)
            assert_int_equal(world_counts(fixture.cluster)->internal[WORLD_UPDATE_STATUS], want->writes);
        end(&fixture);
    }
}

static void held_pods_end_once_they_are_let(void **state) {
    (void)state;
    struct fixture fixture;
    begin(&fixture, &(struct world_options){.seed = 1});
    make_job(&fixture, "held", "", "\"world.test/hold\":\"true\",\"world.test/duration\":\"2s\"");
    run_until(&fixture, 3600 * CLOCK_SECOND);
    assert_int_equal(number_at(job_of(&fixture, "held"), "/status/ready"), 1);
    world_let_end(fixture.cluster, true, fixture.now_ns);
    run_until(&fixture, 3610 * CLOCK_SECOND);
    assert_true(is_true(job_of(&fixture, "held"), "Complete"));
    world_let_end(fixture.cluster, false, fixture.now_ns);
    make_job(&fixture, "again", "", "\"world.test/hold\":\"true\"");
    run_until(&fixture, 3700 * CLOCK_SECOND);
    assert_int_equal(number_at(job_of(&fixture, "again"), "/status/ready"), 1);
    end(&fixture);
}

static void a_job_that_someone_else_manages_is_left_alone(void **state) {
    (void)state;
    struct fixture fixture;
    begin(&fixture, &(struct world_options){0});
    make_job(&fixture, "foreign", "\"managedBy\":\"example.org/other\"", "");
    make_job(&fixture, "own", "\"managedBy\":\"kubernetes.io/job-controller\"", "");
    run_until(&fixture, 20 * CLOCK_SECOND);
    assert_int_equal(json_size(json_get(job_of(&fixture, "foreign"), "status")), 0);
    assert_true(is_true(job_of(&fixture, "own"), "Complete"));
    end(&fixture);
}

static void a_suspended_job_stops_its_pods_and_starts_anew(void **state) {
    (void)state;
    struct fixture fixture;
    begin(&fixture, &(struct world_options){0});
    make_job(&fixture, "a", "\"parallelism\":2,\"completions\":2", "\"world.test/duration\":\"10s\"");
    run_until(&fixture, 2 * CLOCK_SECOND);
    assert_int_equal(number_at(job_of(&fixture, "a"), "/status/ready"), 2);
    assert_int_equal(ask(&fixture, "PATCH", JOBS "/a", "{\"spec\":{\"suspend\":true}}", NULL), 200);
    run_until(&fixture, 4 * CLOCK_SECOND);
    const struct json *job = job_of(&fixture, "a");
    assert_true(is_true(job, "Suspended"));
    assert_null(pointer_find(job, "/status/startTime"));
    assert_int_equal(number_at(job, "/status/active"), 0);
    assert_int_equal(number_at(job, "/status/failed"), 0);
    assert_int_equal(ask(&fixture, "PATCH", JOBS "/a", "{\"spec\":{\"suspend\":false}}", NULL), 200);
    run_until(&fixture, 5 * CLOCK_SECOND);
    assert_string_equal(text_at(job_of(&fixture, "a"), "/status/startTime"), "2026-01-01T00:00:04Z");
    assert_false(is_true(job_of(&fixture, "a"), "Suspended"));
    run_until(&fixture, 30 * CLOCK_SECOND);
    assert_true(is_true(job_of(&fixture, "a"), "Complete"));
    end(&fixture);
}

static void scaling_changes_the_number_of_pods(void **state) {
    (void)state;
    struct fixture fixture;
    begin(&fixture, &(struct world_options){0});
    make_job(&fixture, "a", "\"parallelism\":2,\"completions\":8", "\"world.test/duration\":\"100s\"");
    run_until(&fixture, 2 * CLOCK_SECOND);
    static const int64_t sizes[] = {5, 1, 0, 3};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        AUTO_TEXT patch = text_format("{\"spec\":{\"parallelism\":%lld}}", (long long)sizes[i]);
        assert_int_equal(ask(&fixture, "PATCH", JOBS "/a", patch, NULL), 200);
        run_until(&fixture, (int64_t)(i + 2) * 2 * CLOCK_SECOND);
        assert_int_equal(number_at(job_of(&fixture, "a"), "/status/active"), sizes[i]);
        assert_int_equal(number_at(job_of(&fixture, "a"), "/status/failed"), 0);
    }
    end(&fixture);
}

static void a_finished_job_expires_after_its_ttl(void **state) {
    (void)state;
    struct fixture fixture;
    begin(&fixture, &(struct world_options){0});
    make_job(&fixture, "a", "\"ttlSecondsAfterFinished\":30", "\"world.test/duration\":\"1s\"");
    run_until(&fixture, 20 * CLOCK_SECOND);
    assert_true(is_true(job_of(&fixture, "a"), "Complete"));
    run_until(&fixture, 60 * CLOCK_SECOND);
    assert_null(job_of(&fixture, "a"));
    end(&fixture);
}

static void pods_exist_where_they_are_asked_for(void **state) {
    (void)state;
    struct fixture fixture;
    begin(&fixture, &(struct world_options){.pods = true});
    make_job(&fixture, "a", "\"parallelism\":3,\"completions\":3", "\"world.test/duration\":\"1s\"");
    run_until(&fixture, CLOCK_SECOND);
    assert_int_equal(world_count(fixture.cluster, "", "pods"), 3);
    assert_int_equal(world_delete(fixture.cluster, "batch", "jobs", "default", "a", "Background", fixture.now_ns), 200);
    run_until(&fixture, 2 * CLOCK_SECOND);
    assert_int_equal(world_count(fixture.cluster, "", "pods"), 0);
    // Without a policy the pods of a batch/v1 Job are orphaned.
    make_job(&fixture, "b", "", "\"world.test/duration\":\"50s\"");
    run_until(&fixture, 3 * CLOCK_SECOND);
    assert_int_equal(world_delete(fixture.cluster, "batch", "jobs", "default", "b", NULL, fixture.now_ns), 200);
    run_until(&fixture, 4 * CLOCK_SECOND);
    assert_null(job_of(&fixture, "b"));
    assert_int_equal(world_count(fixture.cluster, "", "pods"), 1);
    end(&fixture);
}

static void a_cronjob_makes_jobs_and_keeps_few_of_them(void **state) {
    (void)state;
    struct fixture fixture;
    begin(&fixture, &(struct world_options){0});
    const char *body = "{\"metadata\":{\"name\":\"c\",\"annotations\":{\"world.test/interval\":\"10s\"}},\"spec\":{"
                       "\"schedule\":\"* * * * *\",\"successfulJobsHistoryLimit\":2,\"jobTemplate\":{\"metadata\":{"
                       "\"labels\":{\"x\":\"1\"},\"annotations\":{\"world.test/duration\":\"1s\"}},"
                       "\"spec\":{\"template\":{\"spec\":" POD_SPEC "}}}}}";
    assert_int_equal(ask(&fixture, "POST", "/apis/batch/v1/namespaces/default/cronjobs", body, NULL), 201);
    run_until(&fixture, 95 * CLOCK_SECOND);
    size_t jobs = world_count(fixture.cluster, "batch", "jobs");
    assert_true(jobs == 2 || jobs == 3);
    const void *cursor = NULL;
    const struct json *job = world_next(fixture.cluster, "batch", "jobs", &cursor);
    assert_string_equal(text_at(job, "/metadata/ownerReferences/0/name"), "c");
    assert_string_equal(text_at(job, "/metadata/labels/x"), "1");
    assert_int_equal(world_counts(fixture.cluster)->internal[WORLD_CREATE], 10);
    assert_int_equal(world_delete(fixture.cluster, "batch", "cronjobs", "default", "c", "Background", fixture.now_ns),
                     200);
    run_until(&fixture, 97 * CLOCK_SECOND);
    assert_int_equal(world_count(fixture.cluster, "batch", "jobs"), 0);
    end(&fixture);
}

// Kubernetes 1.37 with WorkloadWithJob, and servers without.
static void a_gang_is_kept_where_the_server_has_gangs_and_only_its_size_changes(void **state) {
    (void)state;
    static const struct {
        const char *patch;
        int status;
    } cases[] = {
        {"{\"spec\":{\"scheduling\":{\"schedulingPolicy\":{\"gang\":{\"minCount\":2}}}}}", 200},
        {"{\"spec\":{\"scheduling\":{\"schedulingPolicy\":{\"gang\":{\"minCount\":4}}}}}", 422}, // above parallelism
        {"{\"spec\":{\"scheduling\":{\"schedulingPolicy\":{\"gang\":{\"minCount\":0}}}}}", 422},
        {"{\"spec\":{\"parallelism\":1}}", 422},
        {"{\"spec\":{\"scheduling\":{\"schedulingPolicy\":{\"gang\":{\"minCount\":null}}}}}", 200},
        {"{\"spec\":{\"scheduling\":{\"schedulingPolicy\":{\"gang\":null,\"basic\":{}}}}}", 422},
        {"{\"spec\":{\"scheduling\":{\"schedulingPolicy\":{\"basic\":{}}}}}", 422}, // both
        {"{\"spec\":{\"scheduling\":{\"schedulingPolicy\":null}}}", 422},
        {"{\"spec\":{\"scheduling\":{\"disruptionMode\":{\"all\":{}}}}}", 422},
        {"{\"spec\":{\"scheduling\":null}}", 422},
    };
    struct fixture fixture;
    begin(&fixture, &(struct world_options){.no_controllers = true});
    make_job(&fixture, "old", "\"parallelism\":3,\"scheduling\":{\"schedulingPolicy\":{\"gang\":{}}}", "");
    assert_null(pointer_find(job_of(&fixture, "old"), "/spec/scheduling"));
    world_set_scheduling(fixture.cluster, true);
    make_job(&fixture, "new", "\"parallelism\":3,\"scheduling\":{\"schedulingPolicy\":{\"gang\":{\"minCount\":3}}}",
             "");
    assert_non_null(pointer_find(job_of(&fixture, "new"), "/spec/scheduling/schedulingPolicy/gang"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = ask(&fixture, "PATCH", JOBS "/new", cases[i].patch, NULL);
        if (status != cases[i].status)
            fail_msg("%s: %d", cases[i].patch, status);
    }
    assert_int_equal(ask(&fixture, "PATCH", JOBS "/old", cases[0].patch, NULL), 422); // not set later
    end(&fixture);
}

struct given {
    const char *name, *spec, *annotations, *status; // of the Job, and given to it while it is suspended
    const char *end;                                // condition that is True at the end
    const char *pods;                               // indexes that ran, in the order of their pods
    int64_t succeeded, failed;
    const char *completed;
};

static const struct given givens[] = {
    {"indexed", "\"parallelism\":3,\"completions\":10,\"completionMode\":\"Indexed\"", "",
     "{\"completedIndexes\":\"0-4,7\",\"succeeded\":6}", "Complete", " 5 6 8 9", 10, 0, "0-9"},
    {"failed-indexes", "\"parallelism\":8,\"completions\":8,\"completionMode\":\"Indexed\",\"backoffLimitPerIndex\":1",
     "", "{\"completedIndexes\":\"0-2\",\"succeeded\":3,\"failedIndexes\":\"3,4\",\"failed\":4}", "Failed", " 5 6 7", 6,
     4, "0-2,5-7"},
    {"plain", "\"parallelism\":3,\"completions\":6", "", "{\"succeeded\":4}", "Complete", " -1 -1", 6, 0, ""},
    {"queue", "\"parallelism\":2", "", "{\"succeeded\":1}", "Complete", "", 1, 0, ""},
    {"backoff", "\"backoffLimit\":2", "\"world.test/fail\":\"all\"", "{\"failed\":2}", "Failed", " -1", 0, 3, ""},
    {"backoff-over", "\"backoffLimit\":2", "", "{\"failed\":3}", "Failed", "", 0, 3, ""},
    {"all", "\"parallelism\":2,\"completions\":5,\"completionMode\":\"Indexed\"", "",
     "{\"completedIndexes\":\"0-4\",\"succeeded\":5}", "Complete", "", 5, 0, "0-4"},
    {"mismatch", "\"parallelism\":5,\"completions\":5,\"completionMode\":\"Indexed\"", "",
     "{\"completedIndexes\":\"0-2\",\"succeeded\":5}", "Complete", " 3 4", 5, 0, "0-4"},
    {"too-many", "\"parallelism\":5,\"completions\":5", "", "{\"succeeded\":9}", "Complete", "", 9, 0, ""},
};

static void note_pod(void *ctx, const struct json *job, int64_t index) {
    (void)job;
    buffer_printf(ctx, " %lld", (long long)index);
}

static void a_suspended_job_that_is_given_a_status_goes_on_from_it(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof givens / sizeof *givens; i++) {
        const struct given *want = &givens[i];
        struct fixture fixture;
        AUTO_BUFFER(pods, 1 << 12);
        begin(&fixture, &(struct world_options){.seed = i});
        world_set_pod_hook(fixture.cluster, note_pod, &pods);
        AUTO_TEXT spec = text_format("%s%s\"suspend\":true", want->spec, *want->spec ? "," : "");
        make_job(&fixture, want->name, spec, want->annotations);
        run_until(&fixture, CLOCK_SECOND);
        AUTO_TEXT path = text_format(JOBS "/%s", want->name);
        AUTO_TEXT status = text_format(JOBS "/%s/status", want->name);
        AUTO_TEXT body = text_format("{\"status\":%s}", want->status);
        print_message("%s\n", want->name);
        assert_int_equal(ask(&fixture, "PATCH", status, body, NULL), 200);
        run_until(&fixture, 5 * CLOCK_SECOND);
        const struct json *job = job_of(&fixture, want->name);
        assert_false(is_true(job, want->end)); // the API server does not take it without a startTime
        assert_int_equal(pods.len, 0);
        assert_int_equal(ask(&fixture, "PATCH", path, "{\"spec\":{\"suspend\":false}}", NULL), 200);
        run_until(&fixture, 60 * CLOCK_SECOND);
        job = job_of(&fixture, want->name);
        assert_true(is_true(job, want->end));
        assert_string_equal(pods.len ? pods.data : "", want->pods);
        assert_int_equal(number_at(job, "/status/succeeded"), want->succeeded);
        assert_int_equal(number_at(job, "/status/failed"), want->failed);
        assert_string_equal(text_at(job, "/status/completedIndexes"), want->completed);
        end(&fixture);
    }
}

static void pods_that_end_one_by_one_are_counted_so(void **state) {
    (void)state;
    struct fixture fixture;
    begin(&fixture, &(struct world_options){0});
    make_job(&fixture, "a", "\"parallelism\":4,\"completions\":4,\"completionMode\":\"Indexed\"",
             "\"world.test/duration\":\"1s\",\"world.test/spread\":\"2s\"");
    run_until(&fixture, 4 * CLOCK_SECOND);
    assert_string_equal(text_at(job_of(&fixture, "a"), "/status/completedIndexes"), "0,1");
    run_until(&fixture, 6 * CLOCK_SECOND);
    assert_string_equal(text_at(job_of(&fixture, "a"), "/status/completedIndexes"), "0-2");
    run_until(&fixture, 60 * CLOCK_SECOND);
    assert_true(is_true(job_of(&fixture, "a"), "Complete"));
    end(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_ends_as_its_annotations_say),
        cmocka_unit_test(a_suspended_job_that_is_given_a_status_goes_on_from_it),
        cmocka_unit_test(pods_that_end_one_by_one_are_counted_so),
        cmocka_unit_test(held_pods_end_once_they_are_let),
        cmocka_unit_test(a_job_that_someone_else_manages_is_left_alone),
        cmocka_unit_test(a_suspended_job_stops_its_pods_and_starts_anew),
        cmocka_unit_test(scaling_changes_the_number_of_pods),
        cmocka_unit_test(a_finished_job_expires_after_its_ttl),
        cmocka_unit_test(pods_exist_where_they_are_asked_for),
        cmocka_unit_test(a_cronjob_makes_jobs_and_keeps_few_of_them),
        cmocka_unit_test(a_gang_is_kept_where_the_server_has_gangs_and_only_its_size_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
