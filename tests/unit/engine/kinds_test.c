// SPDX-License-Identifier: Apache-2.0
// Kinds that join while the engine runs.
#include "core/engine/engine.h"

#include "event_play.h"

#define HOST "wharf.dev/host"
#define JOBS 0
#define TASKS 1 // joins

static struct kind *two_kinds[2];

static int load(void **state) {
    static wharf_kind task;
    play_load(state);
    task = *job_kind;
    task.group = "acme.example";
    task.kind = "Task";
    task.plural = "tasks";
    two_kinds[JOBS] = play_kind;
    struct error *error = kind_check(&task, NULL, HOST, &two_kinds[TASKS]);
    if (error)
        fail_msg("%s", error_text(error));
    return 0;
}

static int unload(void **state) {
    kind_free(two_kinds[TASKS]);
    return play_unload(state);
}

static void open_play(struct play *play) {
    play_init(play);
    play_start(play);
    play_connect_all(play);
}

static void add_tasks(struct play *play) {
    assert_null(engine_add_kinds(play->engine, two_kinds, 2, play->now));
    assert_int_equal(engine_n_kinds(play->engine), 2);
}

static void tasks_state(struct play *play, size_t cluster, enum reflector_state state) {
    play_tell(play, (struct engine_event){
                        .type = EVENT_STATE, .cluster = cluster, .kind = TASKS, .watch = {state, "unreachable"}});
}

static void list_tasks(struct play *play, size_t cluster, struct json *task) {
    struct engine_event event = {.type = EVENT_LISTING, .cluster = cluster, .kind = TASKS, .version = "v1"};
    play_tell(play, event);
    if (task)
        play_tell(play, (struct engine_event){
                            .type = EVENT_SEEN, .cluster = cluster, .kind = TASKS, .object = play_object(play, task)});
    event.type = EVENT_LISTED;
    play_tell(play, event);
    tasks_state(play, cluster, REFLECTOR_CONNECTED);
}

static struct json *task(const char *name, const char *cluster) {
    struct json *value = play_workload(name, HOST, cluster);
    assert_true(pointer_set(value, "/kind", json_new_string("Task")));
    assert_true(pointer_set(value, "/apiVersion", json_new_string("acme.example/v1")));
    return value;
}

// Whether the workload's annotations were patched to name the cluster.
static bool placed_in(const struct play *play, const char *name, const char *cluster) {
    for (size_t i = 0; i < play->n_commands; i++) {
        const struct play_command *command = &play->commands[i];
        if (command->verb == VERB_MERGE_PATCH && strcmp(command->name, name) == 0)
            return strstr(command->body, cluster);
    }
    return false;
}

static void workloads_that_exist_are_dispatched_and_the_other_kinds_are_left_alone(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    play_seen(&play, 1, play_mirror("job"));
    play_seen(&play, 0, play_workload("job", HOST, "w1"));
    play_wait(&play, CLOCK_SECOND);
    size_t commands = play.n_commands;
    add_tasks(&play);
    assert_false(engine_in_sync(play.engine));
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play.n_commands, commands);
    assert_int_equal(play.relists, 0);
    const struct stats *stats = engine_stats(play.engine);
    assert_int_equal(stats->n_kinds, 2);
    for (size_t c = 0; c < PLAY_CLUSTERS; c++) {
        assert_int_equal(stats->clusters[c].watches[JOBS].state, REFLECTOR_CONNECTED);
        assert_int_equal(stats->clusters[c].watches[JOBS].lists, 1);
        assert_int_equal(stats->clusters[c].watches[JOBS].losses, 0);
        assert_int_equal(stats->clusters[c].watches[TASKS].state, REFLECTOR_STARTING);
    }
    assert_int_equal(stats->clusters[1].watches[JOBS].seen, 1);
    assert_int_equal(stats->kinds[JOBS].phases[WHARF_PENDING] + stats->kinds[JOBS].phases[WHARF_ACTIVE], 1);
    list_tasks(&play, 1, NULL);
    list_tasks(&play, 2, NULL);
    list_tasks(&play, 0, task("task", ""));
    play_wait(&play, 0);
    assert_true(placed_in(&play, "task", "w2")); // w1 has the Job
    assert_true(engine_in_sync(play.engine));
    play_seen(&play, 0, play_workload("later", HOST, ""));
    play_wait(&play, 0);
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), 2);
    play_end(&play);
}

static void new_work_waits_for_workers_of_unknown_state_and_that_of_other_kinds_does_not(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    add_tasks(&play);
    list_tasks(&play, 0, task("task", ""));
    list_tasks(&play, 1, NULL);
    play_seen(&play, 0, play_workload("job", HOST, ""));
    play_wait(&play, CLOCK_SECOND / 2);
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), 1);
    assert_true(placed_in(&play, "job", "w"));
    play_wait(&play, CLOCK_SECOND);
    assert_int_equal(play_sent(&play, 0, VERB_MERGE_PATCH), 2);
    assert_true(placed_in(&play, "task", "w1"));
    play_end(&play);
}

static void workers_that_join_later_and_numbers_that_are_vacant_have_the_kind(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    struct engine_event worker = {.type = EVENT_WORKER, .cluster = 2, .worker = {.name = "w2", .policy = WORKER_LEFT}};
    play_tell(&play, worker);
    add_tasks(&play);
    worker.worker.policy = WORKER_ACTIVE;
    worker.worker.name = "w9";
    play_tell(&play, worker);
    worker.cluster = 3;
    worker.worker.name = "w3";
    play_tell(&play, worker);
    list_tasks(&play, 0, NULL);
    tasks_state(&play, 1, REFLECTOR_ABSENT);
    tasks_state(&play, 2, REFLECTOR_LOST);
    play_identity(&play, 3, "k3");
    list_tasks(&play, 3, NULL);
    play_tell(&play,
              (struct engine_event){
                  .type = EVENT_SEEN, .cluster = 0, .kind = TASKS, .object = play_object(&play, task("task", ""))});
    play_wait(&play, 2 * CLOCK_SECOND);
    assert_true(placed_in(&play, "task", "w3"));
    const struct stats *stats = engine_stats(play.engine);
    assert_int_equal(stats->clusters[3].active, 1);
    assert_string_equal(stats->clusters[2].watches[TASKS].problem, "unreachable");
    play_end(&play);
}

static void a_worker_does_not_leave_before_the_workloads_of_the_kind_are_known(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    play_tell(&play, (struct engine_event){
                         .type = EVENT_WORKER, .cluster = 1, .worker = {.name = "w1", .policy = WORKER_DRAIN_FINISH}});
    assert_true(engine_may_leave(play.engine, 1));
    add_tasks(&play);
    assert_false(engine_may_leave(play.engine, 1));
    list_tasks(&play, 0, task("task", "w1"));
    assert_false(engine_may_leave(play.engine, 1));
    struct json *gone = task("task", "w1");
    play_tell(&play, (struct engine_event){
                         .type = EVENT_GONE, .cluster = 0, .kind = TASKS, .object = play_object(&play, gone)});
    play_wait(&play, 0);
    assert_true(engine_may_leave(play.engine, 1));
    play_end(&play);
}

static void a_table_that_has_them_already_is_not_changed(void **state) {
    (void)state;
    struct play play;
    open_play(&play);
    add_tasks(&play);
    list_tasks(&play, 0, NULL);
    add_tasks(&play);
    assert_int_equal(engine_stats(play.engine)->clusters[0].watches[TASKS].state, REFLECTOR_CONNECTED);
    play_end(&play);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workloads_that_exist_are_dispatched_and_the_other_kinds_are_left_alone),
        cmocka_unit_test(new_work_waits_for_workers_of_unknown_state_and_that_of_other_kinds_does_not),
        cmocka_unit_test(workers_that_join_later_and_numbers_that_are_vacant_have_the_kind),
        cmocka_unit_test(a_worker_does_not_leave_before_the_workloads_of_the_kind_are_known),
        cmocka_unit_test(a_table_that_has_them_already_is_not_changed),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
