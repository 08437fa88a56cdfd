// SPDX-License-Identifier: Apache-2.0
// The engine's log lines and their levels.
#include "tests/unit/engine/event_play.h"

#define W1 1
#define W2 2

// A workload `a` that is placed in w1, or was there by its annotations; with its mirror.
static void begin(struct play *play, bool log_decisions, bool with_mirror) {
    play_init(play);
    play->options.settings.log_decisions = log_decisions;
    play_start(play);
    for (size_t c = 0; c < PLAY_CLUSTERS; c++) {
        play_identity(play, c, c == 0 ? "k0" : c == 1 ? "k1" : "k2");
        play_listing(play, c);
        if (c == 0)
            play_seen(play, c, play_workload("a", "wharf.dev/host", "w1"));
        if (c == W1 && with_mirror)
            play_seen(play, c, play_mirror("a"));
        play_listed(play, c);
    }
    play_wait(play, CLOCK_SECOND);
}

static void each_decision_is_logged_at_debug_with_its_reason(void **state) {
    (void)state;
    struct play play;
    begin(&play, true, false);
    assert_int_equal(play_times(&play.log, "debug 1: decided [default/a] create: placed\n"), 1);
    assert_int_equal(play_times(&play.log, "none:"), 0);
    assert_int_equal(play_times(&play.log, "wait:"), 0);
    play_end(&play);
}

static void no_decision_is_logged_unless_it_is_asked_for(void **state) {
    (void)state;
    struct play play;
    begin(&play, false, false);
    assert_int_equal(play_sent(&play, W1, VERB_CREATE), 1);
    assert_int_equal(play_times(&play.log, "debug"), 0);
    play_end(&play);
}

static void the_mirror_of_a_deleted_workload_is_reported_at_info(void **state) {
    (void)state;
    struct play play;
    begin(&play, false, true);
    play_gone(&play, 0, play_workload("a", "wharf.dev/host", "w1"));
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play_sent(&play, W1, VERB_DELETE), 1);
    assert_int_equal(
        play_times(&play.log, "info 1: deleting the mirror of attempt 1 (uid m-a): the workload is gone [default/a]"),
        1);
    play_end(&play);
}

static void the_mirror_of_an_earlier_attempt_is_reported_at_info(void **state) {
    (void)state;
    struct play play;
    begin(&play, false, true);
    play_state(&play, W1, REFLECTOR_LOST);
    play_wait(&play, 16 * CLOCK_MINUTE); // the worker's timeout has passed
    struct json *moved = play_workload("a", "wharf.dev/host", "w2");
    assert_true(pointer_set(moved, "/metadata/annotations/wharf.dev~1attempt", json_new_string("2")));
    size_t place = play.n_commands;
    while (place-- > 0 && play.commands[place].verb != VERB_MERGE_PATCH)
        ;
    play_answer(&play, play.commands[place].id, REASON_OK, moved);
    play_identity(&play, W1, "k1");
    play_listing(&play, W1);
    play_seen(&play, W1, play_mirror("a"));
    play_listed(&play, W1);
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play_sent(&play, W1, VERB_DELETE), 1);
    assert_int_equal(play_times(&play.log, "info 1: deleting the mirror of attempt 1 (uid m-a): the mirror does not "
                                           "belong to the current attempt [default/a]"),
                     1);
    play_end(&play);
}

static void what_a_cluster_is_refused_for_is_a_warning(void **state) {
    (void)state;
    struct play play;
    begin(&play, false, true);
    play_identity(&play, W2, "k1");
    assert_int_equal(play_times(&play.log, "warn 2: the cluster is refused"), 1);
    play_identity(&play, W2, "k2");
    assert_int_equal(play_times(&play.log, "info 2: the cluster is no longer refused"), 1);
    play_end(&play);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_decision_is_logged_at_debug_with_its_reason),
        cmocka_unit_test(no_decision_is_logged_unless_it_is_asked_for),
        cmocka_unit_test(the_mirror_of_a_deleted_workload_is_reported_at_info),
        cmocka_unit_test(the_mirror_of_an_earlier_attempt_is_reported_at_info),
        cmocka_unit_test(what_a_cluster_is_refused_for_is_a_warning),
    };
    return cmocka_run_group_tests(tests, play_load, play_unload);
}
