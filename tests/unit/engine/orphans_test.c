// SPDX-License-Identifier: Apache-2.0
// Mirrors without a workload: which are deleted at once, and which are held.
#include "event_play.h"

#define HELD "held"

static void list_of(struct play *play, size_t cluster, struct json *(*make)(int i), int from, int to) {
    play_listing(play, cluster);
    for (int i = from; i < to; i++)
        play_seen(play, cluster, make(i));
    play_listed(play, cluster);
}

static struct json *workload(int i) {
    char name[16];
    snprintf(name, sizeof name, "j%d", i);
    return play_workload(name, "wharf.dev/host", "w1");
}

static struct json *mirror(int i) {
    char name[16];
    snprintf(name, sizeof name, "j%d", i);
    return play_mirror(name);
}

static struct json *released_mirror(int i) {
    struct json *value = mirror(i);
    assert_true(pointer_set(value, "/metadata/annotations/wharf.dev~1release", json_new_string("true")));
    return value;
}

// All three clusters, with this many workloads in w1.
static void open_play(struct play *play, int workloads, int mirrors) {
    play_init(play);
    play->options.settings.max_orphans = 10000; // and kept by name
    play_start(play);
    for (size_t c = 0; c < PLAY_CLUSTERS; c++)
        play_identity(play, c, c == 0 ? "k0" : c == 1 ? "k1" : "k2");
    list_of(play, 0, workload, 0, workloads);
    list_of(play, 1, mirror, 0, mirrors);
    list_of(play, 2, mirror, 0, 0);
    play_wait(play, CLOCK_SECOND);
}

// The worker deletes what it is asked to, and answers; so the window has places for all deletions.
static void serve_deletes(struct play *play) {
    for (size_t i = 0; i < play->n_commands; i++) { // more come with the answers
        struct play_command *command = &play->commands[i];
        uint64_t id = command->id;
        if (command->verb != VERB_DELETE || id == 0)
            continue;
        command->id = 0;
        play_gone(play, command->cluster, play_mirror(command->name));
        play_answer(play, id, REASON_OK, NULL);
    }
}

static size_t deletes(struct play *play) {
    serve_deletes(play);
    return play_sent(play, 1, VERB_DELETE) + play_sent(play, 2, VERB_DELETE);
}

static uint64_t held(const struct play *play) {
    return engine_stats(play->engine)->clusters[1].orphans_held;
}

static void what_was_seen_being_deleted_is_followed_at_once(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 500, 500);
    for (int i = 0; i < 500; i++)
        play_gone(&play, 0, workload(i));
    play_wait(&play, 0);
    assert_int_equal(deletes(&play), 500);
    assert_int_equal(held(&play), 0);
    play_end(&play);
}

static void a_few_that_are_absent_after_a_restart_are_deleted_after_a_look(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 90, 100);
    assert_int_equal(deletes(&play), 0);
    play_wait(&play, 5 * CLOCK_SECOND);
    assert_int_equal(deletes(&play), 10);
    assert_int_equal(held(&play), 0);
    play_end(&play);
}

static void more_orphans_than_the_maximum_are_held_for_the_grace_period(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 200, 221);
    play_wait(&play, 59 * CLOCK_MINUTE);
    assert_int_equal(deletes(&play), 0);
    assert_int_equal(held(&play), 21);
    assert_int_equal(play_times(&play.log, HELD), 1);
    play_wait(&play, 2 * CLOCK_MINUTE);
    assert_int_equal(deletes(&play), 21);
    assert_int_equal(held(&play), 0);
    play_end(&play);
}

static void more_than_the_part_are_held(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 6, 10);
    play_wait(&play, CLOCK_MINUTE);
    assert_int_equal(deletes(&play), 0);
    assert_int_equal(held(&play), 4);
    play_end(&play);
}

static void one_or_two_are_no_mass(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 1, 3);
    play_wait(&play, CLOCK_MINUTE);
    assert_int_equal(deletes(&play), 2);
    play_end(&play);
}

static void those_that_come_one_by_one_are_counted_together(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 400, 400);
    for (int i = 0; i < 60; i++) {
        char name[16];
        snprintf(name, sizeof name, "j%d", i);
        play_seen(&play, 0, play_workload(name, "kubernetes.io/job-controller", "w1")); // no longer delegated
        play_wait(&play, 5 * CLOCK_SECOND);
    }
    assert_int_equal(deletes(&play), 20);
    assert_int_equal(held(&play), 40);
    play_end(&play);
}

static void none_is_deleted_after_the_management_cluster_is_found_empty(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 0, 5);
    play_wait(&play, 50 * CLOCK_MINUTE);
    assert_int_equal(deletes(&play), 0);
    assert_int_equal(held(&play), 5);
    assert_int_equal(play_times(&play.log, HELD), 1);
    play_end(&play);
}

static void none_is_deleted_after_it_lost_all_while_it_was_watched(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 1, 1);
    list_of(&play, 0, workload, 0, 0);
    play_wait(&play, 50 * CLOCK_MINUTE);
    assert_int_equal(deletes(&play), 0);
    list_of(&play, 0, workload, 0, 1); // as before
    play_wait(&play, 60 * CLOCK_MINUTE);
    assert_int_equal(deletes(&play), 0);
    assert_int_equal(held(&play), 0);
    assert_int_equal(play_times(&play.log, "any longer"), 1);
    play_end(&play);
}

static void a_person_lets_one_go(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 0, 5);
    play_wait(&play, CLOCK_MINUTE);
    play_seen(&play, 1, released_mirror(3));
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(deletes(&play), 1);
    assert_int_equal(held(&play), 4);
    assert_string_equal(play.commands[play.n_commands - 1].name, "j3");
    play_end(&play);
}

static void workloads_of_other_uids_do_not_explain_a_mass(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 5, 5);
    play_listing(&play, 0);
    for (int i = 0; i < 5; i++) {
        struct json *value = workload(i); // as restored by a backup other than etcd's
        AUTO_TEXT uid = text_format("again-%d", i);
        assert_true(pointer_set(value, "/metadata/uid", json_new_string(uid)));
        play_seen(&play, 0, value);
    }
    play_listed(&play, 0);
    play_wait(&play, CLOCK_MINUTE);
    assert_int_equal(deletes(&play), 0);
    assert_int_equal(held(&play), 5);
    play_end(&play);
}

static void one_that_was_replaced_is_followed_at_once(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 5, 5);
    struct json *value = workload(0);
    assert_true(pointer_set(value, "/metadata/uid", json_new_string("again")));
    play_seen(&play, 0, value);
    play_wait(&play, 0);
    assert_int_equal(deletes(&play), 1);
    play_end(&play);
}

// The longest duration that the configuration takes: 292 years.
static void the_longest_grace_does_not_end_at_once(void **state) {
    (void)state;
    struct play play;
    play_init(&play);
    play.options.settings.max_orphans = 10000;
    play.options.settings.orphan_grace_ns = INT64_MAX;
    play_start(&play);
    for (size_t c = 0; c < PLAY_CLUSTERS; c++)
        play_identity(&play, c, c == 0 ? "k0" : c == 1 ? "k1" : "k2");
    list_of(&play, 0, workload, 0, 0);
    list_of(&play, 1, mirror, 0, 50);
    list_of(&play, 2, mirror, 0, 0);
    play_wait(&play, 10 * CLOCK_MINUTE);
    assert_int_equal(deletes(&play), 0);
    assert_int_equal(held(&play), 50);
    play_end(&play);
}

static void without_grace_nothing_is_held(void **state) {
    (void)state;
    struct play play;
    play_init(&play);
    play.options.settings.orphan_grace_ns = 0;
    play_start(&play);
    for (size_t c = 0; c < PLAY_CLUSTERS; c++)
        play_identity(&play, c, c == 0 ? "k0" : c == 1 ? "k1" : "k2");
    list_of(&play, 0, workload, 0, 0);
    list_of(&play, 1, mirror, 0, 50);
    play_wait(&play, 0);
    assert_int_equal(deletes(&play), 50);
    play_end(&play);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_seen_being_deleted_is_followed_at_once),
        cmocka_unit_test(a_few_that_are_absent_after_a_restart_are_deleted_after_a_look),
        cmocka_unit_test(more_orphans_than_the_maximum_are_held_for_the_grace_period),
        cmocka_unit_test(more_than_the_part_are_held),
        cmocka_unit_test(one_or_two_are_no_mass),
        cmocka_unit_test(those_that_come_one_by_one_are_counted_together),
        cmocka_unit_test(none_is_deleted_after_the_management_cluster_is_found_empty),
        cmocka_unit_test(none_is_deleted_after_it_lost_all_while_it_was_watched),
        cmocka_unit_test(a_person_lets_one_go),
        cmocka_unit_test(workloads_of_other_uids_do_not_explain_a_mass),
        cmocka_unit_test(one_that_was_replaced_is_followed_at_once),
        cmocka_unit_test(the_longest_grace_does_not_end_at_once),
        cmocka_unit_test(without_grace_nothing_is_held),
    };
    return cmocka_run_group_tests(tests, play_load, play_unload);
}
