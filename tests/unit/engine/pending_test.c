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

static void begin(struct stage *stage, int64_t timeout_ns, int64_t give_up_ns) {
    stage_init(stage);
    stage->options.settings.placement.otherwise.pending_timeout_ns = timeout_ns;
    stage->options.settings.placement.otherwise.give_up_after_ns = give_up_ns;
    stage->wrote = count_mirrors;
    both = 0;
}

static void end(struct stage *stage) {
    assert_int_equal(both, 0);
    stage_end(stage);
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

static void a_mirror_that_does_not_start_is_tried_elsewhere(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, PENDING, 0);
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 55 * CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 1);
    assert_non_null(stage_job(&stage, 1, "a"));
    stage_run(&stage, 10 * CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 2);
    assert_int_equal(stage_attempt(&stage, "a"), 2);
    assert_null(stage_job(&stage, 1, "a"));
    assert_non_null(stage_job(&stage, 2, "a"));
    assert_int_equal(stage_told(&stage, "Withdrawn: its mirror in cluster w1 did not start within 1m"), 1);
    assert_int_equal(stage_told(&stage, "Rescheduled: it did not start in w1; placed in w2 (attempt 2)"), 1);
    stage_runs(&stage, 2, "a");
    stage_run(&stage, HOUR);
    assert_int_equal(stage_attempt(&stage, "a"), 2);
    end(&stage);
}

// The longest duration that the configuration takes: 292 years.
static void the_longest_timeout_does_not_end_at_once(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, INT64_MAX, INT64_MAX);
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, HOUR);
    assert_int_equal(stage_where(&stage, "a"), 1);
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    assert_non_null(stage_job(&stage, 1, "a"));
    end(&stage);
}

static void without_a_timeout_it_waits(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, 0, HOUR);
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 5 * HOUR);
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    assert_null(failed_reason(&stage, "Failed", "reason"));
    end(&stage);
}

// The request is on its way when the worker starts it.
static int start_before_delete(struct stage *stage, const struct command *command) {
    if (command->request.verb != VERB_DELETE || stage->ctx)
        return STAGE_PASS;
    stage->ctx = stage;
    stage_runs(stage, command->cluster, "a");
    return STAGE_PASS;
}

static void one_that_starts_in_the_last_moment_stays(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, PENDING, 0);
    stage.meddle = start_before_delete;
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 10 * CLOCK_MINUTE);
    assert_non_null(stage.ctx);
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    assert_non_null(stage_job(&stage, 1, "a"));
    assert_null(pointer_find(stage_job(&stage, 1, "a"), "/metadata/deletionTimestamp"));
    assert_int_equal(stage.sent[1][VERB_DELETE], 1);
    stage_completes(&stage, 1, "a");
    stage_run(&stage, CLOCK_SECOND);
    assert_true(stage_finished(&stage, "a"));
    end(&stage);
}

static void pods_that_never_ran_have_not_started_and_those_that_did_have(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, PENDING, 0);
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_patch(&stage, 1, "a", "status", QUEUED), 200);
    stage_run(&stage, 65 * CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 2);
    stage_runs(&stage, 2, "a");
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_patch(&stage, 2, "a", "status", QUEUED), 200); // its pod is started again
    stage_run(&stage, HOUR);
    assert_int_equal(stage_where(&stage, "a"), 2);
    assert_int_equal(stage_attempt(&stage, "a"), 2);
    end(&stage);
}

static void one_that_was_evicted_has_the_same_time_to_start_again(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, PENDING, 0);
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_SECOND);
    stage_runs(&stage, 1, "a");
    stage_run(&stage, HOUR);
    assert_int_equal(stage_patch(&stage, 1, "a", NULL, "{'spec':{'suspend':true}}"), 200);
    assert_int_equal(stage_patch(&stage, 1, "a", "status", "{'status':{'active':0,'ready':0,'startTime':null}}"), 200);
    stage_run(&stage, 55 * CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 1);
    stage_run(&stage, 10 * CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 2);
    assert_int_equal(stage_told(&stage, "Withdrawn: its mirror in cluster w1 did not start within 1m"), 1);
    end(&stage);
}

static void a_suspended_workload_stays_and_has_the_whole_time_once_it_is_resumed(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, PENDING, 0);
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 30 * CLOCK_SECOND);
    assert_int_equal(stage_patch(&stage, 0, "a", NULL, "{'spec':{'suspend':true}}"), 200);
    stage_run(&stage, HOUR);
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    assert_int_equal(stage_patch(&stage, 0, "a", NULL, "{'spec':{'suspend':false}}"), 200);
    stage_run(&stage, 55 * CLOCK_SECOND);
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    stage_run(&stage, 10 * CLOCK_SECOND);
    assert_int_equal(stage_attempt(&stage, "a"), 2);
    end(&stage);
}

static void when_all_were_tried_it_starts_over_with_growing_pauses(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, PENDING, 0);
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 125 * CLOCK_SECOND); // both
    assert_null(stage_job(&stage, 1, "a"));
    assert_null(stage_job(&stage, 2, "a"));
    assert_int_equal(stage_attempt(&stage, "a"), 2);
    stage_run(&stage, 20 * CLOCK_SECOND);
    assert_int_equal(stage_attempt(&stage, "a"), 2);
    assert_int_equal(stage_told(&stage, "Unschedulable: 0/2 workers accept it: w1 did not start; w2 did not start"), 1);
    stage_run(&stage, 30 * CLOCK_SECOND);
    assert_int_equal(stage_attempt(&stage, "a"), 3);
    unsigned before = all_sent(&stage);
    stage_run(&stage, 2 * HOUR);
    assert_in_range(stage_attempt(&stage, "a"), 12, 40);
    assert_in_range(all_sent(&stage) - before, 30, 120);
    end(&stage);
}

static void evict(struct stage *stage, size_t cluster) {
    assert_int_equal(stage_patch(stage, cluster, "a", NULL, "{'spec':{'suspend':true}}"), 200);
    assert_int_equal(stage_patch(stage, cluster, "a", "status", "{'status':{'active':0,'ready':0,'startTime':null}}"),
                     200);
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

static void those_that_start_for_a_moment_only_are_tried_with_growing_pauses(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, PENDING, 0);
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    start_all_for_a_moment(&stage, 2 * HOUR);
    assert_in_range(stage_attempt(&stage, "a"), 12, 40);
    end(&stage);
}

static void what_starts_for_a_moment_only_fails_in_the_end(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, PENDING, 8 * CLOCK_MINUTE);
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    start_all_for_a_moment(&stage, 7 * CLOCK_MINUTE);
    assert_null(failed_reason(&stage, "Failed", "reason"));
    start_all_for_a_moment(&stage, 8 * CLOCK_MINUTE);
    assert_string_equal(failed_reason(&stage, "Failed", "reason"), "NoClusterAccepts");
    end(&stage);
}

// It was not started in w1, and is evicted from w2. Whether or not its status changes meanwhile.
static void check_forgotten(int64_t runs_ns, bool forgotten) {
    struct stage stage;
    begin(&stage, PENDING, 0);
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 65 * CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 2);
    stage_runs(&stage, 2, "a");
    stage_run(&stage, runs_ns);
    evict(&stage, 2);
    stage_run(&stage, 65 * CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), forgotten ? 1 : 2);
    assert_int_equal(stage_attempt(&stage, "a"), forgotten ? 3 : 2);
    stage_run(&stage, 45 * CLOCK_SECOND); // at the latest with the next round
    assert_int_equal(stage_attempt(&stage, "a"), 3);
    end(&stage);
}

static void what_was_tried_is_forgotten_once_it_ran_as_long_as_the_timeout(void **state) {
    (void)state;
    check_forgotten(CLOCK_SECOND, false);
    check_forgotten(PENDING - CLOCK_SECOND, false);
    check_forgotten(PENDING + CLOCK_SECOND, true);
    check_forgotten(3 * HOUR, true);
}

static void what_no_worker_starts_fails_in_the_end(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, PENDING, 5 * CLOCK_MINUTE);
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 10 * CLOCK_MINUTE);
    assert_string_equal(failed_reason(&stage, "Failed", "reason"), "NoClusterAccepts");
    assert_string_equal(failed_reason(&stage, "FailureTarget", "reason"), "NoClusterAccepts");
    assert_string_equal(
        failed_reason(&stage, "Failed", "message"),
        "no worker has started it within 5m; 0/2 workers accept it: w1 did not start; w2 did not start");
    assert_int_equal(stage_told(&stage, "GaveUp: no worker has started it within 5m"), 1);
    unsigned before = all_sent(&stage);
    stage_run(&stage, HOUR);
    assert_int_equal(all_sent(&stage), before);
    assert_null(stage_job(&stage, 1, "a"));
    assert_null(stage_job(&stage, 2, "a"));
    end(&stage);
}

static void what_all_workers_reject_fails_in_the_end(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, 0, CLOCK_MINUTE);
    stage.meddle = refuse_creates;
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 55 * CLOCK_SECOND);
    assert_null(failed_reason(&stage, "Failed", "reason"));
    stage_run(&stage, CLOCK_MINUTE);
    assert_string_equal(failed_reason(&stage, "Failed", "reason"), "NoClusterAccepts");
    assert_non_null(strstr(failed_reason(&stage, "Failed", "message"), "w1 forbidden; w2 forbidden"));
    end(&stage);
}

// Rule 9: it might accept it.
static void nothing_is_given_up_while_a_worker_is_unreachable_for_a_short_time(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, 0, CLOCK_MINUTE);
    stage.meddle = refuse_creates;
    stage_start(&stage);
    stage_disconnect(&stage, 2);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 4 * CLOCK_MINUTE);
    assert_null(failed_reason(&stage, "Failed", "reason"));
    stage_run(&stage, 5 * CLOCK_MINUTE); // workerLostTimeout is over
    assert_string_equal(failed_reason(&stage, "Failed", "reason"), "NoClusterAccepts");
    end(&stage);
}

static void a_kind_without_words_for_it_waits_for_a_retry(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, 0, CLOCK_MINUTE);
    stage.kind->abi.gave_up_status = NULL;
    stage.meddle = refuse_creates;
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 3 * CLOCK_MINUTE);
    assert_int_equal(stage_told(&stage, "GaveUp: no worker has started it within 1m; 0/2 workers accept it: w1 "
                                        "forbidden; w2 forbidden. It is tried again"),
                     1);
    unsigned before = all_sent(&stage);
    stage_run(&stage, HOUR);
    assert_int_equal(all_sent(&stage), before);
    stage.meddle = NULL;
    assert_int_equal(stage_patch(&stage, 0, "a", NULL, "{'metadata':{'annotations':{'wharf.dev/retry':'1'}}}"), 200);
    stage_run(&stage, CLOCK_SECOND);
    assert_true(stage_job(&stage, 1, "a") || stage_job(&stage, 2, "a"));
    end(&stage);
}

static void a_retry_tries_again_where_it_did_not_start(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, PENDING, 0);
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 125 * CLOCK_SECOND);
    assert_int_equal(stage_attempt(&stage, "a"), 2);
    assert_int_equal(stage_patch(&stage, 0, "a", NULL, "{'metadata':{'annotations':{'wharf.dev/retry':'1'}}}"), 200);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_attempt(&stage, "a"), 3);
    end(&stage);
}

static void space_changes(struct stage *stage, size_t cluster, const char *name) {
    struct engine_event event = {.type = EVENT_NAMESPACE, .cluster = cluster, .space = {NAMESPACE_SEEN, name, NULL}};
    stage_step(stage, &event);
    stage_run(stage, CLOCK_SECOND);
}

static void a_changed_namespace_or_quota_tries_again_at_once_but_not_always(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, PENDING, 0);
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 125 * CLOCK_SECOND); // both were tried
    assert_int_equal(stage_attempt(&stage, "a"), 2);
    space_changes(&stage, 2, "other");
    assert_int_equal(stage_attempt(&stage, "a"), 2);
    space_changes(&stage, 2, "default");
    assert_int_equal(stage_attempt(&stage, "a"), 3);
    assert_int_equal(stage_where(&stage, "a"), 2);
    stage_run(&stage, 62 * CLOCK_SECOND); // not started again
    unsigned before = all_sent(&stage);
    for (int i = 0; i < 10; i++) // and its quota changes all the time
        space_changes(&stage, 1, NULL);
    assert_in_range(stage_attempt(&stage, "a"), 3, 5);
    assert_in_range(all_sent(&stage) - before, 0, 8);
    end(&stage);
}

static int lose_deletes(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->request.verb == VERB_DELETE ? STAGE_UNHEARD : STAGE_PASS;
}

static void a_withdrawal_without_an_answer_is_seen_in_the_watch(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, PENDING, 0);
    stage.meddle = lose_deletes;
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 100 * CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 2);
    assert_int_equal(stage_attempt(&stage, "a"), 2);
    end(&stage);
}

// It counts from the creation of the mirror, which has never started.
static void a_restarted_host_goes_on_counting(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, PENDING, 0);
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 40 * CLOCK_SECOND);
    stage_restart(&stage);
    stage_run(&stage, 25 * CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 2);
    end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mirror_that_does_not_start_is_tried_elsewhere),
        cmocka_unit_test(the_longest_timeout_does_not_end_at_once),
        cmocka_unit_test(without_a_timeout_it_waits),
        cmocka_unit_test(one_that_starts_in_the_last_moment_stays),
        cmocka_unit_test(pods_that_never_ran_have_not_started_and_those_that_did_have),
        cmocka_unit_test(one_that_was_evicted_has_the_same_time_to_start_again),
        cmocka_unit_test(a_suspended_workload_stays_and_has_the_whole_time_once_it_is_resumed),
        cmocka_unit_test(when_all_were_tried_it_starts_over_with_growing_pauses),
        cmocka_unit_test(those_that_start_for_a_moment_only_are_tried_with_growing_pauses),
        cmocka_unit_test(what_starts_for_a_moment_only_fails_in_the_end),
        cmocka_unit_test(what_was_tried_is_forgotten_once_it_ran_as_long_as_the_timeout),
        cmocka_unit_test(what_no_worker_starts_fails_in_the_end),
        cmocka_unit_test(what_all_workers_reject_fails_in_the_end),
        cmocka_unit_test(nothing_is_given_up_while_a_worker_is_unreachable_for_a_short_time),
        cmocka_unit_test(a_kind_without_words_for_it_waits_for_a_retry),
        cmocka_unit_test(a_retry_tries_again_where_it_did_not_start),
        cmocka_unit_test(a_changed_namespace_or_quota_tries_again_at_once_but_not_always),
        cmocka_unit_test(a_withdrawal_without_an_answer_is_seen_in_the_watch),
        cmocka_unit_test(a_restarted_host_goes_on_counting),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
