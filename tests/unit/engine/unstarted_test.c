// SPDX-License-Identifier: Apache-2.0
// Mirrors that do not start and workers that reject: withdrawn, tried elsewhere, and given up in the end.
#include "tests/unit/engine/stage.h"

#include <string.h>

#define HOUR (60 * CLOCK_MINUTE)
#define PENDING (60 * CLOCK_SECOND)
#define QUEUED "{'status':{'active':1,'ready':0,'startTime':'2026-03-01T12:00:01Z'}}"

static unsigned both; // times at which two mirrors existed

static void count_mirrors(struct stage *stage, size_t cluster, const struct world_write *write) {
    (void)cluster;
    (void)write;
    both += stage_job(stage, 1, "a") && stage_job(stage, 2, "a");
}

static void change(struct stage *stage, size_t cluster, const char *subresource, const char *patch) {
    assert_int_equal(stage_patch(stage, cluster, "a", subresource, patch), 200);
}

static void evict(struct stage *stage, size_t cluster) {
    change(stage, cluster, NULL, "{'spec':{'suspend':true}}");
    change(stage, cluster, "status", "{'status':{'active':0,'ready':0,'startTime':null}}");
}

// The workload's annotations after so long; 0: any.
static void expect(struct stage *stage, int64_t ns, size_t where, unsigned attempt) {
    stage_run(stage, ns);
    assert_true(where == 0 || stage_where(stage, "a") == where);
    assert_true(attempt == 0 || stage_attempt(stage, "a") == attempt);
}

static int refuse_creates(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->request.verb == VERB_CREATE && command->cluster > 0 ? 403 : STAGE_PASS;
}

static unsigned all_sent(const struct stage *stage) {
    unsigned sum = 0;
    for (size_t c = 0; c < STAGE_CLUSTERS; c++)
        for (size_t v = 0; v < STATS_VERBS; v++)
            sum += stage->sent[c][v];
    return sum;
}

static const char *failed_reason(struct stage *stage, const char *type, const char *member) {
    for (const struct json *c = json_first(pointer_find(stage_job(stage, 0, "a"), "/status/conditions")); c;
         c = json_next(c))
        if (text_equal(json_string(json_get(c, "type")), type))
            return json_string_or(json_get(c, member), "");
    return NULL;
}

static void expect_gave_up(struct stage *stage, bool gave_up) {
    const char *reason = failed_reason(stage, "Failed", "reason");
    assert_string_equal(reason ? reason : "", gave_up ? "NoClusterAccepts" : "");
}

static void a_mirror_that_does_not_start_is_tried_elsewhere(struct stage *stage) {
    expect(stage, 0, 1, 0);
    assert_non_null(stage_job(stage, 1, "a"));
    expect(stage, 10 * CLOCK_SECOND, 2, 2);
    assert_true(!stage_job(stage, 1, "a") && stage_job(stage, 2, "a"));
    assert_int_equal(stage_told(stage, "Withdrawn: the mirror in cluster w1 did not start within 1m"), 1);
    assert_int_equal(stage_told(stage, "Rescheduled: the mirror did not start in w1; placed in w2 (attempt 2)"), 1);
    stage_runs(stage, 2, "a");
    expect(stage, HOUR, 0, 2);
}

// The longest duration that the configuration takes: 292 years.
static void the_longest_timeout_does_not_end_at_once(struct stage *stage) {
    expect(stage, 0, 1, 1);
    assert_non_null(stage_job(stage, 1, "a"));
}

static void without_a_timeout_it_waits(struct stage *stage) {
    expect(stage, 0, 0, 1);
    expect_gave_up(stage, false);
}

// The request is on its way when the worker starts it.
static int start_before_delete(struct stage *stage, const struct command *command) {
    if (command->request.verb != VERB_DELETE || stage->ctx)
        return STAGE_PASS;
    stage->ctx = stage;
    stage_runs(stage, command->cluster, "a");
    return STAGE_PASS;
}

static void one_that_starts_in_the_last_moment_stays(struct stage *stage) {
    assert_non_null(stage->ctx);
    expect(stage, 0, 0, 1);
    assert_non_null(stage_job(stage, 1, "a"));
    assert_null(pointer_find(stage_job(stage, 1, "a"), "/metadata/deletionTimestamp"));
    assert_int_equal(stage->sent[1][VERB_DELETE], 1);
    stage_completes(stage, 1, "a");
    stage_run(stage, CLOCK_SECOND);
    assert_true(stage_finished(stage, "a"));
}

static void pods_that_never_ran_have_not_started_and_those_that_did_have(struct stage *stage) {
    change(stage, 1, "status", QUEUED);
    expect(stage, 65 * CLOCK_SECOND, 2, 0);
    stage_runs(stage, 2, "a");
    stage_run(stage, CLOCK_SECOND);
    change(stage, 2, "status", QUEUED); // its pod is started again
    expect(stage, HOUR, 2, 2);
}

static void one_that_was_evicted_has_the_same_time_to_start_again(struct stage *stage) {
    stage_runs(stage, 1, "a");
    stage_run(stage, HOUR);
    evict(stage, 1);
    expect(stage, 55 * CLOCK_SECOND, 1, 0);
    expect(stage, 10 * CLOCK_SECOND, 2, 0);
    assert_int_equal(stage_told(stage, "Withdrawn: the mirror in cluster w1 did not start within 1m"), 1);
}

static void a_suspended_workload_stays_and_has_the_whole_time_once_it_is_resumed(struct stage *stage) {
    change(stage, 0, NULL, "{'spec':{'suspend':true}}");
    expect(stage, HOUR, 0, 1);
    change(stage, 0, NULL, "{'spec':{'suspend':false}}");
    expect(stage, 55 * CLOCK_SECOND, 0, 1);
    expect(stage, 10 * CLOCK_SECOND, 0, 2);
}

static void when_all_were_tried_it_starts_over_with_growing_pauses(struct stage *stage) {
    assert_true(!stage_job(stage, 1, "a") && !stage_job(stage, 2, "a"));
    expect(stage, 0, 0, 2);
    expect(stage, 20 * CLOCK_SECOND, 0, 2);
    assert_int_equal(stage_told(stage, "Unschedulable: 0/2 workers accept it: w1 did not start; w2 did not start"), 1);
    expect(stage, 30 * CLOCK_SECOND, 0, 3);
    unsigned before = all_sent(stage);
    stage_run(stage, 2 * HOUR);
    assert_in_range(stage_attempt(stage, "a"), 12, 40);
    assert_in_range(all_sent(stage) - before, 30, 120);
}

// Each mirror runs for a second, soon after it was created, and is evicted.
static void start_all_for_a_moment(struct stage *stage, int64_t ns) {
    unsigned seen = 0;
    for (int64_t end_ns = stage->now.mono_ns + ns; stage->now.mono_ns < end_ns;) {
        size_t where = stage_where(stage, "a");
        bool fresh = stage_job(stage, where, "a") && stage_attempt(stage, "a") != seen;
        if (fresh) {
            seen = stage_attempt(stage, "a");
            stage_runs(stage, where, "a");
            stage_run(stage, CLOCK_SECOND);
            evict(stage, where);
        }
        stage_run(stage, CLOCK_SECOND);
    }
}

static void those_that_start_for_a_moment_only_are_tried_with_growing_pauses(struct stage *stage) {
    start_all_for_a_moment(stage, 2 * HOUR);
    assert_in_range(stage_attempt(stage, "a"), 12, 40);
}

static void what_starts_for_a_moment_only_fails_in_the_end(struct stage *stage) {
    start_all_for_a_moment(stage, 7 * CLOCK_MINUTE);
    expect_gave_up(stage, false);
    start_all_for_a_moment(stage, 8 * CLOCK_MINUTE);
    expect_gave_up(stage, true);
}

// It was not started in w1, and is evicted from w2. Whether or not its status changes meanwhile.
static void check_forgotten(struct stage *stage, int64_t runs_ns, bool forgotten) {
    expect(stage, 0, 2, 2);
    stage_runs(stage, 2, "a");
    stage_run(stage, runs_ns);
    evict(stage, 2);
    expect(stage, 65 * CLOCK_SECOND, forgotten ? 1 : 2, forgotten ? 3 : 2);
    expect(stage, 45 * CLOCK_SECOND, 0, 3); // at the latest with the next round
}

static void a_worker_is_not_tried_again_after_one_that_ran_for_a_second(struct stage *stage) {
    check_forgotten(stage, CLOCK_SECOND, false);
}

static void nor_after_one_that_ran_almost_as_long_as_the_timeout(struct stage *stage) {
    check_forgotten(stage, PENDING - CLOCK_SECOND, false);
}

static void what_was_tried_is_forgotten_once_it_ran_as_long_as_the_timeout(struct stage *stage) {
    check_forgotten(stage, PENDING + CLOCK_SECOND, true);
}

static void what_was_tried_is_forgotten_once_it_ran_for_hours(struct stage *stage) {
    check_forgotten(stage, 3 * HOUR, true);
}

static void what_no_worker_starts_fails_in_the_end(struct stage *stage) {
    expect_gave_up(stage, true);
    assert_string_equal(failed_reason(stage, "FailureTarget", "reason"), "NoClusterAccepts");
    assert_string_equal(failed_reason(stage, "Failed", "message"),
                        "not started within 5m; 0/2 workers accept it: w1 did not start; w2 did not start");
    assert_int_equal(stage_told(stage, "GaveUp: not started within 5m"), 1);
    unsigned before = all_sent(stage);
    stage_run(stage, HOUR);
    assert_int_equal(all_sent(stage), before);
    assert_true(!stage_job(stage, 1, "a") && !stage_job(stage, 2, "a"));
}

static void what_all_workers_reject_fails_in_the_end(struct stage *stage) {
    expect_gave_up(stage, false);
    stage_run(stage, CLOCK_MINUTE);
    expect_gave_up(stage, true);
    assert_non_null(strstr(failed_reason(stage, "Failed", "message"), "w1 forbidden; w2 forbidden"));
}

// Rule 9: it might accept it.
static void nothing_is_given_up_while_a_worker_is_unreachable_for_a_short_time(struct stage *stage) {
    expect_gave_up(stage, false);
    stage_run(stage, 5 * CLOCK_MINUTE); // workerLostTimeout is over
    expect_gave_up(stage, true);
}

static void a_kind_without_words_for_it_waits_for_a_retry(struct stage *stage) {
    stage->kind->abi.gave_up_status = NULL;
    stage_run(stage, 3 * CLOCK_MINUTE);
    assert_int_equal(stage_told(stage, "GaveUp: not started within 1m; 0/2 workers accept it: w1 "
                                       "forbidden; w2 forbidden. The host tries again"),
                     1);
    unsigned before = all_sent(stage);
    stage_run(stage, HOUR);
    assert_int_equal(all_sent(stage), before);
    stage->meddle = NULL;
    change(stage, 0, NULL, "{'metadata':{'annotations':{'wharf.dev/retry':'1'}}}");
    stage_run(stage, CLOCK_SECOND);
    assert_true(stage_job(stage, 1, "a") || stage_job(stage, 2, "a"));
}

static void a_retry_tries_again_where_it_did_not_start(struct stage *stage) {
    expect(stage, 0, 0, 2);
    change(stage, 0, NULL, "{'metadata':{'annotations':{'wharf.dev/retry':'1'}}}");
    expect(stage, CLOCK_SECOND, 0, 3);
}

static void space_changes(struct stage *stage, size_t cluster, const char *name) {
    struct engine_event event = {
        .type = EVENT_NAMESPACE, .cluster = cluster, .namespace_ = {NAMESPACE_SEEN, name, NULL}};
    stage_step(stage, &event);
    stage_run(stage, CLOCK_SECOND);
}

static void a_changed_namespace_or_quota_tries_again_at_once_but_not_always(struct stage *stage) {
    expect(stage, 0, 0, 2);
    space_changes(stage, 2, "other");
    expect(stage, 0, 0, 2);
    space_changes(stage, 2, "default");
    expect(stage, 0, 2, 3);
    stage_run(stage, 62 * CLOCK_SECOND); // not started again
    unsigned before = all_sent(stage);
    for (int i = 0; i < 10; i++) // and its quota changes all the time
        space_changes(stage, 1, NULL);
    assert_in_range(stage_attempt(stage, "a"), 3, 5);
    assert_in_range(all_sent(stage) - before, 0, 8);
}

// A placement that the management cluster does not take yet.
static int refuse_second_placements(struct stage *stage, const struct command *command) {
    bool places =
        command->cluster == 0 && command->request.body && strstr(command->request.body, MARK_CLUSTER "\":\"w2");
    return places && !stage->ctx ? 503 : STAGE_PASS;
}

static void a_changed_namespace_is_no_reason_to_prefer_a_worker_already_tried(struct stage *stage) {
    expect(stage, 0, 1, 1);
    assert_null(stage_job(stage, 1, "a"));
    change(stage, 0, NULL, "{'metadata':{'annotations':{'wharf.dev/cluster-names':'w1,w2'}}}");
    stage->ctx = stage;
    space_changes(stage, 1, NULL);
    expect(stage, 30 * CLOCK_SECOND, 2, 2);
}

static int lose_deletes(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->request.verb == VERB_DELETE ? STAGE_UNHEARD : STAGE_PASS;
}

static void a_withdrawal_without_an_answer_is_seen_in_the_watch(struct stage *stage) {
    expect(stage, 0, 2, 2);
}

// It counts from the creation of the mirror, which has never started.
static void a_restarted_host_goes_on_counting(struct stage *stage) {
    stage_restart(stage);
    expect(stage, 25 * CLOCK_SECOND, 2, 0);
}

#define TEST(name) #name, name

// A workload is submitted, and `first_ns` pass, before each.
static const struct test {
    const char *name;
    void (*check)(struct stage *stage);
    int64_t pending_timeout_ns, give_up_after_ns, first_ns;
    int (*meddle)(struct stage *stage, const struct command *command);
    bool w2_is_lost;
} tests[] = {
    {TEST(a_mirror_that_does_not_start_is_tried_elsewhere), PENDING, 0, 55 * CLOCK_SECOND, NULL, false},
    {TEST(the_longest_timeout_does_not_end_at_once), INT64_MAX, INT64_MAX, HOUR, NULL, false},
    {TEST(without_a_timeout_it_waits), 0, HOUR, 5 * HOUR, NULL, false},
    {TEST(one_that_starts_in_the_last_moment_stays), PENDING, 0, 10 * CLOCK_MINUTE, start_before_delete, false},
    {TEST(pods_that_never_ran_have_not_started_and_those_that_did_have), PENDING, 0, CLOCK_SECOND, NULL, false},
    {TEST(one_that_was_evicted_has_the_same_time_to_start_again), PENDING, 0, CLOCK_SECOND, NULL, false},
    {TEST(a_suspended_workload_stays_and_has_the_whole_time_once_it_is_resumed), PENDING, 0, 30 * CLOCK_SECOND, NULL,
     false},
    {TEST(when_all_were_tried_it_starts_over_with_growing_pauses), PENDING, 0, 125 * CLOCK_SECOND, NULL, false},
    {TEST(those_that_start_for_a_moment_only_are_tried_with_growing_pauses), PENDING, 0, 0, NULL, false},
    {TEST(what_starts_for_a_moment_only_fails_in_the_end), PENDING, 8 * CLOCK_MINUTE, 0, NULL, false},
    {TEST(a_worker_is_not_tried_again_after_one_that_ran_for_a_second), PENDING, 0, 65 * CLOCK_SECOND, NULL, false},
    {TEST(nor_after_one_that_ran_almost_as_long_as_the_timeout), PENDING, 0, 65 * CLOCK_SECOND, NULL, false},
    {TEST(what_was_tried_is_forgotten_once_it_ran_as_long_as_the_timeout), PENDING, 0, 65 * CLOCK_SECOND, NULL, false},
    {TEST(what_was_tried_is_forgotten_once_it_ran_for_hours), PENDING, 0, 65 * CLOCK_SECOND, NULL, false},
    {TEST(what_no_worker_starts_fails_in_the_end), PENDING, 5 * CLOCK_MINUTE, 10 * CLOCK_MINUTE, NULL, false},
    {TEST(what_all_workers_reject_fails_in_the_end), 0, CLOCK_MINUTE, 55 * CLOCK_SECOND, refuse_creates, false},
    {TEST(nothing_is_given_up_while_a_worker_is_unreachable_for_a_short_time), 0, CLOCK_MINUTE, 4 * CLOCK_MINUTE,
     refuse_creates, true},
    {TEST(a_kind_without_words_for_it_waits_for_a_retry), 0, CLOCK_MINUTE, 0, refuse_creates, false},
    {TEST(a_retry_tries_again_where_it_did_not_start), PENDING, 0, 125 * CLOCK_SECOND, NULL, false},
    {TEST(a_changed_namespace_or_quota_tries_again_at_once_but_not_always), PENDING, 0, 125 * CLOCK_SECOND, NULL,
     false},
    {TEST(a_changed_namespace_is_no_reason_to_prefer_a_worker_already_tried), PENDING, 0, 62 * CLOCK_SECOND,
     refuse_second_placements, false},
    {TEST(a_withdrawal_without_an_answer_is_seen_in_the_watch), PENDING, 0, 100 * CLOCK_SECOND, lose_deletes, false},
    {TEST(a_restarted_host_goes_on_counting), PENDING, 0, 40 * CLOCK_SECOND, NULL, false},
};

static void run(void **state) {
    const struct test *test = *state;
    struct stage stage;
    stage_init(&stage);
    stage.options.settings.placement.otherwise.pending_timeout_ns = test->pending_timeout_ns;
    stage.options.settings.placement.otherwise.give_up_after_ns = test->give_up_after_ns;
    stage.wrote = count_mirrors;
    stage.meddle = test->meddle;
    both = 0;
    stage_start(&stage);
    if (test->w2_is_lost)
        stage_disconnect(&stage, 2);
    stage_submit(&stage, "a", "");
    stage_run(&stage, test->first_ns);
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
