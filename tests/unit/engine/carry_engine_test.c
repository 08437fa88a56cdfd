// SPDX-License-Identifier: Apache-2.0
// The engine's reactions to rejections, overwritten records, and objects that are too large.
#include "core/json/pointer.h"
#include "tests/unit/engine/event_play.h"

static void open_play(struct play *play) {
    play_init(play);
    play_start(play);
    play_connect_all(play);
}

static void set(struct json *object, const char *pointer, const char *text) {
    assert_true(pointer_set(object, pointer, harness_json(text)));
}

// The last command of this kind to this cluster.
static struct play_command *last(struct play *play, size_t cluster, enum verb verb) {
    for (size_t i = play->n_commands; i > 0; i--)
        if (play->commands[i - 1].cluster == cluster && play->commands[i - 1].verb == verb)
            return &play->commands[i - 1];
    fail_msg("nothing like that was sent");
    return NULL;
}

static struct json *body_of(const struct play_command *command) {
    struct json *body = NULL;
    assert_null(json_parse(command->body, strlen(command->body), &body));
    return body;
}

// The worker executes the last command.
static struct json *patched(struct play *play, const struct json *mirror) {
    struct json *after = json_copy(mirror);
    AUTO_JSON patch = body_of(last(play, 1, VERB_MERGE_PATCH));
    assert_true(patch_apply(&after, patch));
    return after;
}

static void answer_last(struct play *play, size_t cluster, enum verb verb, enum reason reason, struct json *value) {
    play_answer(play, last(play, cluster, verb)->id, reason, value);
    play_wait(play, 0);
}

static struct json *active_mirror(const char *status) {
    struct json *mirror = play_mirror("a");
    set(mirror, "/status", status);
    return mirror;
}

static void a_status_that_was_refused_waits_and_another_one_does_not(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    play_seen(&play, 1, active_mirror("{'active':1,'startTime':'" HARNESS_NOW "'}"));
    play_seen(&play, 0, play_workload("a", "wharf.dev/host", "w1"));
    play_wait(&play, 0);
    assert_int_equal(play_sent(&play, 0, VERB_STATUS_PATCH), 1);
    answer_last(&play, 0, VERB_STATUS_PATCH, REASON_INVALID, NULL);
    play_seen(&play, 1, active_mirror("{'active':1,'startTime':'" HARNESS_NOW "'}"));
    play_wait(&play, 2 * CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 0, VERB_STATUS_PATCH), 1);
    play_seen(&play, 1, active_mirror("{'active':1,'ready':1,'startTime':'" HARNESS_NOW "'}"));
    play_wait(&play, 0);
    assert_int_equal(play_sent(&play, 0, VERB_STATUS_PATCH), 2);
    play_end(&play);
}

// However often the mirror changes.
static void statuses_that_are_all_refused_are_sent_less_and_less_often(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    play_seen(&play, 1, active_mirror("{'active':1,'startTime':'" HARNESS_NOW "'}"));
    play_seen(&play, 0, play_workload("a", "wharf.dev/host", "w1"));
    size_t answered = 0;
    for (int i = 0; i < 600; i++) {
        play_wait(&play, CLOCK_SECOND);
        for (size_t sent = play_sent(&play, 0, VERB_STATUS_PATCH); answered < sent; answered++)
            answer_last(&play, 0, VERB_STATUS_PATCH, REASON_INVALID, NULL);
        play_seen(&play, 1,
                  active_mirror(i % 2 ? "{'active':1,'startTime':'" HARNESS_NOW "'}"
                                      : "{'active':1,'ready':1,'startTime':'" HARNESS_NOW "'}"));
    }
    assert_in_range(play_sent(&play, 0, VERB_STATUS_PATCH), 4, 20);
    play_end(&play);
}

static void what_stops_work_goes_first_and_alone_after_a_refusal(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    struct json *mirror = play_mirror("a");
    AUTO_JSON kept = json_copy(mirror);
    play_seen(&play, 1, mirror);
    play_seen(&play, 0, play_workload("a", "wharf.dev/host", "w1"));
    play_wait(&play, 0);
    struct json *workload = play_workload("a", "wharf.dev/host", "w1");
    set(workload, "/metadata/annotations/large", "'x'");
    set(workload, "/metadata/generation", "2");
    set(workload, "/spec/suspend", "true");
    play_seen(&play, 0, workload);
    play_wait(&play, 0);
    assert_non_null(strstr(last(&play, 1, VERB_MERGE_PATCH)->body, "large"));
    answer_last(&play, 1, VERB_MERGE_PATCH, REASON_INVALID, NULL);
    assert_int_equal(play_sent(&play, 1, VERB_MERGE_PATCH), 2);
    AUTO_JSON alone = body_of(last(&play, 1, VERB_MERGE_PATCH));
    AUTO_JSON expected = harness_json("{'spec':{'suspend':true},'metadata':{'uid':'m-a'}}");
    assert_true(json_equal(alone, expected));
    answer_last(&play, 1, VERB_MERGE_PATCH, REASON_OK, patched(&play, kept));
    assert_int_equal(play_sent(&play, 1, VERB_MERGE_PATCH), 3); // the record
    answer_last(&play, 1, VERB_MERGE_PATCH, REASON_INVALID, NULL);
    assert_int_equal(play_sent(&play, 1, VERB_MERGE_PATCH), 4); // labels and annotations
    answer_last(&play, 1, VERB_MERGE_PATCH, REASON_INVALID, NULL);
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 1, VERB_MERGE_PATCH), 4);
    play_gone(&play, 0, play_workload("a", "wharf.dev/host", "w1")); // a deletion is not delayed by it
    play_wait(&play, 0);
    assert_int_equal(play_sent(&play, 1, VERB_DELETE), 1);
    play_end(&play);
}

static void a_refusal_ends_when_what_would_be_sent_has_changed(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    play_seen(&play, 1, play_mirror("a"));
    play_seen(&play, 0, play_workload("a", "wharf.dev/host", "w1"));
    play_wait(&play, 0);
    for (int i = 0; i < 2; i++) {
        struct json *workload = play_workload("a", "wharf.dev/host", "w1");
        set(workload, "/metadata/annotations/note", i ? "'b'" : "'a'");
        play_seen(&play, 0, workload);
        play_wait(&play, 0);
        assert_int_equal(play_sent(&play, 1, VERB_MERGE_PATCH), i + 1);
        answer_last(&play, 1, VERB_MERGE_PATCH, REASON_FORBIDDEN, NULL);
        play_wait(&play, CLOCK_SECOND / 2);
        play_seen(&play, 1, play_mirror("a")); // the same patch would be made
        play_wait(&play, CLOCK_SECOND / 2);
        assert_int_equal(play_sent(&play, 1, VERB_MERGE_PATCH), i + 1);
    }
    play_end(&play);
}

static struct json *labelled(int count) {
    struct json *workload = play_workload("a", "wharf.dev/host", "");
    for (int i = 0; i < count; i++) {
        char pointer[64];
        snprintf(pointer, sizeof pointer, "/metadata/labels/label-%d", i);
        assert_true(pointer_set(workload, pointer, json_new_string("")));
    }
    return workload;
}

static void a_workload_that_no_cluster_accepts_is_reported_and_retried_when_it_changes(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    play_seen(&play, 0, labelled(40000));
    play_wait(&play, 2 * 60 * CLOCK_MINUTE);
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), 0);
    assert_int_equal(play_times(&play.notes, "AnnotationsTooLarge: "), 1);
    assert_true(engine_stats(play.engine)->kinds[0].adapter_errors < 30);
    play_seen(&play, 0, labelled(10000));
    play_wait(&play, 0);
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), 1);
    play_end(&play);
}

// Two writers that keep overwriting each other: ever fewer writes.
static void a_record_that_is_written_over_again_and_again_is_repaired_less_and_less_often(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    struct json *mirror = play_mirror("a");
    AUTO_JSON server = json_copy(mirror);
    play_seen(&play, 1, mirror);
    play_seen(&play, 0, play_workload("a", "wharf.dev/host", "w1"));
    struct json *workload = play_workload("a", "wharf.dev/host", "w1");
    set(workload, "/metadata/labels", "{'team':'x'}");
    play_seen(&play, 0, workload);
    play_wait(&play, 0);
    assert_int_equal(play_sent(&play, 1, VERB_MERGE_PATCH), 1);
    size_t answered = 0;
    for (int i = 0; i < 600; i++) {
        for (size_t sent = play_sent(&play, 1, VERB_MERGE_PATCH); answered < sent; answered++) {
            struct json *after = patched(&play, server);
            json_free(server);
            server = json_copy(after);
            answer_last(&play, 1, VERB_MERGE_PATCH, REASON_OK, after);
        }
        assert_true(pointer_set(server, "/metadata/annotations/wharf.dev~1carried", json_new_string("v2:r:::")));
        play_seen(&play, 1, json_copy(server));
        play_wait(&play, CLOCK_SECOND);
    }
    size_t patches = play_sent(&play, 1, VERB_MERGE_PATCH);
    assert_in_range(patches, 4, 20);
    play_end(&play);
}

// A policy of the worker takes a label off, and keeps the record.
static void what_a_worker_accepts_and_drops_is_told_once_and_not_sent_again(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    struct json *mirror = play_mirror("a");
    AUTO_JSON server = json_copy(mirror);
    play_seen(&play, 1, mirror);
    play_seen(&play, 0, play_workload("a", "wharf.dev/host", "w1"));
    size_t answered = 0, told = 0;
    for (int change = 1; change <= 2; change++) {
        struct json *workload = play_workload("a", "wharf.dev/host", "w1");
        AUTO_TEXT labels = text_format("{'team':'x%d'}", change);
        set(workload, "/metadata/labels", labels);
        play_seen(&play, 0, workload);
        play_wait(&play, 0);
        for (int i = 0; i < 60; i++) {
            for (size_t sent = play_sent(&play, 1, VERB_MERGE_PATCH); answered < sent; answered++) {
                struct json *after = patched(&play, server);
                pointer_remove(after, "/metadata/labels/team");
                json_free(server);
                server = json_copy(after);
                answer_last(&play, 1, VERB_MERGE_PATCH, REASON_OK, after);
            }
            play_wait(&play, CLOCK_SECOND);
        }
        assert_in_range(answered, 1, 3 * change);
        size_t now = play_times(&play.notes, "FieldsDropped: w1 accepted a change of the mirror");
        assert_int_equal(now, told + (change == 1)); // the same text is not repeated
        told = now;
    }
    play_end(&play);
}

static void stub(struct play *play, size_t cluster, struct json *value) {
    struct object *object = play_object(play, value);
    object->too_large = strdup("it has 9000000 bytes, and maxObjectSize is 2097152");
    play_tell(play, (struct engine_event){.type = EVENT_SEEN, .cluster = cluster, .object = object});
    play_wait(play, 0);
}

static void a_workload_that_is_too_large_is_reported_and_skipped_until_it_is_smaller(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    stub(&play, 0, play_workload("a", "wharf.dev/host", ""));
    stub(&play, 0, play_workload("b", "kubernetes.io/job-controller", ""));
    play_wait(&play, CLOCK_MINUTE);
    assert_int_equal(play.n_commands, 0);
    assert_int_equal(play_times(&play.notes, "TooLarge: not handled: it has 9000000 bytes"), 1);
    play_seen(&play, 0, play_workload("a", "wharf.dev/host", ""));
    play_wait(&play, 0);
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), 1);
    play_end(&play);
}

// Within the limit of a copied status, as a worker's thread receives it.
static void seen_within(struct play *play, struct json *mirror, size_t max) {
    AUTO_JSON value = mirror;
    AUTO_TEXT version = text_format("%lld", (long long)++play->version);
    assert_true(pointer_set(value, "/metadata/resourceVersion", json_new_string(version)));
    size_t len = 0;
    AUTO_TEXT text = json_text(value, &len);
    struct budget budget;
    budget_init(&budget, 0, 0, 0, NULL);
    budget.max_status_size = max;
    struct object *object = NULL;
    assert_null(object_parse_bounded(text, len, &(struct object_limits){.budget = &budget}, &object));
    play_tell(play, (struct engine_event){.type = EVENT_SEEN, .cluster = 1, .object = object});
    play_wait(play, 0);
}

static struct json *heavy_mirror(const char *conditions) {
    AUTO_TEXT text = text_format("{'active':0,'succeeded':1,'startTime':'" HARNESS_NOW "'%s}", conditions);
    struct json *mirror = active_mirror(text);
    struct json *more = json_new_array();
    for (int i = 0; i < 10000; i++)
        assert_true(json_append(more, json_new_string("a name of a pod that was not counted yet")));
    assert_true(pointer_set(mirror, "/status/later", more));
    return mirror;
}

static void a_final_status_that_is_too_large_ends_the_workload_and_is_reported_once(void **state) {
    (void)state;
    static const char end[] =
        ",'completionTime':'" HARNESS_NOW "','conditions':[{'type':'SuccessCriteriaMet','status':'True',"
        "'lastTransitionTime':'" HARNESS_NOW "'},{'type':'Complete','status':'True','lastTransitionTime':'" HARNESS_NOW
        "'}]";
    struct play play;
    open_play(&play);
    seen_within(&play, active_mirror("{}"), BUDGET_STATUS_SIZE);
    play_seen(&play, 0, play_workload("a", "wharf.dev/host", "w1"));
    play_wait(&play, 0);
    seen_within(&play, heavy_mirror(""), BUDGET_STATUS_SIZE);
    seen_within(&play, heavy_mirror(end), BUDGET_STATUS_SIZE);
    AUTO_JSON workload = play_workload("a", "wharf.dev/host", "w1");
    set(workload, "/status", "{'succeeded':1,'startTime':'" HARNESS_NOW "'}");
    answer_last(&play, 0, VERB_STATUS_PATCH, REASON_OK, json_copy(workload));
    const struct play_command *sent = last(&play, 0, VERB_STATUS_PATCH);
    AUTO_JSON patch = body_of(sent);
    assert_true(strlen(sent->body) < 1000);
    assert_non_null(strstr(sent->body, "\"Complete\""));
    assert_null(json_path(patch, "status", "later", NULL));
    assert_int_equal(play_times(&play.notes, "StatusTooLarge: the host copies only a part of the status in cluster w1: "
                                             "its status has "),
                     1);
    assert_int_equal(play_times(&play.notes, "and maxStatusSize is 262144; left out: later\n"), 1);
    play_end(&play);
}

// It is listed again, in the same version.
static void a_status_is_copied_whole_once_the_limit_allows_that(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    play_seen(&play, 0, play_workload("a", "wharf.dev/host", "w1"));
    seen_within(&play, heavy_mirror(""), BUDGET_STATUS_SIZE);
    AUTO_JSON workload = play_workload("a", "wharf.dev/host", "w1");
    set(workload, "/status", "{'succeeded':1,'startTime':'" HARNESS_NOW "'}");
    answer_last(&play, 0, VERB_STATUS_PATCH, REASON_OK, json_copy(workload));
    size_t sent = play_sent(&play, 0, VERB_STATUS_PATCH);
    play.version -= 2; // that of the mirror
    seen_within(&play, heavy_mirror(""), BUDGET_STATUS_SIZE);
    assert_int_equal(play_sent(&play, 0, VERB_STATUS_PATCH), sent);
    play.version--;
    seen_within(&play, heavy_mirror(""), 1 << 20);
    assert_int_equal(play_sent(&play, 0, VERB_STATUS_PATCH), sent + 1);
    assert_non_null(strstr(last(&play, 0, VERB_STATUS_PATCH)->body, "\"later\":["));
    play_end(&play);
}

// It is read since a list had an older version, and has become too large meanwhile.
static void one_that_was_listed_older_and_is_too_large_is_read_once(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    play.version = 200;
    play_seen(&play, 0, play_workload("a", "wharf.dev/host", ""));
    play_wait(&play, 0);
    play_answer(&play, play.commands[0].id, REASON_SERVER_ERROR, NULL);
    play_listing(&play, 0);
    play.version = 150; // from a cache that lags
    play_seen(&play, 0, play_workload("a", "wharf.dev/host", ""));
    play_listed(&play, 0);
    play.version = 300;
    stub(&play, 0, play_workload("a", "wharf.dev/host", ""));
    play_wait(&play, CLOCK_MINUTE);
    for (int i = 0; i < 50; i++) {
        const struct play_command *last = play.n_commands > 0 ? &play.commands[play.n_commands - 1] : NULL;
        if (last && last->verb == VERB_GET && last->cluster == 0)
            play_answer(&play, last->id, REASON_OK, NULL);
        play_wait(&play, CLOCK_MS);
    }
    assert_in_range(play_sent(&play, 0, VERB_GET), 0, 2);
    play_end(&play);
}

static void a_workload_that_has_become_too_large_keeps_its_mirror_until_it_is_deleted(void **state) {
    (void)state;
    for (int known = 0; known < 2; known++) {
        struct play play;
        open_play(&play);
        play_seen(&play, 1, play_mirror("a"));
        if (known)
            play_seen(&play, 0, play_workload("a", "wharf.dev/host", "w1"));
        stub(&play, 0, play_workload("a", "wharf.dev/host", "w1"));
        play_wait(&play, 2 * 60 * CLOCK_MINUTE);
        assert_int_equal(play_sent(&play, 1, VERB_DELETE), 0);
        struct json *ending = play_workload("a", "wharf.dev/host", "w1");
        set(ending, "/metadata/deletionTimestamp", "'2026-03-01T12:00:00Z'");
        stub(&play, 0, ending);
        assert_int_equal(play_sent(&play, 1, VERB_DELETE), 1);
        play_end(&play);
    }
}

static void a_mirror_that_is_too_large_is_told_and_its_status_not_copied(void **state) {
    (void)state;
    for (int known = 0; known < 2; known++) {
        struct play play;
        open_play(&play);
        if (known)
            play_seen(&play, 1, play_mirror("a"));
        stub(&play, 1, play_mirror("a"));
        play_seen(&play, 0, play_workload("a", "wharf.dev/host", "w1"));
        stub(&play, 1, play_mirror("a"));
        struct json *workload = play_workload("a", "wharf.dev/host", "w1");
        set(workload, "/metadata/labels", "{'team':'x'}");
        play_seen(&play, 0, workload);
        play_wait(&play, CLOCK_MINUTE);
        assert_int_equal(play_sent(&play, 1, VERB_CREATE), 0);
        assert_int_equal(play_sent(&play, 1, VERB_DELETE), 0);
        assert_int_equal(play_sent(&play, 1, VERB_MERGE_PATCH), 0);
        assert_int_equal(play_sent(&play, 0, VERB_STATUS_PATCH), 0);
        assert_int_equal(play_times(&play.notes, "TooLarge: the mirror in cluster w1"), 1);
        assert_int_equal(play_times(&play.log, "which is too large: it has 9000000 bytes"), 1);
        struct json *mirror = play_mirror("a");
        set(mirror, "/status", "{'active':1,'ready':1}");
        play_seen(&play, 1, mirror);
        play_wait(&play, 0);
        assert_int_equal(play_sent(&play, 1, VERB_MERGE_PATCH), 1);
        assert_int_equal(play_sent(&play, 0, VERB_STATUS_PATCH), 1);
        play_end(&play);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_status_that_was_refused_waits_and_another_one_does_not),
        cmocka_unit_test(statuses_that_are_all_refused_are_sent_less_and_less_often),
        cmocka_unit_test(what_stops_work_goes_first_and_alone_after_a_refusal),
        cmocka_unit_test(a_refusal_ends_when_what_would_be_sent_has_changed),
        cmocka_unit_test(a_workload_that_no_cluster_accepts_is_reported_and_retried_when_it_changes),
        cmocka_unit_test(a_record_that_is_written_over_again_and_again_is_repaired_less_and_less_often),
        cmocka_unit_test(what_a_worker_accepts_and_drops_is_told_once_and_not_sent_again),
        cmocka_unit_test(a_workload_that_is_too_large_is_reported_and_skipped_until_it_is_smaller),
        cmocka_unit_test(a_final_status_that_is_too_large_ends_the_workload_and_is_reported_once),
        cmocka_unit_test(a_status_is_copied_whole_once_the_limit_allows_that),
        cmocka_unit_test(one_that_was_listed_older_and_is_too_large_is_read_once),
        cmocka_unit_test(a_workload_that_has_become_too_large_keeps_its_mirror_until_it_is_deleted),
        cmocka_unit_test(a_mirror_that_is_too_large_is_told_and_its_status_not_copied),
    };
    return cmocka_run_group_tests(tests, play_load, play_unload);
}
