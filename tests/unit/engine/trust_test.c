// SPDX-License-Identifier: Apache-2.0
// Trust in workers that forge mirrors, and in authors who write the host's annotations. docs/security.md cites these
// tests by name.
#include "tests/unit/engine/engine_play.h"

#define MANAGEMENT 0
#define W1 1
#define W2 2
#define NAME "a"

static struct kind *kind;
static struct seal_keys *key, *rotated, *other_key;
static struct play *play;

static const char *annotation(const char *mark) {
    AUTO_TEXT pointer = text_format("/metadata/annotations/wharf.dev~1%s", mark);
    return play_text(play_object(play, MANAGEMENT, NAME), pointer);
}

static void assert_placed(const char *cluster, const char *attempt) {
    assert_string_equal(annotation("cluster"), cluster);
    assert_string_equal(annotation("attempt"), attempt);
}

static const char *seal_of(size_t cluster, const char *name) {
    return play_text(play_object(play, cluster, name), "/metadata/annotations/wharf.dev~1seal");
}

static bool is_complete(void) {
    return pointer_find(play_object(play, MANAGEMENT, NAME), "/status/completionTime");
}

// A Job that runs in w1.
static void begin(const struct seal_keys *keys) {
    play = play_new(kind);
    play->objects[MANAGEMENT][0] = harness_json(PLAY_WORKLOAD);
    assert_true(pointer_set(play->objects[MANAGEMENT][0], "/metadata/resourceVersion", json_new_string("100")));
    play_start(play, keys, false);
    assert_placed("w1", "1");
    assert_non_null(play_object(play, W1, NAME));
    play_patch(play, W1, NAME, PLAY_RUNS);
    play_settle(play);
    assert_int_equal(play->creates[W1], 1);
}

static int end(void **state) {
    (void)state;
    play_free(play);
    play = NULL;
    return 0;
}

// A copy of the mirror in w1, with its marks, another attempt, and a status with condition Complete.
static struct json *forged(const char *attempt, const char *name) {
    struct json *copy = json_copy(play_object(play, W1, NAME));
    AUTO_JSON status = harness_json(PLAY_COMPLETE);
    assert_true(patch_apply(&copy, status));
    assert_true(pointer_set(copy, "/metadata/annotations/wharf.dev~1attempt", json_new_string(attempt)));
    assert_true(pointer_set(copy, "/metadata/name", json_new_string(name)));
    return copy;
}

static void assert_untouched(void) {
    play_pass(play, 5 * CLOCK_MINUTE);
    assert_placed("w1", "1");
    assert_non_null(play_object(play, W1, NAME));
    assert_non_null(play_object(play, W2, NAME));
    assert_int_equal(play->deletes[W1], 0);
    assert_int_equal(play->deletes[W2], 0);
    assert_int_equal(play->patches[W2], 0);
    assert_false(is_complete());
    play_patch(play, W1, NAME, PLAY_COMPLETE); // the real one is still followed
    play_settle(play);
    assert_true(is_complete());
}

static void a_forged_mirror_of_a_higher_attempt_is_not_adopted(void **state) {
    (void)state;
    begin(key);
    play_put(play, W2, forged("7", NAME));
    play_settle(play);
    assert_int_equal(play_told(play, "NameConflict: cluster w2"), 1);
    assert_int_equal(play_told(play, "log: cluster 2: default/a (uid "), 1);
    assert_untouched();
    assert_int_equal(engine_stats(play->engine)->clusters[W2].unsealed, 1);
}

static void without_a_key_a_higher_attempt_is_quarantined_and_reported(void **state) {
    (void)state;
    begin(NULL);
    assert_string_equal(seal_of(W1, NAME), "");
    play_put(play, W2, forged("7", NAME));
    play_settle(play);
    assert_int_equal(play_told(play, "MirrorHeld: cluster w2"), 1);
    assert_int_equal(engine_stats(play->engine)->clusters[W2].quarantined, 1);
    assert_untouched();
    play_remove(play, W2, NAME);
    play_settle(play);
    assert_int_equal(engine_stats(play->engine)->clusters[W2].quarantined, 0);
}

// Its marks identified nothing: they are not restored to what a restarted host happened to see first.
static void a_held_mirror_is_adopted_once_its_marks_are_put_right(void **state) {
    (void)state;
    begin(NULL);
    AUTO_JSON stripped = harness_json("{'metadata':{'annotations':{'wharf.dev/attempt':'2000'}}}");
    assert_true(patch_apply(&play->objects[W1][0], stripped));
    play_start(play, NULL, false);
    play_settle(play);
    assert_int_equal(play_told(play, "MirrorHeld: cluster w1"), 1);
    play_patch(play, W1, NAME, "{'metadata':{'annotations':{'wharf.dev/attempt':'1'}}}");
    play_settle(play);
    assert_int_equal(engine_stats(play->engine)->clusters[W1].quarantined, 0);
    play_patch(play, W1, NAME, PLAY_COMPLETE);
    play_settle(play);
    assert_true(is_complete());
    assert_int_equal(play->creates[W1], 1);
}

// The worker's etcd was restored from a copy made after somebody had written the annotation.
static void without_a_key_one_that_comes_back_with_a_higher_attempt_is_quarantined(void **state) {
    (void)state;
    begin(NULL);
    play_patch(play, MANAGEMENT, NAME, "{'spec':{'suspend':true}}");
    play_settle(play);
    struct json *copy = json_copy(play_object(play, W1, NAME));
    assert_true(pointer_set(copy, "/metadata/annotations/wharf.dev~1attempt", json_new_string("2000")));
    play_remove(play, W1, NAME);
    play_settle(play);
    *play_slot(play, W1, NAME) = copy; // with its uid
    play_changed(play, W1, copy);
    play_settle(play);
    play_patch(play, MANAGEMENT, NAME, "{'spec':{'suspend':false}}");
    play_settle(play);
    assert_placed("w1", "1");
    assert_int_equal(play_told(play, "MirrorHeld: cluster w1"), 1);
    play_patch(play, W1, NAME, "{'metadata':{'annotations':{'wharf.dev/attempt':'1'}}}");
    play_settle(play);
    assert_int_equal(engine_stats(play->engine)->clusters[W1].quarantined, 0);
    play_patch(play, W1, NAME, PLAY_COMPLETE);
    play_settle(play);
    assert_true(is_complete());
    assert_int_equal(play->creates[W1], 1);
}

// The worker whose mirror stays has no name.
static void a_held_mirror_goes_with_a_workload_whose_cluster_is_nonsense(void **state) {
    (void)state;
    begin(NULL);
    play_put(play, W2, forged("7", NAME));
    play_patch(play, W1, NAME, PLAY_COMPLETE);
    play_settle(play);
    assert_true(is_complete());
    assert_non_null(play_object(play, W2, NAME));
    play_pass(play, 2 * CLOCK_MINUTE);
    play_start(play, NULL, false);
    play_patch(play, MANAGEMENT, NAME, "{'metadata':{'annotations':{'wharf.dev/cluster':''}}}");
    play_settle(play);
    play_patch(play, MANAGEMENT, NAME, "{'metadata':{'deletionTimestamp':'2026-03-01T12:01:00Z'}}");
    play_settle(play);
    play_pass(play, CLOCK_MINUTE);
    assert_null(play_object(play, W2, NAME));
    assert_int_equal(play_told(play, "SecondMirror"), 0);
}

static void a_copy_in_another_worker_is_foreign(void **state) {
    (void)state;
    begin(key);
    play_put(play, W2, forged("1", NAME));
    play_settle(play);
    assert_untouched();
}

static void a_copy_under_another_name_is_foreign(void **state) {
    (void)state;
    begin(key);
    play_put(play, W1, forged("1", "b"));
    play_settle(play);
    play_pass(play, 5 * CLOCK_MINUTE);
    assert_non_null(play_object(play, W1, "b"));
    assert_int_equal(play->deletes[W1], 0);
    assert_int_equal(play_told(play, "log: cluster 1: default/b (uid "), 1);
}

static void without_a_key_a_copy_is_deleted_as_an_orphan_and_reported(void **state) {
    (void)state;
    begin(NULL);
    play_put(play, W1, forged("1", "b"));
    play_settle(play);
    play_pass(play, CLOCK_MINUTE);
    assert_null(play_object(play, W1, "b"));
    assert_non_null(play_object(play, W1, NAME));
    assert_int_equal(play_told(play, "log: cluster 1: deleting orphan default/b (uid "), 1);
}

static void a_foreign_object_in_the_annotated_worker_is_not_adopted_when_the_mirror_is_gone(void **state) {
    (void)state;
    begin(key);
    struct json *copy = forged("2", NAME);
    play_put(play, W2, copy);
    play_settle(play);
    play_remove(play, W1, NAME);
    play_settle(play);
    play_pass(play, CLOCK_MINUTE);
    assert_false(is_complete());
    assert_non_null(play_object(play, W2, NAME));
    assert_int_equal(play->deletes[W2], 0);
    assert_int_equal(play->patches[W2], 0);
    assert_int_equal(play->creates[W1], 2);
}

static void a_higher_attempt_does_not_win_even_with_a_seal(void **state) {
    (void)state;
    begin(key);
    char seal[SEAL_TEXT_MAX];
    assert_true(seal_make(key, &(struct seal_subject){"here", "jobs.batch", "default", NAME, "u-1", "w2", 7}, seal));
    struct json *copy = forged("7", NAME);
    assert_true(pointer_set(copy, "/metadata/annotations/wharf.dev~1seal", json_new_string(seal)));
    play_put(play, W2, copy);
    play_settle(play);
    play_pass(play, CLOCK_MINUTE);
    assert_placed("w1", "1");
    assert_non_null(play_object(play, W1, NAME));
    assert_int_equal(play->deletes[W1], 0);
    assert_null(play_object(play, W2, NAME)); // two would run
    assert_false(is_complete());
    assert_int_equal(play_told(play, "SecondMirror: "), 1);
}

static void changed_marks_of_a_mirror_are_restored(void **state) {
    (void)state;
    static const char *const patches[] = {
        "{'metadata':{'annotations':{'wharf.dev/seal':null}}}",
        "{'metadata':{'annotations':{'wharf.dev/seal':'v1:00000000:00'}}}",
        "{'metadata':{'annotations':{'wharf.dev/attempt':'7'}}}",
        "{'metadata':{'labels':{'wharf.dev/uid':'u-2'}}}",
        "{'metadata':{'labels':{'wharf.dev/kind':null}}}",
    };
    for (size_t with_key = 0; with_key < 2; with_key++) {
        begin(with_key ? key : NULL);
        AUTO_JSON before = json_copy(pointer_find(play_object(play, W1, NAME), "/metadata/annotations"));
        for (size_t i = with_key ? 0 : 2; i < sizeof patches / sizeof *patches; i++) {
            play_patch(play, W1, NAME, patches[i]);
            play_settle(play);
            play_pass(play, CLOCK_MINUTE);
            const struct json *mirror = play_object(play, W1, NAME);
            assert_non_null(mirror);
            assert_true(json_equal(pointer_find(mirror, "/metadata/annotations"), before));
            assert_string_equal(play_text(mirror, "/metadata/labels/wharf.dev~1uid"), "u-1");
            assert_string_equal(play_text(mirror, "/metadata/labels/wharf.dev~1kind"), "jobs.batch");
            assert_placed("w1", "1");
        }
        assert_int_equal(play->deletes[W1], 0);
        assert_int_equal(play->creates[W2], 0);
        if (with_key == 0)
            end(state);
    }
}

static void a_restarted_host_recognises_its_mirrors_by_their_seals(void **state) {
    (void)state;
    begin(key);
    play_start(play, key, false);
    unsigned patches = play->patches[W1];
    play_start(play, rotated, false); // the new key signs, the old one is still accepted
    assert_int_equal(play->patches[W1], patches + 1);
    play_pass(play, CLOCK_MINUTE);
    assert_int_equal(play->patches[W1], patches + 1);
    assert_int_equal(play->creates[W1] + play->creates[W2], 1);
    assert_int_equal(play->deletes[W1], 0);
    assert_string_not_equal(seal_of(W1, NAME), "");
    play_patch(play, W1, NAME, PLAY_COMPLETE);
    play_settle(play);
    assert_true(is_complete());
}

static void a_possible_mirror_is_not_run_a_second_time(void **state) {
    (void)state;
    begin(key);
    play_start(play, other_key, false); // somebody lost the key
    play_pass(play, 30 * CLOCK_MINUTE);
    assert_placed("w1", "1");
    assert_int_equal(play->creates[W1] + play->creates[W2], 1);
    assert_int_equal(play->deletes[W1] + play->deletes[W2], 0);
    assert_int_equal(play_told(play, "NotSealed: cluster w1"), 1);
    play_remove(play, W1, NAME); // an operator decides
    play_settle(play);
    play_pass(play, CLOCK_MINUTE);
    assert_int_equal(play->creates[W1], 2);
}

static void a_possible_mirror_is_read_before_another_one_is_created(void **state) {
    (void)state;
    begin(key);
    play->full[W1] = true;
    play_start(play, other_key, false);
    play_pass(play, 30 * CLOCK_MINUTE);
    assert_placed("w1", "1");
    assert_int_equal(play->creates[W1] + play->creates[W2], 1);
    assert_int_equal(play_told(play, "NotSealed: cluster w1"), 1);
}

static void unsealed_mirrors_are_sealed_on_first_sight_with_adopt_unsealed(void **state) {
    (void)state;
    begin(NULL);
    play_start(play, key, CLOCK_NEVER);
    assert_string_not_equal(seal_of(W1, NAME), "");
    assert_int_equal(play->creates[W1] + play->creates[W2], 1);
    play_put(play, W2, forged("7", NAME)); // copied with a seal of another worker
    play_settle(play);
    assert_untouched();
}

static void an_unsealed_mirror_is_adopted_on_first_sight_only(void **state) {
    (void)state;
    begin(NULL);
    struct json *copy = forged("1", "b");
    play_start(play, key, CLOCK_NEVER);
    play_put(play, W1, copy); // after the first list
    play_settle(play);
    play_pass(play, CLOCK_MINUTE);
    assert_non_null(play_object(play, W1, "b"));
    assert_int_equal(play->deletes[W1], 0);
}

static void an_unsealed_mirror_is_not_adopted_after_the_time_for_that(void **state) {
    (void)state;
    begin(NULL);
    play_start(play, key, play->now.mono_ns);
    play_pass(play, CLOCK_MINUTE);
    assert_string_equal(seal_of(W1, NAME), "");
    assert_int_equal(
        play_told(play, "NotSealed: cluster w1 has an object with the marks of the mirror but no valid seal: "
                        "the host creates no mirror until that object is gone or has a seal (objects from before "
                        "there was a key have none: a start with seal.adoptUnsealed: true adds the seal)"),
        1);
    play_start(play, key, play->now.mono_ns + CLOCK_SECOND);
    assert_string_not_equal(seal_of(W1, NAME), "");
    assert_int_equal(play->creates[W1] + play->creates[W2], 1);
}

static void annotations_of_an_author_do_not_move_a_running_mirror(void **state) {
    (void)state;
    static const char *const patches[] = {
        "{'metadata':{'annotations':{'wharf.dev/cluster':'w2'}}}",
        "{'metadata':{'annotations':{'wharf.dev/cluster':'nowhere'}}}",
        "{'metadata':{'annotations':{'wharf.dev/cluster':'management'}}}",
        "{'metadata':{'annotations':{'wharf.dev/attempt':'5'}}}",
        "{'metadata':{'annotations':{'wharf.dev/attempt':'2147483647'}}}",
        "{'metadata':{'annotations':{'wharf.dev/attempt':'4294967294'}}}",
        "{'metadata':{'annotations':{'wharf.dev/attempt':'4294967295'}}}",
        "{'metadata':{'annotations':{'wharf.dev/attempt':'18446744073709551617'}}}",
        "{'metadata':{'annotations':{'wharf.dev/attempt':'-1'}}}",
        "{'metadata':{'annotations':{'wharf.dev/cluster':null,'wharf.dev/attempt':null}}}",
    };
    for (size_t with_key = 0; with_key < 2; with_key++) {
        begin(with_key ? key : NULL);
        for (size_t i = 0; i < sizeof patches / sizeof *patches; i++) {
            play_patch(play, MANAGEMENT, NAME, patches[i]);
            play_settle(play);
            play_pass(play, 15 * CLOCK_MINUTE);
            assert_placed("w1", "1");
            assert_int_equal(play_told(play, "AnnotationsRestored: "), i + 1);
        }
        assert_int_equal(play->deletes[W1] + play->deletes[W2], 0);
        assert_int_equal(play->creates[W1] + play->creates[W2], 1);
        play_patch(play, W1, NAME, PLAY_COMPLETE);
        play_settle(play);
        assert_true(is_complete());
        if (with_key == 0)
            end(state);
    }
}

static void repeatedly_changed_annotations_are_restored_with_growing_delays(void **state) {
    (void)state;
    begin(key);
    unsigned before = play->patches[MANAGEMENT];
    for (int i = 0; i < 100; i++) {
        play_patch(play, MANAGEMENT, NAME, "{'metadata':{'annotations':{'wharf.dev/cluster':'w2'}}}");
        play_settle(play);
        play_pass(play, CLOCK_SECOND);
    }
    assert_in_range(play->patches[MANAGEMENT] - before, 4, 12);
    assert_int_equal(play->deletes[W1] + play->deletes[W2], 0);
    assert_int_equal(play->creates[W1], 1);
}

static const char *label_of(size_t cluster) {
    return json_string_or(json_path(play_object(play, cluster, NAME), "metadata", "labels", MARK_CLUSTER, NULL), "");
}

static void a_changed_label_of_the_cluster_is_restored(void **state) {
    (void)state;
    static const char *const patches[] = {
        "{'metadata':{'labels':{'wharf.dev/cluster':'w2'}}}",
        "{'metadata':{'labels':{'wharf.dev/cluster':'nowhere'}}}",
        "{'metadata':{'labels':{'wharf.dev/cluster':null}}}",
        "{'metadata':{'labels':{'wharf.dev/cluster':'w2'},'annotations':{'wharf.dev/cluster':'w2'}}}",
    };
    begin(key);
    assert_string_equal(label_of(MANAGEMENT), "w1");
    assert_string_equal(label_of(W1), "");
    for (size_t i = 0; i < sizeof patches / sizeof *patches; i++) {
        unsigned before = play->patches[MANAGEMENT];
        play_patch(play, MANAGEMENT, NAME, patches[i]);
        play_settle(play);
        play_pass(play, 15 * CLOCK_MINUTE);
        assert_placed("w1", "1");
        assert_string_equal(label_of(MANAGEMENT), "w1");
        assert_int_equal(play->patches[MANAGEMENT], before + 1);
    }
    assert_int_equal(play_told(play, "LabelRestored: "), 3);
    assert_int_equal(play->deletes[W1] + play->deletes[W2], 0);
}

static void a_label_that_somebody_keeps_changing_is_left_alone(void **state) {
    (void)state;
    begin(key);
    unsigned before = play->patches[MANAGEMENT];
    for (int i = 0; i < 100; i++) {
        play_patch(play, MANAGEMENT, NAME, "{'metadata':{'labels':{'wharf.dev/cluster':'w2'}}}");
        play_settle(play);
        play_pass(play, CLOCK_SECOND);
    }
    assert_in_range(play->patches[MANAGEMENT] - before, 3, 5);
}

// Upgrading costs no write for each workload.
static void a_workload_that_never_had_the_label_is_not_written_for_it(void **state) {
    (void)state;
    begin(key);
    AUTO_JSON patch = harness_json("{'metadata':{'labels':{'wharf.dev/cluster':null}}}");
    assert_true(patch_apply(&play->objects[MANAGEMENT][0], patch));
    play_start(play, key, false);
    unsigned before = play->patches[MANAGEMENT];
    play_pass(play, 15 * CLOCK_MINUTE);
    assert_int_equal(play->patches[MANAGEMENT], before);
    assert_string_equal(label_of(MANAGEMENT), "");
}

static void an_attempt_never_wraps(void **state) {
    (void)state;
    begin(key);
    play_lose(play, W1);
    play_lose(play, W2);
    play->objects[W1][0] = (json_free(play->objects[W1][0]), NULL);
    AUTO_JSON patch =
        harness_json("{'metadata':{'annotations':{'wharf.dev/cluster':'w1','wharf.dev/attempt':'2147483647'}}}");
    assert_true(patch_apply(&play->objects[MANAGEMENT][0], patch));
    play_start(play, key, false);
    play_pass(play, CLOCK_MINUTE);
    assert_placed("w1", "2147483647");
    play_remove(play, W1, NAME);
    play_settle(play);
    play_pass(play, 30 * CLOCK_MINUTE);
    assert_placed("w1", "2147483647");
    assert_null(play_object(play, W1, NAME));
    assert_int_equal(play_told(play, "TooManyAttempts: "), 1);
}

static void an_unknown_worker_is_reported(void **state) {
    (void)state;
    begin(key);
    play_patch(play, MANAGEMENT, NAME, "{'metadata':{'annotations':{'wharf.dev/cluster':'nowhere'}}}");
    play->n_news = (json_free(play->news[0].value), 0);
    play->objects[W1][0] = (json_free(play->objects[W1][0]), NULL);
    play_start(play, key, false);
    play_pass(play, 2 * CLOCK_MINUTE);
    assert_int_equal(play_told(play, "UnknownCluster: wharf.dev/cluster names nowhere"), 1);
    assert_placed("w1", "2");
}

static struct seal_keys *keys_of(const char *a, const char *b) {
    const void *const keys[] = {a, b};
    const size_t lens[] = {32, 32};
    struct seal_keys *made = NULL;
    assert_null(seal_keys_new(keys, lens, b ? 2 : 1, &made));
    return made;
}

static int setup(void **state) {
    static const char a[] = "0123456789abcdef0123456789abcdef", b[] = "another key, of thirty-two bytes",
                      c[] = "and a third one, of thirty-two b";
    harness_load(state);
    struct error *error = kind_check(job_kind, NULL, "wharf.dev/host", &kind);
    if (error)
        fail_msg("%s", error_text(error));
    key = keys_of(a, NULL);
    rotated = keys_of(b, a);
    other_key = keys_of(c, NULL);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    kind_free(kind);
    seal_keys_free(key);
    seal_keys_free(rotated);
    seal_keys_free(other_key);
    return 0;
}

#define TEST(name) cmocka_unit_test_teardown(name, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_forged_mirror_of_a_higher_attempt_is_not_adopted),
        TEST(without_a_key_a_higher_attempt_is_quarantined_and_reported),
        TEST(a_held_mirror_is_adopted_once_its_marks_are_put_right),
        TEST(without_a_key_one_that_comes_back_with_a_higher_attempt_is_quarantined),
        TEST(a_held_mirror_goes_with_a_workload_whose_cluster_is_nonsense),
        TEST(a_copy_in_another_worker_is_foreign),
        TEST(a_copy_under_another_name_is_foreign),
        TEST(without_a_key_a_copy_is_deleted_as_an_orphan_and_reported),
        TEST(a_foreign_object_in_the_annotated_worker_is_not_adopted_when_the_mirror_is_gone),
        TEST(a_higher_attempt_does_not_win_even_with_a_seal),
        TEST(changed_marks_of_a_mirror_are_restored),
        TEST(a_restarted_host_recognises_its_mirrors_by_their_seals),
        TEST(a_possible_mirror_is_not_run_a_second_time),
        TEST(a_possible_mirror_is_read_before_another_one_is_created),
        TEST(unsealed_mirrors_are_sealed_on_first_sight_with_adopt_unsealed),
        TEST(an_unsealed_mirror_is_adopted_on_first_sight_only),
        TEST(an_unsealed_mirror_is_not_adopted_after_the_time_for_that),
        TEST(annotations_of_an_author_do_not_move_a_running_mirror),
        TEST(repeatedly_changed_annotations_are_restored_with_growing_delays),
        TEST(a_changed_label_of_the_cluster_is_restored),
        TEST(a_label_that_somebody_keeps_changing_is_left_alone),
        TEST(a_workload_that_never_had_the_label_is_not_written_for_it),
        TEST(an_attempt_never_wraps),
        TEST(an_unknown_worker_is_reported),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
