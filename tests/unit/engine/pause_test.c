// SPDX-License-Identifier: Apache-2.0
// Kinds that are paused in one cluster.
#include "event_play.h"

#define MAX 100

static void open_play(struct play *play) {
    play_init(play);
    play->options.settings.max_orphans = MAX;
    play->options.settings.mass_deletion_max = 1000000;
    play->options.settings.mass_deletion_percent = 100;
    play_start(play);
    for (size_t c = 0; c < PLAY_CLUSTERS; c++)
        play_identity(play, c, c == 0 ? "k0" : c == 1 ? "k1" : "k2");
}

static struct json *mirror(int i) {
    char name[16];
    snprintf(name, sizeof name, "j%d", i);
    return play_mirror(name);
}

static struct json *workload(int i, const char *manager) {
    char name[16];
    snprintf(name, sizeof name, "j%d", i);
    return play_workload(name, manager, "w1");
}

// Without a managedBy, as returned for a CRD that has lost the field.
static struct json *pruned(int i) {
    struct json *value = workload(i, "");
    json_remove(json_get(value, "spec"), "managedBy");
    return value;
}

static void list_mirrors(struct play *play, size_t cluster, int count) {
    play_listing(play, cluster);
    for (int i = 0; i < count; i++)
        play_seen(play, cluster, mirror(i));
    play_listed(play, cluster);
}

static void list_workloads(struct play *play, int count) {
    play_listing(play, 0);
    for (int i = 0; i < count; i++)
        play_seen(play, 0, workload(i, "wharf.dev/host"));
    play_listed(play, 0);
}

static bool is_paused(const struct play *play, size_t cluster) {
    return engine_stats(play->engine)->clusters[cluster].watches[0].paused;
}

static uint64_t kept(const struct play *play) {
    return engine_stats(play->engine)->clusters[1].mirrors;
}

static void more_mirrors_without_a_workload_than_are_kept_set_the_kind_aside_there(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    list_workloads(&play, 0);
    list_mirrors(&play, 1, 20 * MAX);
    list_mirrors(&play, 2, 0);
    assert_int_equal(kept(&play), MAX);
    assert_true(is_paused(&play, 1));
    assert_int_equal(play_times(&play.log, "1: the kind is paused"), 1);
    for (int i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "new%d", i);
        play_seen(&play, 0, play_workload(name, "wharf.dev/host", ""));
    }
    play_wait(&play, 2 * CLOCK_SECOND);
    assert_int_equal(engine_stats(play.engine)->clusters[1].active, 0);
    assert_int_equal(engine_stats(play.engine)->clusters[2].active, 4);
    list_mirrors(&play, 1, MAX / 2);
    assert_false(is_paused(&play, 1));
    assert_int_equal(kept(&play), MAX / 2);
    play_end(&play);
}

// A watch may last for days without a list.
static void when_half_of_them_are_gone_the_others_are_listed(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    list_workloads(&play, 0);
    list_mirrors(&play, 1, 2 * MAX);
    list_mirrors(&play, 2, 0);
    play_wait(&play, 0);
    for (int i = 0; i < MAX / 2 - 1; i++)
        play_gone(&play, 1, mirror(i));
    play_wait(&play, 0);
    assert_int_equal(play.relists, 0);
    play_gone(&play, 1, mirror(MAX / 2 - 1));
    play_wait(&play, 0);
    assert_int_equal(play.relists, 1);
    for (int i = MAX / 2; i < MAX; i++) // it was lost for lack of memory
        play_gone(&play, 1, mirror(i));
    play_wait(&play, 0);
    assert_int_equal(play.relists, 2);
    list_mirrors(&play, 1, MAX);
    assert_false(is_paused(&play, 1));
    for (int i = 0; i < MAX; i++)
        play_gone(&play, 1, mirror(i));
    play_wait(&play, 0);
    assert_int_equal(play.relists, 2);
    play_end(&play);
}

static void before_the_management_cluster_is_listed_more_are_kept(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    list_mirrors(&play, 1, 5 * MAX);
    assert_int_equal(kept(&play), 5 * MAX);
    assert_false(is_paused(&play, 1));
    list_workloads(&play, 5 * MAX);
    play_wait(&play, 0);
    assert_false(is_paused(&play, 1));
    play_end(&play);
}

// Their lists may be faster than the management cluster's.
static void mirrors_listed_before_their_workloads_are_not_read_again(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    list_mirrors(&play, 2, 0);
    list_mirrors(&play, 1, 5 * MAX);
    play_wait(&play, 0);
    list_workloads(&play, 5 * MAX);
    play_wait(&play, 2 * CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 1, VERB_GET), 0);
    play_end(&play);
}

static void a_mirror_that_was_kept_by_name_is_asked_for_when_its_workload_comes(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    list_workloads(&play, 0);
    list_mirrors(&play, 1, 1);
    play_seen(&play, 0, workload(0, "wharf.dev/host"));
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 1, VERB_GET), 1);
    assert_int_equal(play.n_commands, 1); // and nothing is written for objects that are known by name only
    struct json *whole = mirror(0);
    assert_true(pointer_set(whole, "/status/ready", json_new_int64(1)));
    play_answer(&play, play.commands[0].id, REASON_OK, whole);
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 0, VERB_STATUS_PATCH), 1);
    assert_int_equal(play_sent(&play, 1, VERB_GET), 1);
    play_end(&play);
}

static void open_running(struct play *play, int count) {
    open_play(play);
    list_workloads(play, count);
    list_mirrors(play, 1, count);
    list_mirrors(play, 2, 0);
    play_wait(play, CLOCK_SECOND);
}

static void a_kind_that_loses_its_field_is_paused_and_reported(void **state) {
    (void)state;
    for (int count = 1; count < 4; count++) {
        for (int listed = 0; listed < 2; listed++) {
            struct play play;
            open_running(&play, count);
            if (listed)
                play_listing(&play, 0);
            for (int i = 0; i < count; i++)
                play_seen(&play, 0, pruned(i));
            if (listed)
                play_listed(&play, 0);
            play_wait(&play, 30 * CLOCK_MINUTE);
            assert_int_equal(play_sent(&play, 1, VERB_DELETE), 0);
            assert_int_equal(engine_stats(play.engine)->clusters[1].orphans_held, count);
            assert_int_equal(play_times(&play.notes, "NotDelegated"), count);
            assert_int_equal(play_times(&play.log, "0: the kind is paused"), 1);
            assert_true(is_paused(&play, 0));
            for (int i = 0; i < count; i++)
                play_seen(&play, 0, workload(i, "wharf.dev/host"));
            play_wait(&play, 60 * CLOCK_MINUTE);
            assert_false(is_paused(&play, 0));
            assert_int_equal(play_sent(&play, 1, VERB_DELETE), 0);
            play_end(&play);
        }
    }
}

static void one_that_somebody_takes_away_is_followed_and_told(void **state) {
    (void)state;
    struct play play;
    open_running(&play, 10);
    play_seen(&play, 0, workload(3, "somebody.else/host"));
    play_wait(&play, CLOCK_MINUTE);
    assert_int_equal(play_sent(&play, 1, VERB_DELETE), 1);
    assert_int_equal(play_times(&play.notes, "is somebody.else/host now"), 1);
    assert_false(is_paused(&play, 0));
    play_end(&play);
}

// Answers every status patch that is not answered yet.
static void answer_statuses(struct play *play, enum reason reason) {
    for (size_t i = 0; i < play->n_commands; i++) {
        struct play_command *command = &play->commands[i];
        if (command->verb != VERB_STATUS_PATCH || command->id == 0)
            continue;
        uint64_t id = command->id;
        int number = (int)strtol(command->name + 1, NULL, 10);
        command->id = 0;
        play_answer(play, id, reason, reason == REASON_OK ? workload(number, "wharf.dev/host") : NULL);
    }
}

static void a_kind_without_a_status_subresource_is_not_written_to_again_and_again(void **state) {
    (void)state;
    struct play play;
    open_running(&play, 10);
    for (int second = 0; second < 30 * 60; second++) {
        answer_statuses(&play, REASON_KIND_NOT_FOUND);
        if (second % 60 == 0) { // the mirrors continue
            for (int i = 0; i < 10; i++) {
                struct json *value = mirror(i);
                assert_true(pointer_set(value, "/status/ready", json_new_int64(second)));
                play_seen(&play, 1, value);
            }
        }
        play_wait(&play, CLOCK_SECOND);
    }
    size_t sent = play_sent(&play, 0, VERB_STATUS_PATCH);
    assert_in_range(sent, 2, 10 + 8); // the first ones were in flight together
    assert_int_equal(play_times(&play.log, "0: the kind is paused"), 1);
    assert_true(is_paused(&play, 0));
    play_wait(&play, 16 * CLOCK_MINUTE); // the longest backoff, and half of it again
    answer_statuses(&play, REASON_OK);
    assert_false(is_paused(&play, 0));
    assert_int_equal(play_times(&play.log, "0: the host writes the status again"), 1);
    play_end(&play);
}

static void tell_field(struct play *play, bool lacks) {
    play_tell(play, (struct engine_event){.type = EVENT_FIELD, .field.lacks = lacks});
    play_wait(play, CLOCK_SECOND);
}

// Its objects have lost it too: they are not taken for deleted.
static void a_kind_whose_api_lacks_the_field_is_told_and_its_mirrors_are_held(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    list_workloads(&play, 1);
    list_mirrors(&play, 1, 1);
    list_mirrors(&play, 2, 0);
    tell_field(&play, false);
    assert_int_equal(play_times(&play.log, "the kind is not handled"), 0);
    tell_field(&play, true);
    tell_field(&play, true);
    assert_true(is_paused(&play, 0));
    assert_true(engine_stats(play.engine)->clusters[0].watches[0].no_field);
    assert_int_equal(play_times(&play.log,
                                "the kind is not handled: the API of the management cluster does not have the "
                                "field /spec/managedBy"),
                     1);
    play_listing(&play, 0);
    play_seen(&play, 0, pruned(0));
    play_listed(&play, 0);
    play_wait(&play, 10 * CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 1, VERB_DELETE), 0);
    tell_field(&play, false);
    assert_false(engine_stats(play.engine)->clusters[0].watches[0].no_field);
    assert_int_equal(play_times(&play.log, "the kind is handled: the API has the field"), 1);
    play_end(&play);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kind_whose_api_lacks_the_field_is_told_and_its_mirrors_are_held),
        cmocka_unit_test(more_mirrors_without_a_workload_than_are_kept_set_the_kind_aside_there),
        cmocka_unit_test(when_half_of_them_are_gone_the_others_are_listed),
        cmocka_unit_test(before_the_management_cluster_is_listed_more_are_kept),
        cmocka_unit_test(mirrors_listed_before_their_workloads_are_not_read_again),
        cmocka_unit_test(a_mirror_that_was_kept_by_name_is_asked_for_when_its_workload_comes),
        cmocka_unit_test(a_kind_that_loses_its_field_is_paused_and_reported),
        cmocka_unit_test(one_that_somebody_takes_away_is_followed_and_told),
        cmocka_unit_test(a_kind_without_a_status_subresource_is_not_written_to_again_and_again),
    };
    return cmocka_run_group_tests(tests, play_load, play_unload);
}
