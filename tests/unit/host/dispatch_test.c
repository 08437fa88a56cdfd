// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/host/dispatch_play.h"

#include "core/base/log.h"

#include <fcntl.h>
#include <unistd.h>

// What was delivered to each cluster, and posted to the engine.
struct world {
    struct dispatch dispatch;
    struct update update;
    struct command_batch *batches[PLAY_CLUSTERS];
    bool closed[PLAY_CLUSTERS]; // nothing can be delivered
    uint64_t answered[8];
    size_t n_answered;
};

static bool deliver(void *ctx, struct command_batch *batch) {
    struct world *world = ctx;
    if (world->closed[batch->cluster])
        return false;
    assert_null(world->batches[batch->cluster]); // one batch for a dispatch
    world->batches[batch->cluster] = batch;
    return true;
}

static void post(void *ctx, struct engine_event *event) {
    struct world *world = ctx;
    assert_int_equal(event->type, EVENT_ANSWER);
    assert_int_equal(event->answer.response->reason, REASON_NOT_SENT);
    assert_true(world->closed[event->cluster]);
    assert_true(world->n_answered < 8);
    world->answered[world->n_answered++] = event->answer.command;
}

static void begin(struct world *world) {
    static const char *const names[PLAY_CLUSTERS] = {"management", "w1", "w2"};
    *world = (struct world){.n_answered = 0};
    world->dispatch =
        (struct dispatch){.names = names, .kinds = play_kinds(), .deliver = deliver, .post = post, .ctx = world};
}

static void end(struct world *world) {
    for (size_t c = 0; c < PLAY_CLUSTERS; c++)
        command_batch_free(world->batches[c]);
    update_free(&world->update);
}

static void what_a_step_asks_for_goes_to_each_cluster_in_one_batch_and_in_order(void **state) {
    (void)state;
    struct world world;
    begin(&world);
    for (uint64_t id = 1; id <= 40; id++)
        play_command(&world.update, id % 2 ? 1 : 0, id);
    play_event(&world.update, "Dispatched", "one");
    play_event(&world.update, "Waiting", "two");
    play_relist(&world.update, 2, 1);
    play_wish(&world.update, 2, "a");
    play_wish(&world.update, 1, "b");
    play_wish(&world.update, 2, "c");
    dispatch_run(&world.dispatch, &world.update);
    assert_int_equal(world.update.n_commands + world.update.n_events + world.update.n_relists, 0);
    assert_int_equal(world.update.n_wishes, 0);
    assert_int_equal(world.batches[0]->n_commands, 20);
    assert_int_equal(world.batches[1]->n_commands, 20);
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(world.batches[0]->commands[i].id, 2 * i + 2);
        assert_int_equal(world.batches[1]->commands[i].id, 2 * i + 1);
    }
    assert_int_equal(world.batches[0]->n_events, 2); // Events are the management cluster's
    assert_string_equal(world.batches[0]->events[0].reason, "Dispatched");
    assert_string_equal(world.batches[0]->events[1].reason, "Waiting");
    assert_int_equal(world.batches[1]->n_events, 0);
    assert_int_equal(world.batches[2]->n_commands, 0);
    assert_int_equal(world.batches[2]->n_relists, 1);
    assert_int_equal(world.batches[2]->relists[0], 1);
    assert_int_equal(world.batches[0]->n_wishes, 0);
    assert_int_equal(world.batches[1]->n_wishes, 1);
    assert_int_equal(world.batches[2]->n_wishes, 2);
    assert_string_equal(world.batches[2]->wishes[0]->name, "a");
    assert_string_equal(world.batches[2]->wishes[1]->name, "c");
    assert_int_equal(world.n_answered, 0);
    end(&world);
}

static void a_cluster_that_is_asked_nothing_gets_no_batch(void **state) {
    (void)state;
    struct world world;
    begin(&world);
    dispatch_run(&world.dispatch, &world.update);
    play_log(&world.update, 1, LOG_NO_KIND, "only for the log");
    log_setup(LOG_TEXT, LOG_ERROR);
    dispatch_run(&world.dispatch, &world.update);
    log_setup(LOG_TEXT, LOG_INFO);
    for (size_t c = 0; c < PLAY_CLUSTERS; c++)
        assert_null(world.batches[c]);
    end(&world);
}

static void commands_that_cannot_be_handed_over_are_answered_as_not_sent(void **state) {
    (void)state;
    struct world world;
    begin(&world);
    world.closed[1] = true;
    play_command(&world.update, 1, 7);
    play_command(&world.update, 2, 8);
    play_command(&world.update, 1, 9);
    play_relist(&world.update, 1, 0);
    play_wish(&world.update, 1, "a"); // the next connection asks for wishes
    dispatch_run(&world.dispatch, &world.update);
    assert_int_equal(world.n_answered, 2);
    assert_int_equal(world.answered[0], 7);
    assert_int_equal(world.answered[1], 9);
    assert_int_equal(world.batches[2]->n_commands, 1);
    end(&world);
}

static void a_batch_for_a_link_that_is_gone_is_thrown_away(void **state) {
    (void)state;
    struct world world;
    begin(&world);
    play_command(&world.update, 0, 1);
    play_event(&world.update, "Dispatched", "one");
    play_relist(&world.update, 0, 0);
    play_wish(&world.update, 0, "a");
    dispatch_run(&world.dispatch, &world.update);
    command_batch_run(world.batches[0], NULL, (struct moment){0}); // the leak check sees what is left
    world.batches[0] = NULL;
    end(&world);
}

static void events_and_messages_are_written_to_the_log(void **state) {
    (void)state;
    struct world world;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    begin(&world);
    play_event(&world.update, "Conflict", "somebody is in the way");
    play_log(&world.update, 2, 0, "a mirror is foreign");
    play_log(&world.update, 1, LOG_NO_KIND, "it is another cluster");
    log_to(ends[1]);
    dispatch_run(&world.dispatch, &world.update);
    log_to(2);
    close(ends[1]);
    char text[4096];
    ssize_t len = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    text[len > 0 ? len : 0] = '\0';
    assert_non_null(strstr(text, "WARN  somebody is in the way reason=Conflict action=Act kind=jobs.batch namespace=n "
                                 "name=a uid=u\n"));
    assert_non_null(strstr(text, "WARN  a mirror is foreign cluster=w2 kind=jobs.batch\n"));
    assert_non_null(strstr(text, "WARN  it is another cluster cluster=w1\n"));
    end(&world);
}

static void a_cluster_that_is_added_gets_its_batches(void **state) {
    (void)state;
    static const char *const before[] = {"management", "w1"}, *const after[] = {"management", "w1", "w2"};
    struct world world = {.n_answered = 0};
    world.dispatch =
        (struct dispatch){.names = before, .kinds = play_kinds(), .deliver = deliver, .post = post, .ctx = &world};
    world.dispatch.names = after;
    play_command(&world.update, 2, 9);
    dispatch_run(&world.dispatch, &world.update);
    assert_null(world.batches[1]);
    assert_int_equal(world.batches[2]->commands[0].id, 9);
    end(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_step_asks_for_goes_to_each_cluster_in_one_batch_and_in_order),
        cmocka_unit_test(a_cluster_that_is_asked_nothing_gets_no_batch),
        cmocka_unit_test(commands_that_cannot_be_handed_over_are_answered_as_not_sent),
        cmocka_unit_test(a_batch_for_a_link_that_is_gone_is_thrown_away),
        cmocka_unit_test(a_cluster_that_is_added_gets_its_batches),
        cmocka_unit_test(events_and_messages_are_written_to_the_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
