// SPDX-License-Identifier: Apache-2.0
// Clusters take turns by the processor time that their objects need.
#include "tests/unit/engine/event_play.h"

#define COSTLY 60 // workloads in w1

static int64_t processor_ns;

// Whatever the engine does between two readings takes 20 ms.
static int64_t slow_processor(void) {
    return processor_ns += 20 * CLOCK_MS;
}

static void open_play(struct play *play) {
    play_init(play);
    play->options.processor = slow_processor;
    play_start(play);
    play_connect_all(play);
}

static struct json *running(const char *name, int active) {
    struct json *mirror = play_mirror(name);
    AUTO_TEXT status = text_format("{'active':%d,'startTime':'" HARNESS_NOW "'}", active);
    assert_true(pointer_set(mirror, "/status", harness_json(status)));
    return mirror;
}

static size_t statuses_sent(const struct play *play, const char *name) {
    size_t count = 0;
    for (size_t i = 0; i < play->n_commands; i++)
        count += play->commands[i].verb == VERB_STATUS_PATCH && strcmp(play->commands[i].name, name) == 0;
    return count;
}

static void add(struct play *play, size_t cluster, const char *name) {
    play_seen(play, cluster, play_mirror(name));
    play_seen(play, 0, play_workload(name, "wharf.dev/host", cluster == 1 ? "w1" : "w2"));
}

// All of w1 is reconciled again when its watch is lost: one costly object follows another.
static void an_object_of_another_cluster_waits_for_one_costly_object_only(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    for (int i = 0; i < COSTLY; i++) {
        AUTO_TEXT name = text_format("costly-%d", i);
        add(&play, 1, name);
    }
    add(&play, 2, "other");
    play_wait(&play, CLOCK_SECOND);
    play_state(&play, 1, REFLECTOR_LOST);
    assert_true(engine_stats(play.engine)->queued > COSTLY / 2); // a step ends after a costly object
    assert_int_equal(statuses_sent(&play, "other"), 0);
    play_seen(&play, 2, running("other", 1));
    if (statuses_sent(&play, "other") == 0) // the one that was next
        play_tell(&play, (struct engine_event){.type = EVENT_TIME});
    assert_int_equal(statuses_sent(&play, "other"), 1);
    assert_true(engine_stats(play.engine)->queued > COSTLY / 2);
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(engine_stats(play.engine)->queued, 0);
    play_end(&play);
}

static void time_is_charged_to_the_cluster_that_it_is_spent_for(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    add(&play, 1, "a");
    play_wait(&play, CLOCK_SECOND);
    struct engine_time before = engine_time_of(play.engine, 1), other = engine_time_of(play.engine, 2);
    play_seen(&play, 1, running("a", 1));
    play_wait(&play, 0);
    struct engine_time after = engine_time_of(play.engine, 1);
    assert_true(after.spent_ns >= before.spent_ns + 40 * CLOCK_MS); // the event, and what followed from it
    assert_int_equal(after.costly_ns - before.costly_ns, after.spent_ns - before.spent_ns);
    assert_int_equal(engine_time_of(play.engine, 2).spent_ns, other.spent_ns);
    assert_int_equal(engine_time_of(play.engine, 99).spent_ns, 0);
    play_end(&play);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_of_another_cluster_waits_for_one_costly_object_only),
        cmocka_unit_test(time_is_charged_to_the_cluster_that_it_is_spent_for),
    };
    return cmocka_run_group_tests(tests, play_load, play_unload);
}
