// SPDX-License-Identifier: Apache-2.0
// A drained worker: a mirror that runs is deleted as it was seen, and not if it has finished since.
#include "tests/unit/engine/event_play.h"

static const struct play_command *deletion(const struct play *play) {
    const struct play_command *found = NULL;
    for (size_t i = 0; i < play->n_commands; i++)
        if (play->commands[i].verb == VERB_DELETE)
            found = &play->commands[i];
    assert_non_null(found);
    return found;
}

static void drain(struct play *play) {
    play_tell(play, (struct engine_event){
                        .type = EVENT_WORKER, .cluster = 1, .worker = {.name = "w1", .policy = WORKER_DRAIN_MOVE}});
    play_wait(play, CLOCK_SECOND);
}

static void a_mirror_that_has_changed_is_read_before_it_is_deleted_again(void **state) {
    (void)state;
    struct play play;
    play_init(&play);
    play_start(&play);
    play_connect_all(&play);
    play_seen(&play, 1, play_mirror("a"));
    AUTO_TEXT version = text_format("\"resourceVersion\":\"%lld\"", (long long)play.version);
    play_seen(&play, 0, play_workload("a", "wharf.dev/host", "w1"));
    drain(&play);
    assert_non_null(strstr(deletion(&play)->body, version));
    assert_non_null(strstr(deletion(&play)->body, "\"uid\":\"m-a\""));
    play_answer(&play, deletion(&play)->id, REASON_CONFLICT, NULL);
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 1, VERB_GET), 1);
    assert_int_equal(play_sent(&play, 1, VERB_DELETE), 1);
    struct json *done = play_mirror("a");
    assert_true(json_set(done, "status",
                         harness_json("{'succeeded':1,'startTime':'2026-01-01T00:00:00Z','completionTime':"
                                      "'2026-01-01T00:00:01Z','conditions':[{'type':'Complete','status':'True'}]}")));
    play_answer(&play, play.commands[play.n_commands - 1].id, REASON_OK, done);
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 1, VERB_DELETE), 1);
    assert_int_equal(play_sent(&play, 0, VERB_STATUS_PATCH), 1); // it has finished, and is not run again
    play_end(&play);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mirror_that_has_changed_is_read_before_it_is_deleted_again),
    };
    return cmocka_run_group_tests(tests, play_load, play_unload);
}
