// SPDX-License-Identifier: Apache-2.0
// Rule 11: what a host does not hold the lease of is followed and not written; what a host does that takes over.
#include "tests/unit/engine/event_play.h"

static void hold(struct play *play, uint32_t shard, int64_t for_ns, uint64_t term) {
    int64_t until_ns = for_ns > 0 ? play->now.mono_ns + for_ns : 0;
    play_tell(play, (struct engine_event){.type = EVENT_LEASE, .lease = {shard, until_ns, term}});
    play_wait(play, 0);
}

static void begin(struct play *play, uint32_t shards) {
    play_init(play);
    play->options.shards = shards;
    play_start(play);
    play_connect_all(play);
}

static struct json *moved(const char *name, const char *cluster, unsigned attempt) {
    struct json *workload = play_workload(name, "wharf.dev/host", cluster);
    char text[12];
    snprintf(text, sizeof text, "%u", attempt);
    assert_true(json_set(json_path(workload, "metadata", "annotations", NULL), MARK_ATTEMPT, json_new_string(text)));
    return workload;
}

static const struct play_command *last(const struct play *play) {
    assert_true(play->n_commands > 0);
    return &play->commands[play->n_commands - 1];
}

static size_t reads(const struct play *play) {
    return play_sent(play, 0, VERB_GET);
}

static void a_standby_writes_and_tells_nothing_and_begins_when_it_holds_the_lease(void **state) {
    (void)state;
    struct play play;
    begin(&play, 1);
    play_seen(&play, 0, play_workload("a", "wharf.dev/host", ""));
    play_seen(&play, 0, play_workload("lost", "wharf.dev/host", "w9"));
    play_seen(&play, 1, play_mirror("orphan"));
    play_wait(&play, 3 * CLOCK_MINUTE);
    assert_int_equal(play.n_commands, 0);
    assert_int_equal(play.notes.len, 0);
    assert_int_equal(engine_stats(play.engine)->shards_held, 0);
    hold(&play, 0, 10 * CLOCK_SECOND, 1);
    assert_int_equal(engine_stats(play.engine)->shards_held, 1);
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), 1);
    play_end(&play);
}

static void nothing_is_sent_when_the_lease_is_about_to_end_and_the_same_term_goes_on_without_reading(void **state) {
    (void)state;
    struct play play;
    begin(&play, 1);
    hold(&play, 0, 10 * CLOCK_SECOND, 1);
    play_seen(&play, 0, play_workload("a", "wharf.dev/host", ""));
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), 1);
    play_answer(&play, last(&play)->id, REASON_OK, play_workload("a", "wharf.dev/host", "w1"));
    assert_int_equal(play_sent(&play, 1, VERB_CREATE), 1);
    play_wait(&play, 9 * CLOCK_SECOND + 600 * CLOCK_MS);
    size_t before = play.n_commands;
    play_answer(&play, last(&play)->id, REASON_SERVER_ERROR, NULL);
    play_seen(&play, 0, play_workload("b", "wharf.dev/host", ""));
    play_wait(&play, CLOCK_MINUTE);
    assert_int_equal(play.n_commands, before);
    assert_int_equal(engine_stats(play.engine)->shards_held, 0);
    hold(&play, 0, 10 * CLOCK_SECOND, 1);
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 1, VERB_CREATE), 2);
    assert_int_equal(reads(&play), 0);
    play_end(&play);
}

// Its view of the workload is older than the last holder's writes: attempt 2 is in w2.
static void before_a_create_the_workload_is_read_in_the_new_term(void **state) {
    (void)state;
    struct play play;
    begin(&play, 1);
    play_seen(&play, 0, play_workload("a", "wharf.dev/host", "w1"));
    hold(&play, 0, CLOCK_MINUTE, 1);
    assert_int_equal(play.n_commands, 1);
    assert_int_equal(reads(&play), 1);
    play_answer(&play, last(&play)->id, REASON_OK, moved("a", "w2", 2));
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 1, VERB_CREATE), 0);
    assert_int_equal(play_sent(&play, 2, VERB_CREATE), 1);
    assert_int_equal(reads(&play), 1);
    play_end(&play);
}

// It has become too large for this host since its watch showed it: where it was placed last is not known.
static void a_workload_that_is_read_and_too_large_is_not_created_as_it_was(void **state) {
    (void)state;
    struct play play;
    begin(&play, 1);
    play_seen(&play, 0, play_workload("a", "wharf.dev/host", "w1"));
    hold(&play, 0, CLOCK_MINUTE, 1);
    assert_int_equal(reads(&play), 1);
    play_answer(&play, last(&play)->id, REASON_OK, NULL);
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 1, VERB_CREATE), 0);
    assert_in_range(reads(&play), 2, 2);
    play_answer(&play, last(&play)->id, REASON_OK, play_workload("a", "wharf.dev/host", "w1"));
    assert_int_equal(play_sent(&play, 1, VERB_CREATE), 1);
    play_end(&play);
}

static void an_orphan_is_deleted_only_after_its_workload_was_not_found(void **state) {
    (void)state;
    struct play play;
    play_init(&play);
    play.options.shards = 1;
    play.options.settings.orphan_grace_ns = 0;
    play_start(&play);
    play_connect_all(&play);
    hold(&play, 0, CLOCK_MINUTE, 1);
    play_seen(&play, 1, play_mirror("a"));
    play_seen(&play, 1, play_mirror("b"));
    play_wait(&play, 5 * CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 1, VERB_DELETE), 0);
    assert_int_equal(reads(&play), 2);
    for (size_t i = 0; i < 2; i++) {
        bool is_a = strcmp(play.commands[i].name, "a") == 0;
        play_answer(&play, play.commands[i].id, is_a ? REASON_OK : REASON_NOT_FOUND,
                    is_a ? play_workload("a", "wharf.dev/host", "w1") : NULL);
    }
    play_wait(&play, 5 * CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 1, VERB_DELETE), 1);
    assert_string_equal(last(&play)->name, "b");
    play_end(&play);
}

static void a_workload_that_is_known_and_not_found_is_left_to_the_watch(void **state) {
    (void)state;
    struct play play;
    begin(&play, 1);
    play_seen(&play, 0, play_workload("a", "wharf.dev/host", "w1"));
    hold(&play, 0, CLOCK_MINUTE, 1);
    play_answer(&play, last(&play)->id, REASON_NOT_FOUND, NULL);
    play_wait(&play, 50 * CLOCK_MS);
    assert_int_equal(play_sent(&play, 1, VERB_CREATE), 0);
    play_gone(&play, 0, play_workload("a", "wharf.dev/host", "w1"));
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 1, VERB_CREATE), 0);
    play_end(&play);
}

// Its list was answered late, from before the cluster was restored: the watch shows nothing of what is gone.
static void where_reads_keep_finding_less_than_the_watch_it_is_listed_again(void **state) {
    (void)state;
    struct play play;
    begin(&play, 1);
    play_seen(&play, 0, play_workload("a", "wharf.dev/host", "w1"));
    hold(&play, 0, 20 * CLOCK_MINUTE, 1);
    for (unsigned i = 0; i < 4; i++) {
        play_answer(&play, last(&play)->id, REASON_NOT_FOUND, NULL);
        play_wait(&play, CLOCK_MINUTE);
    }
    assert_int_equal(reads(&play), 5);
    assert_int_equal(play.relists, 0);
    play_answer(&play, last(&play)->id, REASON_NOT_FOUND, NULL);
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play.relists, 1);
    play_listing(&play, 0);
    play_listed(&play, 0);
    play_wait(&play, 5 * CLOCK_MINUTE);
    assert_int_equal(play.relists, 1);
    assert_int_equal(play_sent(&play, 1, VERB_CREATE), 0);
    play_end(&play);
}

// The read before a delete in the worker is answered after the watch has shown what happened since.
static void a_read_that_is_older_than_the_deletion_does_not_bring_the_workload_back(void **state) {
    (void)state;
    static const enum { IS_GONE, IS_NOT_LISTED, IS_SEEN_AND_GONE } cases[] = {IS_GONE, IS_NOT_LISTED, IS_SEEN_AND_GONE};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct play play;
        play_init(&play);
        play.options.shards = 1;
        play.options.settings.orphan_grace_ns = 0;
        play_start(&play);
        play_connect_all(&play);
        bool known = cases[i] != IS_SEEN_AND_GONE;
        if (known)
            play_seen(&play, 0, play_workload("a", "wharf.dev/host", "w1"));
        play_seen(&play, 1, play_mirror("a"));
        hold(&play, 0, CLOCK_MINUTE, 1);
        play_wait(&play, 5 * CLOCK_SECOND);
        assert_int_equal(reads(&play), 1);
        assert_int_equal(play.n_commands, 1);
        if (!known)
            play_seen(&play, 0, play_workload("a", "wharf.dev/host", "w1"));
        if (cases[i] == IS_NOT_LISTED) {
            play_listing(&play, 0);
            play_listed(&play, 0);
        } else {
            play_gone(&play, 0, play_workload("a", "wharf.dev/host", "w1"));
        }
        play_answer(&play, play.commands[0].id, REASON_OK, play_workload("a", "wharf.dev/host", "w1"));
        play_wait(&play, 5 * CLOCK_SECOND);
        assert_int_equal(play_sent(&play, 1, VERB_DELETE), 0);
        assert_int_equal(play.n_commands, 2);
        assert_int_equal(reads(&play), 2);
        play_answer(&play, last(&play)->id, REASON_NOT_FOUND, NULL);
        play_wait(&play, 5 * CLOCK_SECOND);
        assert_int_equal(play_sent(&play, 1, VERB_DELETE), 1);
        assert_int_equal(play.n_commands, 3);
        play_end(&play);
    }
}

// One of the same name that was made since is another workload.
static void a_read_that_shows_another_workload_than_the_deleted_one_is_taken(void **state) {
    (void)state;
    struct play play;
    begin(&play, 1);
    play_seen(&play, 0, play_workload("a", "wharf.dev/host", "w1"));
    hold(&play, 0, CLOCK_MINUTE, 1);
    assert_int_equal(reads(&play), 1);
    play_gone(&play, 0, play_workload("a", "wharf.dev/host", "w1"));
    struct json *other = play_workload("a", "wharf.dev/host", "w1");
    assert_true(json_set(json_get(other, "metadata"), "uid", json_new_string("u-other")));
    play_answer(&play, last(&play)->id, REASON_OK, other);
    assert_int_equal(play_sent(&play, 1, VERB_CREATE), 1);
    play_end(&play);
}

// It placed it, and lost the lease; the next holder moves it, and this one still sees the mirror of the attempt before.
static void a_standby_takes_the_annotations_as_they_are(void **state) {
    (void)state;
    struct play play;
    begin(&play, 1);
    play_seen(&play, 1, play_mirror("a"));
    hold(&play, 0, CLOCK_MINUTE, 1);
    play_seen(&play, 0, play_workload("a", "wharf.dev/host", "w1"));
    while (play.n_commands > 0 && play_sent(&play, 0, VERB_GET) + play_sent(&play, 1, VERB_MERGE_PATCH) < 2) {
        size_t before = play.n_commands;
        bool read = last(&play)->cluster == 0;
        play_answer(&play, last(&play)->id, REASON_OK,
                    read ? play_workload("a", "wharf.dev/host", "w1") : play_mirror("a"));
        if (play.n_commands == before)
            break;
    }
    hold(&play, 0, 0, 1);
    play_seen(&play, 0, moved("a", "w2", 2));
    size_t patches = play_sent(&play, 0, VERB_MERGE_PATCH), before = reads(&play);
    hold(&play, 0, CLOCK_MINUTE, 2);
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), patches);
    assert_int_equal(play_times(&play.notes, "AnnotationsRestored"), 0);
    assert_int_equal(reads(&play), before + 1);
    play_answer(&play, last(&play)->id, REASON_OK, moved("a", "w2", 2));
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 1, VERB_DELETE), 1); // of attempt 1
    assert_int_equal(play_sent(&play, 2, VERB_CREATE), 0); // before it is gone
    play_end(&play);
}

static void a_lease_that_was_lost_and_taken_again_begins_a_new_term(void **state) {
    (void)state;
    struct play play;
    begin(&play, 1);
    hold(&play, 0, CLOCK_MINUTE, 1);
    play_seen(&play, 0, play_workload("a", "wharf.dev/host", ""));
    uint64_t placed = last(&play)->id;
    hold(&play, 0, 0, 1);
    play_answer(&play, placed, REASON_OK, play_workload("a", "wharf.dev/host", "w1"));
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 1, VERB_CREATE), 0);
    hold(&play, 0, CLOCK_MINUTE, 2);
    assert_int_equal(play_sent(&play, 1, VERB_CREATE), 0);
    assert_int_equal(reads(&play), 1);
    play_answer(&play, last(&play)->id, REASON_OK, play_workload("a", "wharf.dev/host", "w1"));
    assert_int_equal(play_sent(&play, 1, VERB_CREATE), 1);
    play_end(&play);
}

static void shards_divide_the_workloads_and_each_is_acted_on_by_its_holder(void **state) {
    (void)state;
    size_t placed = 0;
    for (uint32_t shard = 0; shard < 4; shard++) {
        struct play play;
        begin(&play, 4);
        hold(&play, shard, 10 * CLOCK_MINUTE, 1);
        hold(&play, 4, CLOCK_MINUTE, 1); // there is none
        for (int i = 0; i < 40; i++) {
            char name[16];
            snprintf(name, sizeof name, "job-%d", i);
            play_seen(&play, 0, play_workload(name, "wharf.dev/host", ""));
        }
        for (size_t i = 0; i < play.n_commands; i++) // the window has fewer places
            play_answer(&play, play.commands[i].id, REASON_NOT_FOUND, NULL);
        play_wait(&play, CLOCK_SECOND / 100);
        size_t here = 0;
        for (int i = 0; i < 40; i++) {
            char name[16];
            snprintf(name, sizeof name, "job-%d", i);
            bool sent = false;
            for (size_t c = 0; c < play.n_commands; c++)
                sent |= strcmp(play.commands[c].name, name) == 0;
            here += sent;
        }
        assert_in_range(here, 4, 20);
        placed += here;
        play_end(&play);
    }
    assert_int_equal(placed, 40);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_standby_writes_and_tells_nothing_and_begins_when_it_holds_the_lease),
        cmocka_unit_test(nothing_is_sent_when_the_lease_is_about_to_end_and_the_same_term_goes_on_without_reading),
        cmocka_unit_test(before_a_create_the_workload_is_read_in_the_new_term),
        cmocka_unit_test(a_workload_that_is_read_and_too_large_is_not_created_as_it_was),
        cmocka_unit_test(an_orphan_is_deleted_only_after_its_workload_was_not_found),
        cmocka_unit_test(a_workload_that_is_known_and_not_found_is_left_to_the_watch),
        cmocka_unit_test(where_reads_keep_finding_less_than_the_watch_it_is_listed_again),
        cmocka_unit_test(a_read_that_is_older_than_the_deletion_does_not_bring_the_workload_back),
        cmocka_unit_test(a_read_that_shows_another_workload_than_the_deleted_one_is_taken),
        cmocka_unit_test(a_standby_takes_the_annotations_as_they_are),
        cmocka_unit_test(a_lease_that_was_lost_and_taken_again_begins_a_new_term),
        cmocka_unit_test(shards_divide_the_workloads_and_each_is_acted_on_by_its_holder),
    };
    return cmocka_run_group_tests(tests, play_load, play_unload);
}
