// SPDX-License-Identifier: Apache-2.0
// What the writes of a life contain: all that belongs together is in one.
#include "event_play.h"

#define HOST "wharf.dev/host"
#define RUNS "{'active':1,'ready':1,'startTime':'2026-03-01T12:00:01Z'}"
#define COMPLETE                                                                                                       \
    "{'succeeded':1,'startTime':'2026-03-01T12:00:01Z','completionTime':'2026-03-01T12:00:02Z','conditions':["         \
    "{'type':'SuccessCriteriaMet','status':'True','lastTransitionTime':'2026-03-01T12:00:02Z'},{'type':'Complete',"    \
    "'status':'True','lastTransitionTime':'2026-03-01T12:00:02Z'}]}"

static void open_play(struct play *play, unsigned window, bool finalizer) {
    play_init(play);
    play->options.window_max = window;
    play->options.settings.mirror_finalizer = finalizer;
    play_start(play);
    play_connect_all(play);
}

static struct json *body_of(const struct play_command *command) {
    struct json *body = NULL;
    assert_non_null(command->body);
    assert_null(json_parse(command->body, strlen(command->body), &body));
    return body;
}

static struct json *with_status(struct json *value, const char *status) {
    assert_true(pointer_set(value, "/status", harness_json(status)));
    return value;
}

// The record is one write, before the create: nothing of it follows later, and it changes nothing else.
static void the_record_of_a_placement_is_one_patch_before_the_create(void **state) {
    (void)state;
    for (int finalizer = 0; finalizer < 2; finalizer++) {
        struct play play;
        open_play(&play, 0, finalizer);
        play_seen(&play, 0, play_workload("a", HOST, ""));
        AUTO_TEXT version = text_format("%lld", (long long)play.version);
        play_wait(&play, CLOCK_SECOND);
        assert_int_equal(play.n_commands, 1);
        assert_int_equal(play.commands[0].cluster, 0);
        assert_int_equal(play.commands[0].verb, VERB_MERGE_PATCH);
        AUTO_JSON patch = body_of(&play.commands[0]);
        AUTO_JSON expected = play_json("{'metadata':{'uid':'u-a','resourceVersion':'%s','annotations':{'" MARK_CLUSTER
                                       "':'w1','" MARK_ATTEMPT "':'1'},'labels':{'" MARK_CLUSTER "':'w1'}}}",
                                       version);
        assert_true(json_equal(patch, expected));
        play_answer(&play, play.commands[0].id, REASON_OK, play_workload("a", HOST, "w1"));
        assert_int_equal(play.n_commands, 2);
        assert_int_equal(play.commands[1].cluster, 1);
        assert_int_equal(play.commands[1].verb, VERB_CREATE);
        play_end(&play);
    }
}

// Labels, annotations and the finalizer go with the create. Whoever answers it has a mirror that needs nothing more.
static void the_marks_and_the_finalizer_of_a_mirror_are_in_its_create(void **state) {
    (void)state;
    for (int finalizer = 0; finalizer < 2; finalizer++) {
        struct play play;
        open_play(&play, 0, finalizer);
        struct json *workload = play_workload("a", HOST, "");
        assert_true(pointer_set(workload, "/metadata/labels", harness_json("{'team':'x'}")));
        struct json *placed = json_copy(workload);
        assert_true(pointer_set(placed, "/metadata/annotations",
                                harness_json("{'" MARK_CLUSTER "':'w1','" MARK_ATTEMPT "':'1'}")));
        play_seen(&play, 0, workload);
        play_answer(&play, play.commands[0].id, REASON_OK, placed);
        assert_int_equal(play.n_commands, 2);
        struct json *mirror = body_of(&play.commands[1]);
        const struct json *labels = json_path(mirror, "metadata", "labels", NULL);
        static const char *const wanted[][2] = {
            {MARK_ORIGIN, "here"}, {MARK_UID, "u-a"}, {MARK_KIND, "jobs.batch"}, {"team", "x"}};
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
            assert_string_equal(json_string_or(json_get(labels, wanted[i][0]), ""), wanted[i][1]);
        assert_string_equal(json_string_or(json_path(mirror, "metadata", "annotations", MARK_ATTEMPT, NULL), ""), "1");
        AUTO_JSON finalizers = finalizer ? harness_json("['" MARK_FINALIZER "']") : NULL;
        assert_true(json_equal(json_path(mirror, "metadata", "finalizers", NULL), finalizers));
        assert_true(pointer_set(mirror, "/metadata/uid", json_new_string("m-a")));
        play_answer(&play, play.commands[1].id, REASON_OK, mirror);
        play_wait(&play, CLOCK_MINUTE);
        assert_int_equal(play.n_commands, 2);
        play_end(&play);
    }
}

// The only place is taken when the mirror starts and ends. Nothing was written of its status before.
static void a_status_that_is_final_when_its_turn_comes_is_one_patch(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 1, false);
    play_seen(&play, 1, play_mirror("a"));
    play_seen(&play, 0, play_workload("a", HOST, "w1"));
    play_seen(&play, 0, play_workload("other", HOST, ""));
    assert_int_equal(play.n_commands, 1);
    play_seen(&play, 1, with_status(play_mirror("a"), RUNS));
    play_wait(&play, CLOCK_SECOND);
    play_seen(&play, 1, with_status(play_mirror("a"), COMPLETE));
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 0, VERB_STATUS_PATCH), 0);
    play_answer(&play, play.commands[0].id, REASON_OK, play_workload("other", HOST, "w2"));
    assert_int_equal(play_sent(&play, 0, VERB_STATUS_PATCH), 1);
    const struct play_command *sent = &play.commands[play.n_commands - 1];
    while (sent->verb != VERB_STATUS_PATCH)
        sent--;
    assert_string_equal(sent->name, "a");
    AUTO_JSON patch = body_of(sent);
    AUTO_JSON expected = harness_json(COMPLETE);
    const struct json *status = json_get(patch, "status");
    static const char *const members[] = {"startTime", "completionTime", "succeeded", "conditions"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        assert_true(json_equal(json_get(status, members[i]), json_get(expected, members[i])));
    assert_null(json_get(status, "active"));
    struct json *answer = play_workload("a", HOST, "w1");
    assert_true(pointer_set(answer, "/status", json_copy(status)));
    play_answer(&play, sent->id, REASON_OK, answer);
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 0, VERB_STATUS_PATCH), 1);
    play_end(&play);
}

static void answer_last(struct play *play, enum reason reason, struct json *value) {
    play_answer(play, play->commands[play->n_commands - 1].id, reason, value);
    play_wait(play, CLOCK_SECOND);
}

// A watch may be silent, and no version is tried twice.
static void after_a_conflict_the_workload_is_read_unless_the_watch_has_shown_another_version(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 0, false);
    play_seen(&play, 0, play_workload("a", HOST, ""));
    answer_last(&play, REASON_CONFLICT, NULL);
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), 1);
    assert_int_equal(play_sent(&play, 0, VERB_GET), 1);
    answer_last(&play, REASON_OK, play_workload("a", HOST, ""));
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), 2);
    play_seen(&play, 0, play_workload("a", HOST, ""));
    answer_last(&play, REASON_CONFLICT, NULL);
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), 3);
    play_answer(&play, play.commands[play.n_commands - 1].id, REASON_CONFLICT, NULL);
    play_seen(&play, 0, play_workload("a", HOST, ""));
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), 4);
    assert_int_equal(play_sent(&play, 0, VERB_GET), 1);
    play_end(&play);
}

static void so_is_the_mirror(void **state) {
    (void)state;
    struct play play;
    open_play(&play, 0, false);
    play_seen(&play, 1, play_mirror("a"));
    struct json *workload = play_workload("a", HOST, "w1");
    assert_true(pointer_set(workload, "/spec/parallelism", json_new_int64(7)));
    play_seen(&play, 0, workload);
    assert_int_equal(play_sent(&play, 1, VERB_MERGE_PATCH), 1);
    answer_last(&play, REASON_CONFLICT, NULL);
    assert_int_equal(play_sent(&play, 1, VERB_MERGE_PATCH), 1);
    assert_int_equal(play_sent(&play, 1, VERB_GET), 1);
    answer_last(&play, REASON_OK, play_mirror("a"));
    assert_int_equal(play_sent(&play, 1, VERB_MERGE_PATCH), 2);
    play_seen(&play, 1, play_mirror("a"));
    answer_last(&play, REASON_CONFLICT, NULL);
    assert_int_equal(play_sent(&play, 1, VERB_MERGE_PATCH), 3);
    assert_int_equal(play_sent(&play, 1, VERB_GET), 1);
    play_end(&play);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_record_of_a_placement_is_one_patch_before_the_create),
        cmocka_unit_test(the_marks_and_the_finalizer_of_a_mirror_are_in_its_create),
        cmocka_unit_test(a_status_that_is_final_when_its_turn_comes_is_one_patch),
        cmocka_unit_test(after_a_conflict_the_workload_is_read_unless_the_watch_has_shown_another_version),
        cmocka_unit_test(so_is_the_mirror),
    };
    return cmocka_run_group_tests(tests, play_load, play_unload);
}
