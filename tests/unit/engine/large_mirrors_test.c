// SPDX-License-Identifier: Apache-2.0
// Statuses of one worker that are large together.
#include "core/engine/limits/limits.h"

#include "event_play.h"

// The limit is 10 times LARGE_MIRRORS_SHARE, 60 KiB.
static void begin(struct play *play) {
    play_init(play);
    play->options.settings.max_orphans = 10;
    play_start(play);
    play_connect_all(play);
    for (const char *const *name = (const char *const[]){"a", "b", "c", NULL}; *name; name++)
        play_seen(play, 0, play_workload(*name, "wharf.dev/host", strcmp(*name, "c") == 0 ? "w2" : "w1"));
}

// Its status has `kib` KiB more than the workload.
static struct json *large(const char *name, size_t kib) {
    struct json *mirror = play_mirror(name);
    AUTO_BUFFER(text, 1 << 20);
    while (text.len < kib << 10)
        buffer_text(&text, "0123456789abcdef");
    assert_true(pointer_set(mirror, "/status", play_json("{'active':1}")));
    assert_true(pointer_set(mirror, "/status/note", json_new_string(text.data)));
    return mirror;
}

static size_t excess(const struct play *play, const char *text) {
    return play_times(&play->notes, text);
}

static void mirrors_that_are_too_large_together_are_not_kept_and_listed_again_when_there_is_room(void **state) {
    (void)state;
    struct play play;
    begin(&play);
    play_seen(&play, 1, large("a", 80));
    play_wait(&play, CLOCK_SECOND);
    size_t copied = play_sent(&play, 0, VERB_STATUS_PATCH);
    assert_int_equal(copied, 1);
    play_seen(&play, 1, large("b", 80));
    play_seen(&play, 2, large("c", 80)); // another worker's
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 0, VERB_STATUS_PATCH), 2);
    assert_int_equal(excess(&play, "TooLarge: the mirror in cluster w1"), 1);
    assert_int_equal(excess(&play, "raise memory.perCluster"), 1);
    assert_int_equal(play.relists, 0);
    play_seen(&play, 1, large("a", 90)); // one that is known may grow up to the limit
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(excess(&play, "TooLarge"), 1);
    play_seen(&play, 1, large("a", 1));
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play.relists, 1);
    play_seen(&play, 1, large("b", 80));
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(excess(&play, "TooLarge"), 1);
    play_end(&play);
}

static void small_mirrors_do_not_count(void **state) {
    (void)state;
    struct play play;
    begin(&play);
    char name[16];
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "m%d", i);
        play_seen(&play, 0, play_workload(name, "wharf.dev/host", "w1"));
        play_seen(&play, 1, large(name, 30));
    }
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(excess(&play, "TooLarge"), 0);
    play_end(&play);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mirrors_that_are_too_large_together_are_not_kept_and_listed_again_when_there_is_room),
        cmocka_unit_test(small_mirrors_do_not_count),
    };
    return cmocka_run_group_tests(tests, play_load, play_unload);
}
