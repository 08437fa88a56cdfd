// SPDX-License-Identifier: Apache-2.0
// What users are told of where their workloads run.
#include "tests/unit/engine/stage.h"

#include <string.h>

static const char *const names[] = {"management", "w1", "w2"};

static size_t begin(struct stage *stage) {
    stage_init(stage);
    stage_start(stage);
    stage_submit(stage, "a", "");
    stage_run(stage, CLOCK_SECOND);
    size_t where = stage_where(stage, "a");
    stage_runs(stage, where, "a");
    stage_run(stage, CLOCK_SECOND);
    return where;
}

static void assert_told(const struct stage *stage, size_t count, const char *format, ...) {
    va_list args;
    va_start(args, format);
    AUTO_TEXT text = text_vformat(format, args);
    va_end(args);
    if (stage_told(stage, text) != count)
        fail_msg("%zu times \"%s\", expected %zu; Events:\n%s", stage_told(stage, text), text, count,
                 stage->notes ? stage->notes : "");
}

static void a_loss_is_told_at_once_and_once_with_what_follows(void **state) {
    (void)state;
    struct stage stage;
    size_t where = begin(&stage);
    char since[CLOCK_RFC3339_MAX];
    clock_rfc3339(stage.now.wall_ns, since);
    stage_contact(&stage, where, CONTACT_LOST);
    stage_run(&stage, 100 * CLOCK_MS);
    assert_told(&stage, 1, "WorkerLost: %s unreachable since %s; will run in another worker after 5m\n", names[where],
                strchr(since, 'T') + 1);
    stage_run(&stage, 4 * CLOCK_MINUTE);
    assert_told(&stage, 1, "WorkerLost: ");
    assert_told(&stage, 0, "Waiting: ");
    stage_run(&stage, 2 * CLOCK_MINUTE);
    assert_told(&stage, 1, "Rescheduled: %s unreachable for 5m; running again in %s (attempt 2)\n", names[where],
                names[3 - where]);
    stage_contact(&stage, where, CONTACT_GOOD);
    stage_identity(&stage, where);
    stage_run(&stage, CLOCK_MINUTE);
    assert_told(&stage, 0, "WorkerBack: ");
    stage_end(&stage);
}

static void who_is_back_in_time_is_told_too_each_time(void **state) {
    (void)state;
    struct stage stage;
    size_t where = begin(&stage);
    for (size_t i = 1; i <= 3; i++) {
        stage_disconnect(&stage, where);
        stage_run(&stage, CLOCK_MINUTE);
        assert_told(&stage, i, "WorkerLost: ");
        assert_told(&stage, i - 1, "WorkerBack: ");
        stage_connect(&stage, where);
        stage_run(&stage, CLOCK_MINUTE);
        assert_told(&stage, i, "WorkerBack: %s reachable again after 1m; still runs there (attempt 1)\n", names[where]);
    }
    assert_told(&stage, 0, "Rescheduled: ");
    stage_end(&stage);
}

static void a_watch_that_is_opened_again_soon_is_no_loss(void **state) {
    (void)state;
    struct stage stage;
    size_t where = begin(&stage);
    for (int i = 0; i < 5; i++) {
        stage_disconnect(&stage, where);
        stage_run(&stage, 3 * CLOCK_SECOND);
        stage_connect(&stage, where);
        stage_run(&stage, 10 * CLOCK_SECOND);
    }
    assert_told(&stage, 0, "WorkerLost: ");
    assert_told(&stage, 0, "WorkerBack: ");
    stage_end(&stage);
}

static void a_mirror_that_was_deleted_is_named_as_the_cause(void **state) {
    (void)state;
    struct stage stage;
    size_t where = begin(&stage);
    assert_int_equal(stage_delete(&stage, where, "a"), 200);
    stage_run(&stage, 5 * CLOCK_SECOND);
    assert_told(&stage, 1, "Rescheduled: the mirror was deleted in %s; running again in %s (attempt 2)\n", names[where],
                names[stage_where(&stage, "a")]);
    stage_end(&stage);
}

static void a_move_off_a_drained_worker_is_no_warning(void **state) {
    (void)state;
    struct stage stage;
    size_t where = begin(&stage);
    stage_step(&stage, &(struct engine_event){.type = EVENT_WORKER,
                                              .cluster = where,
                                              .worker = {.name = names[where], .policy = WORKER_DRAIN_MOVE}});
    stage_run(&stage, CLOCK_MINUTE);
    assert_told(&stage, 1, "Rescheduled: %s is drained; running again in %s (attempt 2)\n", names[where],
                names[3 - where]);
    assert_int_equal(stage.event_warnings, 0);
    stage_end(&stage);
}

static void the_end_is_told_once(void **state) {
    (void)state;
    struct stage stage;
    size_t where = begin(&stage);
    stage_completes(&stage, where, "a");
    stage_run(&stage, 5 * CLOCK_SECOND);
    assert_told(&stage, 1, "Finished: succeeded in %s after 1s (attempt 1)\n", names[where]);
    stage_restart(&stage);
    stage_run(&stage, CLOCK_MINUTE);
    assert_told(&stage, 1, "Finished: ");
    stage_end(&stage);
}

static int reject(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->request.verb == VERB_CREATE && command->cluster == 1 ? 403 : STAGE_PASS;
}

static void what_no_worker_accepts_is_told_with_the_reason_of_each(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage.meddle = reject;
    stage_start(&stage);
    stage_disconnect(&stage, 2);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 3 * CLOCK_SECOND);
    assert_told(&stage, 1, "Forbidden: cluster w1 rejected the mirror: meddled\n");
    assert_told(&stage, 0, "Unschedulable: ");
    stage_run(&stage, 30 * CLOCK_MINUTE);
    assert_true(stage_told(&stage, "Unschedulable: 0/2 workers accept it: w1 forbidden; w2 unreachable\n") >= 1);
    assert_told(&stage, 0, "Waiting: ");
    // One that is rejected and then accepted says where it is tried.
    stage_connect(&stage, 2);
    stage_run(&stage, 15 * CLOCK_MINUTE);
    assert_told(&stage, 1, "placed in w2 (attempt %u)\n", stage_attempt(&stage, "a"));
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loss_is_told_at_once_and_once_with_what_follows),
        cmocka_unit_test(who_is_back_in_time_is_told_too_each_time),
        cmocka_unit_test(a_watch_that_is_opened_again_soon_is_no_loss),
        cmocka_unit_test(a_mirror_that_was_deleted_is_named_as_the_cause),
        cmocka_unit_test(a_move_off_a_drained_worker_is_no_warning),
        cmocka_unit_test(the_end_is_told_once),
        cmocka_unit_test(what_no_worker_accepts_is_told_with_the_reason_of_each),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
