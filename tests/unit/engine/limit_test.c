// SPDX-License-Identifier: Apache-2.0
// maxWorkloads.
#include "core/engine/engine.h"
#include "event_play.h"

#define HOST "wharf.dev/host"
#define MAX 3

static void open_play(struct play *play) {
    play_init(play);
    play->options.settings.max_workloads = MAX;
    play->options.settings.orphan_grace_ns = 60 * CLOCK_MINUTE;
    play->options.settings.mass_deletion_max = 20;
    play->options.settings.mass_deletion_percent = 100;
    play_start(play);
    play_connect_all(play);
}

static void seen(struct play *play, int i, const char *cluster) {
    AUTO_TEXT name = text_format("job%d", i);
    play_seen(play, 0, play_workload(name, HOST, cluster));
}

static void gone(struct play *play, int i) {
    AUTO_TEXT name = text_format("job%d", i);
    play_gone(play, 0, play_workload(name, HOST, ""));
}

static uint64_t refused(const struct play *play) {
    return engine_stats(play->engine)->kinds[0].refused;
}

static uint64_t handled(const struct play *play) {
    uint64_t count = 0;
    for (size_t p = 0; p < STATS_PHASES; p++)
        count += engine_stats(play->engine)->kinds[0].phases[p];
    return count;
}

static void list(struct play *play, int from, int to) {
    play_listing(play, 0);
    for (int i = from; i < to; i++)
        seen(play, i, "");
    play_listed(play, 0);
}

static void what_is_too_much_is_told_once_and_taken_in_when_there_is_room(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    for (int i = 0; i < 5; i++)
        seen(&play, i, "");
    seen(&play, 4, ""); // it changed
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(handled(&play), MAX);
    assert_int_equal(refused(&play), 2);
    assert_int_equal(play_times(&play.notes, "TooManyWorkloads"), 2);
    assert_int_equal(play_times(&play.log, "the most that memory.maxWorkloads allows"), 1);
    assert_int_equal(play.relists, 0);
    gone(&play, 0);
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play.relists, 1);
    list(&play, 1, 5);
    assert_int_equal(handled(&play), MAX);
    assert_int_equal(refused(&play), 1);
    play_wait(&play, 60 * CLOCK_MINUTE);
    assert_int_equal(play.relists, 1); // no room
    gone(&play, 4);
    assert_int_equal(refused(&play), 0);
    play_end(&play);
}

static void what_is_placed_is_taken_in_however_many_there_are(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    for (int i = 0; i < 6; i++)
        seen(&play, i, "w1");
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(handled(&play), 6);
    assert_int_equal(refused(&play), 0);
    play_end(&play);
}

// Its annotations were lost: whose it is shows only later.
static void a_mirror_of_a_refused_workload_is_not_deleted(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    for (int i = 0; i < 4; i++)
        seen(&play, i, "");
    play_wait(&play, CLOCK_SECOND);
    play_seen(&play, 1, play_mirror("job3"));
    play_wait(&play, 50 * CLOCK_MINUTE);
    assert_int_equal(play_sent(&play, 1, VERB_DELETE), 0);
    play_end(&play);
}

static void what_a_standby_refused_is_told_once_it_leads(void **state) {
    (void)state;
    struct play play;
    play_init(&play);
    play.options.settings.max_workloads = MAX;
    play.options.shards = 1;
    play_start(&play);
    play_connect_all(&play);
    for (int i = 0; i < 5; i++)
        seen(&play, i, "");
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(refused(&play), 2);
    assert_int_equal(play_times(&play.notes, "TooManyWorkloads"), 0);
    int64_t until_ns = play.now.mono_ns + 10 * CLOCK_MINUTE;
    play_tell(&play, (struct engine_event){.type = EVENT_LEASE, .lease = {0, until_ns, 1}});
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play.relists, 1);
    for (int i = 0; i < 3; i++)
        list(&play, 0, 5);
    assert_int_equal(play_times(&play.notes, "TooManyWorkloads"), 2);
    until_ns += CLOCK_MINUTE;
    play_tell(&play, (struct engine_event){.type = EVENT_LEASE, .lease = {0, until_ns, 2}});
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play.relists, 1);
    play_end(&play);
}

// The number of shards that it holds is the same after each step.
static void what_was_refused_in_a_shard_gained_as_another_is_lost_is_told(void **state) {
    (void)state;
    struct play play;
    play_init(&play);
    play.options.settings.max_workloads = MAX;
    play.options.shards = 2;
    play_start(&play);
    play_connect_all(&play);
    int64_t until_ns = play.now.mono_ns + CLOCK_MINUTE;
    play_tell(&play, (struct engine_event){.type = EVENT_LEASE, .lease = {0, until_ns, 1}});
    for (int i = 0; i < 13; i++)
        seen(&play, i, "");
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(refused(&play), 10);
    assert_in_range(play_times(&play.notes, "TooManyWorkloads"), 1, 9); // those of shard 0
    play.now.mono_ns = until_ns;
    play_tell(&play, (struct engine_event){.type = EVENT_LEASE, .lease = {1, until_ns + CLOCK_MINUTE, 1}});
    assert_int_equal(engine_stats(play.engine)->shards_held, 1);
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play.relists, 1);
    list(&play, 0, 13);
    assert_int_equal(play_times(&play.notes, "TooManyWorkloads"), 10);
    play_end(&play);
}

static void a_higher_limit_takes_them_in(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    for (int i = 0; i < 5; i++)
        seen(&play, i, "");
    play_wait(&play, CLOCK_SECOND);
    struct engine_settings settings = play.options.settings;
    settings.max_workloads = 0;
    engine_configure(play.engine, &settings);
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play.relists, 1);
    list(&play, 0, 5);
    assert_int_equal(handled(&play), 5);
    assert_int_equal(refused(&play), 0);
    play_end(&play);
}

// A request would begin it anew: where lists take longer than what lies between them, none would ever be complete.
static void a_list_that_takes_its_time_is_not_begun_anew(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    for (int i = 0; i < 5; i++)
        seen(&play, i, "");
    gone(&play, 0);
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play.relists, 1);
    play_wait(&play, 5 * CLOCK_MINUTE);
    assert_int_equal(play.relists, 1);
    play_listing(&play, 0);
    play_wait(&play, 4 * CLOCK_MINUTE);
    assert_int_equal(play.relists, 1);
    play_wait(&play, 2 * CLOCK_MINUTE); // the request may have been lost
    assert_int_equal(play.relists, 2);
    list(&play, 1, 5);
    gone(&play, 1);
    play_wait(&play, 2 * CLOCK_MINUTE);
    assert_int_equal(play.relists, 3);
    play_end(&play);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_too_much_is_told_once_and_taken_in_when_there_is_room),
        cmocka_unit_test(what_is_placed_is_taken_in_however_many_there_are),
        cmocka_unit_test(a_mirror_of_a_refused_workload_is_not_deleted),
        cmocka_unit_test(what_a_standby_refused_is_told_once_it_leads),
        cmocka_unit_test(what_was_refused_in_a_shard_gained_as_another_is_lost_is_told),
        cmocka_unit_test(a_higher_limit_takes_them_in),
        cmocka_unit_test(a_list_that_takes_its_time_is_not_begun_anew),
    };
    return cmocka_run_group_tests(tests, play_load, play_unload);
}
