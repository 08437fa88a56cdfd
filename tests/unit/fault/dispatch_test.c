// SPDX-License-Identifier: Apache-2.0
// Dispatching without memory: each command is handed over or answered as not sent, exactly once, and each wish is
// handed over, in order.
#include "tests/unit/fault/fault.h"
#include "tests/unit/host/dispatch_play.h"

#include "core/base/log.h"

#define COMMANDS 40

struct seen {
    unsigned commands[COMMANDS + 1], events;
    char wishes[COMMANDS + 1];
    size_t n_wishes;
};

static const char wished[] = "abcdefghijkl";

static bool deliver(void *ctx, struct command_batch *batch) {
    struct seen *seen = ctx;
    for (size_t i = 0; i < batch->n_commands; i++)
        seen->commands[batch->commands[i].id]++;
    seen->events += (unsigned)batch->n_events;
    for (size_t i = 0; i < batch->n_wishes; i++)
        seen->wishes[seen->n_wishes++] = *batch->wishes[i]->name;
    command_batch_free(batch);
    return true;
}

static void post(void *ctx, struct engine_event *event) {
    struct seen *seen = ctx;
    assert_int_equal(event->answer.response->reason, REASON_NOT_SENT);
    seen->commands[event->answer.command]++;
}

static struct error *run(void **out) {
    static struct seen seen;
    static const char *const names[PLAY_CLUSTERS] = {"management", "w1", "w2"};
    struct dispatch dispatch = {.names = names, .kinds = play_kinds(), .deliver = deliver, .post = post, .ctx = &seen};
    struct update update = {0};
    seen = (struct seen){0};
    *out = &seen;
    fault_pause();
    for (uint64_t id = 1; id <= COMMANDS; id++)
        play_command(&update, id % PLAY_CLUSTERS, id);
    play_event(&update, "Dispatched", "one");
    play_relist(&update, 1, 0);
    for (const char *name = wished; *name; name++)
        play_wish(&update, 1, (const char[]){*name, '\0'});
    fault_resume();
    dispatch_run(&dispatch, &update);
    fault_pause();
    dispatch_run(&dispatch, &update); // the next turn
    fault_resume();
    update_free(&update);
    return NULL;
}

static bool is_complete(const void *out) {
    const struct seen *seen = out;
    for (size_t id = 1; id <= COMMANDS; id++)
        if (seen->commands[id] != 1)
            return false;
    return seen->events <= 1 && strcmp(seen->wishes, wished) == 0;
}

static void no_command_is_lost_or_answered_twice(void **state) {
    (void)state;
    static const struct fault_case dispatching = {"dispatch", run, is_complete, NULL};
    fault_try(&dispatching);
}

int main(void) {
    log_setup(LOG_TEXT, LOG_ERROR);
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_command_is_lost_or_answered_twice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
