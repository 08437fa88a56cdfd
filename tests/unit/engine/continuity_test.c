// SPDX-License-Identifier: Apache-2.0
// A further attempt goes on where the former one was: core/engine/continuity/.
#include "tests/unit/engine/continuity_play.h"

static void a_further_attempt_gets_the_progress_before_it_runs(void **state) {
    (void)state;
    struct stage stage;
    play_first(&stage);
    play_policy(&stage, 1, WORKER_DRAIN_MOVE);
    stage_run(&stage, 5 * CLOCK_SECOND);
    play_assert_mark(&stage, 2, "given");
    assert_false(play_is_suspended(&stage, 2));
    assert_string_equal(play_text(&stage, 2, "/status/completedIndexes"), "0-2");
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_further_attempt_gets_the_progress_before_it_runs),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
