// SPDX-License-Identifier: Apache-2.0
// Options that change while the engine runs.

#include "core/engine/engine.h"
#include "core/engine/engine_internal.h"
#include "event_play.h"

#define HOST "wharf.dev/host"
#define COMPLETE                                                                                                       \
    "{'succeeded':1,'startTime':'2026-03-01T12:00:01Z','completionTime':'2026-03-01T12:00:02Z','conditions':["         \
    "{'type':'SuccessCriteriaMet','status':'True','lastTransitionTime':'2026-03-01T12:00:02Z'},{'type':'Complete',"    \
    "'status':'True','lastTransitionTime':'2026-03-01T12:00:02Z'}]}"

static void open_play(struct play *play, double qps, double burst) {
    play_init(play);
    play->options.settings.qps = qps;
    play->options.settings.burst = burst;
    play_start(play);
    play_connect_all(play);
}

static void create(struct play *play, int count) {
    for (int i = 0; i < count; i++) {
        AUTO_TEXT name = text_format("job%d", i);
        play_seen(play, 0, play_workload(name, HOST, ""));
    }
    play_wait(play, 0);
}

static void another_rate_limit_applies_to_what_waits(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 0.001, 2);
    create(&play, 4);
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), 2);
    struct engine_settings settings = play.options.settings;
    settings.qps = 0;
    engine_configure(play.engine, &settings);
    play_wait(&play, 0);
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), 4);
    play_end(&play);
}

static void a_worker_keeps_its_own_rate_limit_and_may_get_another(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 0, 0);
    struct engine_event event = {.type = EVENT_WORKER,
                                 .cluster = 1,
                                 .worker = {.name = "w1", .policy = WORKER_ACTIVE, .qps = 0.001, .burst = 1}};
    play_tell(&play, event);
    for (int i = 0; i < 3; i++) {
        AUTO_TEXT name = text_format("job%d", i);
        play_seen(&play, 0, play_workload(name, HOST, "w1"));
    }
    play_wait(&play, 0);
    assert_int_equal(play_sent(&play, 1, VERB_CREATE), 1);
    struct engine_settings settings = play.options.settings;
    settings.qps = settings.burst = 100; // not of w1
    engine_configure(play.engine, &settings);
    play_wait(&play, 0);
    assert_int_equal(play_sent(&play, 1, VERB_CREATE), 1);
    event.worker.qps = 0; // as the others
    play_tell(&play, event);
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 1, VERB_CREATE), 3);
    play_end(&play);
}

static struct json *complete(struct json *value) {
    assert_true(pointer_set(value, "/status", harness_json(COMPLETE)));
    return value;
}

static void a_shorter_retention_ends_that_of_mirrors_that_wait(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 0, 0);
    play_seen(&play, 1, complete(play_mirror("job")));
    play_seen(&play, 0, complete(play_workload("job", HOST, "w1")));
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 1, VERB_DELETE), 0);
    struct engine_settings settings = play.options.settings;
    settings.mirror_retention_ns = 0;
    engine_configure(play.engine, &settings);
    play_wait(&play, 0);
    assert_int_equal(play_sent(&play, 1, VERB_DELETE), 1);
    play_end(&play);
}

static void more_orphans_that_are_kept_have_the_ignored_ones_listed(void **state) {
    (void)state;
    struct play play;
    play_init(&play);
    play.options.settings.max_orphans = 2;
    play_start(&play);
    play_connect_all(&play);
    for (int i = 0; i < 4; i++) {
        AUTO_TEXT name = text_format("job%d", i);
        play_seen(&play, 1, play_mirror(name));
    }
    assert_true(engine_stats(play.engine)->clusters[1].watches[0].paused);
    size_t relists = play.relists;
    struct engine_settings settings = play.options.settings;
    engine_configure(play.engine, &settings);
    play_wait(&play, 0);
    assert_int_equal(play.relists, relists); // as many as before
    settings.max_orphans = 100;
    engine_configure(play.engine, &settings);
    play_wait(&play, 0);
    assert_int_equal(play.relists, relists + 1);
    play_listing(&play, 1);
    play_listed(&play, 1);
    assert_false(engine_stats(play.engine)->clusters[1].watches[0].paused);
    play_end(&play);
}

// The configuration that they came from may end first.
static void the_engine_has_lists_of_dependencies_of_its_own(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 0, 0);
    struct engine_settings settings = play.options.settings;
    for (int i = 0; i < 2; i++) {
        AUTO_TEXT copy = text_format("configmaps,r%d", i);
        AUTO_TEXT expected = strdup(copy);
        settings.dependencies = (struct dependency_options){.copy = copy, .by_name = i > 0};
        assert_null(engine_configure(play.engine, &settings));
        memset(copy, 'x', strlen(copy));
        const struct dependency_options *used = &play.engine->settings.dependencies;
        assert_string_equal(used->copy, expected);
        assert_null(used->check);
        assert_int_equal(used->by_name, i > 0);
    }
    play_end(&play);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_rate_limit_applies_to_what_waits),
        cmocka_unit_test(a_worker_keeps_its_own_rate_limit_and_may_get_another),
        cmocka_unit_test(more_orphans_that_are_kept_have_the_ignored_ones_listed),
        cmocka_unit_test(a_shorter_retention_ends_that_of_mirrors_that_wait),
        cmocka_unit_test(the_engine_has_lists_of_dependencies_of_its_own),
    };
    return cmocka_run_group_tests(tests, play_load, play_unload);
}
