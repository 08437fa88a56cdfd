// SPDX-License-Identifier: Apache-2.0
// What waits for a place in a cluster's window: who gets it next, what is sent then, and what is not.
#include "core/engine/request/command.h"
#include "event_play.h"

#define HOST "wharf.dev/host"
#define RUNS "{'active':50,'ready':%d,'startTime':'2026-03-01T12:00:01Z'}"
#define COMPLETE                                                                                                       \
    "{'succeeded':1,'startTime':'2026-03-01T12:00:01Z','completionTime':'2026-03-01T12:00:02Z','conditions':["         \
    "{'type':'SuccessCriteriaMet','status':'True','lastTransitionTime':'2026-03-01T12:00:02Z'},{'type':'Complete',"    \
    "'status':'True','lastTransitionTime':'2026-03-01T12:00:02Z'}]}"

static struct json *of_namespace(struct json *value, const char *namespace_) {
    assert_true(pointer_set(value, "/metadata/namespace", json_new_string(namespace_)));
    return value;
}

static struct json *with_status(struct json *value, const char *format, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, format);
    assert_true(vasprintf(&text, format, args) >= 0);
    va_end(args);
    assert_true(pointer_set(value, "/status", harness_json(text)));
    free(text);
    return value;
}

static void open_play(struct play *play, unsigned window, double qps, double burst) {
    play_init(play);
    play->options.window_max = window;
    play->options.settings.qps = qps;
    play->options.settings.burst = burst;
    play_start(play);
    play_connect_all(play);
}

// New workloads <prefix>0 to <prefix><count - 1>.
static void create(struct play *play, const char *prefix, int count, const char *namespace_) {
    for (int i = 0; i < count; i++) {
        AUTO_TEXT name = text_format("%s%d", prefix, i);
        play_seen(play, 0, of_namespace(play_workload(name, HOST, ""), namespace_));
    }
}

// One that runs in w1.
static void run(struct play *play, const char *name) {
    play_seen(play, 1, play_mirror(name));
    play_seen(play, 0, play_workload(name, HOST, "w1"));
}

static size_t flying(const struct play *play, size_t cluster) {
    return engine_stats(play->engine)->clusters[cluster].in_flight;
}

static uint64_t waiting(const struct play *play, size_t cluster, enum work_class work) {
    return engine_stats(play->engine)->clusters[cluster].waiting[work];
}

static uint64_t waits(const struct play *play, size_t cluster) {
    uint64_t count = 0;
    for (int work = 0; work < WORK_CLASSES; work++)
        count += waiting(play, cluster, (enum work_class)work);
    return count;
}

// Answers the `at`th command, if it has not been answered, as a server that does it.
static void answer(struct play *play, size_t at) {
    struct play_command command = play->commands[at];
    const char *name = command.name;
    play->commands[at].id = 0;
    if (command.id == 0)
        return;
    struct json *value = NULL;
    if (command.cluster == 0 && command.verb == VERB_MERGE_PATCH)
        value = play_workload(name, HOST, strstr(command.body, "\"w1\"") ? "w1" : "w2");
    else if (command.cluster == 0 && command.verb == VERB_STATUS_PATCH)
        value = play_workload(name, HOST, "w1");
    else if (command.verb == VERB_CREATE)
        value = play_mirror(name);
    AUTO_JSON patch = NULL;
    if (command.body)
        assert_null(json_parse(command.body, strlen(command.body), &patch));
    if (command.verb == VERB_STATUS_PATCH)
        assert_true(pointer_set(value, "/status", json_copy(json_get(patch, "status"))));
    play_answer(play, command.id, value || command.verb == VERB_DELETE ? REASON_OK : REASON_NOT_FOUND, value);
}

static const struct play_command *last_status(const struct play *play) {
    size_t at = play->n_commands;
    while (at > 0 && play->commands[at - 1].verb != VERB_STATUS_PATCH)
        at--;
    assert_true(at > 0);
    return &play->commands[at - 1];
}

static void the_newest_final_status_is_sent_before_placements_that_waited(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 0, 0, 0);
    run(&play, "runs");
    run(&play, "ends");
    play_wait(&play, CLOCK_SECOND);
    size_t before = play.n_commands;
    create(&play, "new", 500, "default");
    play_wait(&play, 0);
    assert_int_equal(play.n_commands - before, WINDOW_FLOOR);
    assert_int_equal(flying(&play, 0), WINDOW_FLOOR);
    assert_int_equal(waiting(&play, 0, WORK_CREATE), 500 - WINDOW_FLOOR);
    play_seen(&play, 1, with_status(play_mirror("runs"), RUNS, 1));
    play_seen(&play, 1, with_status(play_mirror("ends"), RUNS, 1));
    play_wait(&play, 0);
    assert_int_equal(waiting(&play, 0, WORK_STATUS), 2);
    play_seen(&play, 1, with_status(play_mirror("ends"), COMPLETE));
    play_wait(&play, 0);
    assert_int_equal(waiting(&play, 0, WORK_STATUS), 1);
    assert_int_equal(waiting(&play, 0, WORK_FINAL_STATUS), 1);
    assert_int_equal(play.n_commands - before, WINDOW_FLOOR);
    answer(&play, before);
    assert_int_equal(play_sent(&play, 0, VERB_STATUS_PATCH), 1);
    assert_string_equal(last_status(&play)->name, "ends");
    assert_non_null(strstr(last_status(&play)->body, "\"Complete\""));
    // Then placements, and one of a few turns for other statuses.
    size_t passed = 0;
    while (play_sent(&play, 0, VERB_STATUS_PATCH) == 1) {
        assert_true(++passed <= 5);
        answer(&play, before + passed);
    }
    assert_string_equal(last_status(&play)->name, "runs");
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), WINDOW_FLOOR + passed - 1);
    assert_true(passed > 1);
    play_end(&play);
}

// Events that a user only likes to see are left out of a burst, also of its pauses.
static void dispatched_is_told_only_a_while_after_something_had_to_wait(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 1, 0, 0);
    create(&play, "job", 2, "default"); // the second one waits
    for (size_t at = 0; at < 4; at++) { // two records and two creates
        play_wait(&play, 0);
        answer(&play, at);
    }
    assert_int_equal(play_sent(&play, 1, VERB_CREATE) + play_sent(&play, 2, VERB_CREATE), 2);
    assert_int_equal(waits(&play, 0), 0);
    assert_int_equal(engine_stats(play.engine)->events, 0);
    assert_int_equal(engine_stats(play.engine)->events_dropped, 2);
    play_wait(&play, 3 * CLOCK_SECOND);
    create(&play, "calm", 1, "default");
    play_wait(&play, 0);
    answer(&play, 4);
    play_wait(&play, 0);
    answer(&play, 5);
    assert_int_equal(engine_stats(play.engine)->events, 1);
    assert_int_equal(engine_stats(play.engine)->events_dropped, 2);
    play_end(&play);
}

static void nor_a_while_after_many_requests_were_in_flight(void **state) {
    (void)state;
    static const int many[] = {3, WINDOW_FLOOR};
    for (size_t i = 0; i < 2; i++) {
        struct play play;
        open_play(&play, 0, 0, 0);
        create(&play, "job", many[i], "default");
        play_wait(&play, 0);
        assert_int_equal(waits(&play, 0), 0);
        for (size_t at = 0; at < 2 * (size_t)many[i]; at++) // records and creates
            answer(&play, at);
        assert_int_equal(engine_stats(play.engine)->events, i == 0 ? many[i] : 0);
        assert_int_equal(engine_stats(play.engine)->events_dropped, i == 0 ? 0 : many[i]);
        play_end(&play);
    }
}

static void many_changes_while_it_waits_are_one_patch_of_the_last(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 0, 0, 0);
    run(&play, "runs");
    play_wait(&play, CLOCK_SECOND);
    size_t before = play.n_commands;
    create(&play, "new", WINDOW_FLOOR, "default");
    for (int i = 2; i < 40; i++) {
        play_seen(&play, 1, with_status(play_mirror("runs"), RUNS, i));
        play_wait(&play, CLOCK_MS);
    }
    assert_int_equal(play_sent(&play, 0, VERB_STATUS_PATCH), 0);
    assert_int_equal(waits(&play, 0), 1);
    answer(&play, before);
    play_wait(&play, 0);
    assert_int_equal(play_sent(&play, 0, VERB_STATUS_PATCH), 1);
    assert_non_null(strstr(last_status(&play)->body, "\"ready\":39"));
    size_t patch = (size_t)(last_status(&play) - play.commands);
    // A change while the patch is in flight is one more, after its answer.
    play_seen(&play, 1, with_status(play_mirror("runs"), RUNS, 40));
    play_seen(&play, 1, with_status(play_mirror("runs"), RUNS, 41));
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 0, VERB_STATUS_PATCH), 1);
    answer(&play, patch);
    play_wait(&play, 0);
    assert_int_equal(play_sent(&play, 0, VERB_STATUS_PATCH), 2);
    assert_non_null(strstr(last_status(&play)->body, "\"ready\":41"));
    play_end(&play);
}

static void what_is_no_longer_needed_is_never_sent(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 0, 0, 0);
    for (int i = 0; i < 20; i++) {
        AUTO_TEXT name = text_format("runs%d", i);
        run(&play, name);
    }
    play_wait(&play, CLOCK_SECOND);
    size_t before = play.n_commands;
    create(&play, "first", WINDOW_FLOOR, "default");
    create(&play, "new", 20, "default"); // placements that wait
    for (int i = 0; i < 20; i++) {       // and statuses
        AUTO_TEXT name = text_format("runs%d", i);
        play_seen(&play, 1, with_status(play_mirror(name), RUNS, 1));
    }
    play_wait(&play, 0);
    assert_int_equal(waits(&play, 0), 40);
    for (int i = 0; i < 20; i++) {
        AUTO_TEXT gone = text_format("new%d", i);
        AUTO_TEXT back = text_format("runs%d", i);
        if (i % 2)
            play_gone(&play, 0, play_workload(gone, HOST, ""));
        else
            play_seen(&play, 0, play_workload(gone, "somebody.else/host", ""));
        play_seen(&play, 1, play_mirror(back)); // its status is as it was
    }
    play_wait(&play, 0);
    for (size_t i = 0; i < WINDOW_FLOOR; i++)
        answer(&play, before + i);
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(waits(&play, 0), 0);
    assert_int_equal(play_sent(&play, 0, VERB_STATUS_PATCH), 0);
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), WINDOW_FLOOR);
    play_end(&play);
}

// Each of those that wait asks for nothing when its turn comes: the place goes to the next, however many they are.
static void a_place_that_many_do_not_need_goes_to_the_one_that_does(void **state) {
    (void)state;
    static const int many[] = {1, 255, 256, 257, 1500}; // a step lets 256 have their turn
    for (size_t m = 0; m < sizeof many / sizeof *many; m++) {
        struct play play;
        open_play(&play, 0, 0, 0);
        size_t before = play.n_commands;
        create(&play, "first", WINDOW_FLOOR, "default");
        for (int i = 0; i < many[m]; i++) {
            AUTO_TEXT name = text_format("same%d", i);
            run(&play, name);
        }
        run(&play, "last");
        play_seen(&play, 1, with_status(play_mirror("last"), RUNS, 1));
        play_wait(&play, 0);
        assert_int_equal(waiting(&play, 0, WORK_STATUS), many[m] + 1);
        answer(&play, before);
        play_wait(&play, 0);
        assert_int_equal(waits(&play, 0), 0);
        assert_int_equal(play_sent(&play, 0, VERB_STATUS_PATCH), 1);
        play_end(&play);
    }
}

static void one_authors_many_do_not_delay_anothers_one(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 0, 0, 0);
    size_t before = play.n_commands;
    create(&play, "many", 500, "crowd");
    create(&play, "one", 1, "quiet");
    play_wait(&play, 0);
    answer(&play, before);
    answer(&play, before + 1);
    play_wait(&play, 0);
    bool sent = false;
    for (size_t i = before; i < play.n_commands; i++)
        sent |= strcmp(play.commands[i].name, "one0") == 0;
    assert_true(sent);
    play_end(&play);
}

static void an_overload_that_the_server_reports_or_does_not_survive_halves_the_window(void **state) {
    (void)state;
    static const struct {
        enum reason reason;
        int64_t retry_after_ns;
        unsigned window;
    } cases[] = {{REASON_CONFLICT, -1, WINDOW_FLOOR},
                 {REASON_SERVER_ERROR, -1, WINDOW_FLOOR},
                 {REASON_SERVER_ERROR, 0, WINDOW_FLOOR / 2},
                 {REASON_TOO_MANY, -1, WINDOW_FLOOR / 2},
                 {REASON_UNKNOWN_OUTCOME, -1, WINDOW_FLOOR / 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct play play;
        open_play(&play, 0, 0, 0);
        create(&play, "job", 1, "default");
        play_wait(&play, CLOCK_SECOND);
        struct response response = {.reason = cases[i].reason, .retry_after_ns = cases[i].retry_after_ns};
        play_tell(&play,
                  (struct engine_event){.type = EVENT_ANSWER,
                                        .answer = {play.commands[0].id, &response, play.now.mono_ns - 10 * CLOCK_MS}});
        assert_int_equal(engine_stats(play.engine)->clusters[0].window, cases[i].window);
        play_end(&play);
    }
}

// All that is asked, in any order, with answers that fail: the window is never exceeded, and all is done in the end.
static void the_window_is_never_exceeded_and_nothing_is_lost(void **state) {
    (void)state;
    static const unsigned windows[] = {1, 2, 0};
    for (size_t w = 0; w < sizeof windows / sizeof *windows; w++)
        for (uint64_t seed = 1; seed <= 10; seed++) {
            struct random random = {seed * 3 + w};
            struct play play;
            open_play(&play, windows[w], 0, 0);
            create(&play, "job", 40, "default");
            bool placed[40] = {false};
            size_t answered = 0;
            while (answered < play.n_commands || waits(&play, 0) + waits(&play, 1) + waits(&play, 2) > 0) {
                for (size_t c = 0; c < PLAY_CLUSTERS; c++)
                    assert_true(flying(&play, c) <= (windows[w] ? windows[w] : WINDOW_FLOOR));
                assert_true(answered < play.n_commands);
                size_t at = answered + random_below(&random, play.n_commands - answered);
                struct play_command command = play.commands[at];
                play.commands[at] = play.commands[answered];
                play.commands[answered] = command;
                enum reason reason = random_below(&random, 4) ? REASON_OK : REASON_TOO_MANY;
                if (reason == REASON_OK)
                    answer(&play, answered);
                else
                    play_answer(&play, command.id, reason, NULL);
                answered++;
                if (reason == REASON_OK && command.verb == VERB_CREATE)
                    placed[strtol(command.name + 3, NULL, 10)] = true;
                play_wait(&play, random_below(&random, 3) ? 0 : CLOCK_SECOND);
                if (answered == play.n_commands)
                    play_wait(&play, CLOCK_MINUTE); // backoffs
            }
            for (int i = 0; i < 40; i++)
                assert_true(placed[i]);
            assert_int_equal(engine_pending(play.engine), 0);
            play_end(&play);
        }
}

static void a_worker_that_does_not_answer_delays_no_other_cluster(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 0, 0, 0);
    create(&play, "job", 200, "default");
    play_wait(&play, 0);
    for (size_t i = 0; i < play.n_commands; i++)
        if (play.commands[i].cluster != 1)
            answer(&play, i);
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), 200);
    assert_int_equal(play_sent(&play, 2, VERB_CREATE), 100);
    assert_int_equal(play_sent(&play, 1, VERB_CREATE), WINDOW_FLOOR);
    assert_int_equal(waiting(&play, 1, WORK_CREATE), 100 - WINDOW_FLOOR);
    assert_int_equal(engine_pending(play.engine), 100);
    for (size_t i = 0; i < play.n_commands; i++)
        answer(&play, i);
    assert_int_equal(play_sent(&play, 1, VERB_CREATE), 100);
    assert_int_equal(engine_pending(play.engine), 0);
    play_end(&play);
}

static void what_waits_goes_with_its_object_or_its_mirror(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 1, 0, 0);
    create(&play, "job", 300, "default");
    play_wait(&play, 0);
    assert_int_equal(waits(&play, 0), 299);
    for (int i = 1; i < 300; i += 2) {
        AUTO_TEXT name = text_format("job%d", i);
        play_gone(&play, 0, play_workload(name, HOST, ""));
    }
    play_wait(&play, 0);
    assert_int_equal(waits(&play, 0), 149);
    create(&play, "job", 300, "default"); // again, with the same names
    play_wait(&play, 0);
    assert_int_equal(waits(&play, 0), 299);
    for (int i = 0; i < 100; i++) { // deletions in the worker
        AUTO_TEXT name = text_format("old%d", i);
        run(&play, name);
        play_gone(&play, 0, play_workload(name, HOST, "w1"));
    }
    play_wait(&play, 0);
    assert_int_equal(waiting(&play, 1, WORK_DELETE), 99);
    for (int i = 0; i < 100; i += 2) {
        AUTO_TEXT name = text_format("old%d", i);
        play_gone(&play, 1, play_mirror(name));
    }
    play_wait(&play, 0);
    assert_int_equal(waiting(&play, 1, WORK_DELETE), 50);
    play_end(&play); // with all that still waits
}

static void what_waits_for_a_worker_that_is_lost_is_not_sent_to_it(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 1, 0, 0);
    for (int i = 0; i < 10; i++) {
        AUTO_TEXT name = text_format("old%d", i);
        run(&play, name);
        play_gone(&play, 0, play_workload(name, HOST, "w1"));
    }
    play_wait(&play, 0);
    assert_int_equal(play_sent(&play, 1, VERB_DELETE), 1);
    play_state(&play, 1, REFLECTOR_LOST);
    play_answer(&play, play.commands[play.n_commands - 1].id, REASON_UNKNOWN_OUTCOME, NULL);
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 1, VERB_DELETE), 1);
    assert_int_equal(waits(&play, 1), 0);
    assert_int_equal(engine_pending(play.engine), 0);
    play_end(&play);
}

static struct json *stripped_mirror(const char *name) {
    struct json *value = play_mirror(name);
    pointer_remove(value, "/metadata/labels/wharf.dev~1kind");
    return value;
}

// After an accepted patch the mirror is compared once more, when its turn comes: what somebody changed until then is
// not taken for what the server does not keep.
static void what_somebody_changes_before_its_turn_is_put_right(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 1, 0, 0);
    run(&play, "a");
    play_wait(&play, CLOCK_SECOND);
    play_seen(&play, 1, stripped_mirror("a"));
    play_wait(&play, 0);
    assert_int_equal(play_sent(&play, 1, VERB_MERGE_PATCH), 1);
    uint64_t patch = play.commands[play.n_commands - 1].id;
    run(&play, "old"); // a deletion is before it in the queue
    play_gone(&play, 0, play_workload("old", HOST, "w1"));
    play_wait(&play, 0);
    play_answer(&play, patch, REASON_OK, play_mirror("a"));
    assert_int_equal(play_sent(&play, 1, VERB_DELETE), 1);
    play_seen(&play, 1, stripped_mirror("a")); // again
    play_wait(&play, 0);
    assert_int_equal(play_sent(&play, 1, VERB_MERGE_PATCH), 1);
    answer(&play, play.n_commands - 1);
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 1, VERB_MERGE_PATCH), 2);
    play_end(&play);
}

static void with_a_rate_limit_it_is_woken_for_each_token(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 0, 10, 2);
    int64_t begin_ns = play.now.mono_ns;
    create(&play, "job", 5, "default");
    play_wait(&play, 0);
    assert_int_equal(play.n_commands, 2);
    assert_in_range(play.update.wake_ns - begin_ns, 100 * CLOCK_MS, 101 * CLOCK_MS);
    answer(&play, 0); // its Event takes no place, its create is for another cluster
    answer(&play, 1);
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), 2);
    play_wait(&play, 99 * CLOCK_MS);
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), 2);
    play_wait(&play, 2 * CLOCK_MS);
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), 3);
    play_wait(&play, 200 * CLOCK_MS);
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), 5);
    assert_int_equal(play_sent(&play, 1, VERB_CREATE) + play_sent(&play, 2, VERB_CREATE), 2);
    play_end(&play);
}

static void what_waits_is_seen_as_work_in_flight(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 1, 0, 0);
    assert_true(engine_in_sync(play.engine));
    create(&play, "job", 3, "default");
    play_wait(&play, 0);
    assert_int_equal(engine_pending(play.engine), 3);
    assert_false(engine_in_sync(play.engine));
    assert_int_equal(engine_stats(play.engine)->clusters[0].window, 1);
    play_end(&play);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_final_status_is_sent_before_placements_that_waited),
        cmocka_unit_test(dispatched_is_told_only_a_while_after_something_had_to_wait),
        cmocka_unit_test(nor_a_while_after_many_requests_were_in_flight),
        cmocka_unit_test(many_changes_while_it_waits_are_one_patch_of_the_last),
        cmocka_unit_test(what_is_no_longer_needed_is_never_sent),
        cmocka_unit_test(a_place_that_many_do_not_need_goes_to_the_one_that_does),
        cmocka_unit_test(one_authors_many_do_not_delay_anothers_one),
        cmocka_unit_test(an_overload_that_the_server_reports_or_does_not_survive_halves_the_window),
        cmocka_unit_test(the_window_is_never_exceeded_and_nothing_is_lost),
        cmocka_unit_test(a_worker_that_does_not_answer_delays_no_other_cluster),
        cmocka_unit_test(what_waits_goes_with_its_object_or_its_mirror),
        cmocka_unit_test(what_waits_for_a_worker_that_is_lost_is_not_sent_to_it),
        cmocka_unit_test(what_somebody_changes_before_its_turn_is_put_right),
        cmocka_unit_test(with_a_rate_limit_it_is_woken_for_each_token),
        cmocka_unit_test(what_waits_is_seen_as_work_in_flight),
    };
    return cmocka_run_group_tests(tests, play_load, play_unload);
}
