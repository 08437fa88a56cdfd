// SPDX-License-Identifier: Apache-2.0
// The engine places what fits, reserves it until its pods can be seen, and lets the rest wait and says why.
#include "core/engine/capacity/capacity.h"

#include "tests/unit/engine/event_play.h"

// One node with so many GPUs left, of 8; and 100 places for pods.
static void gpus_left(struct play *play, size_t cluster, int64_t gpus) {
    struct nodes *nodes = nodes_new(1, (const char *const[]){"pods", "nvidia.com/gpu"}, 2, 0);
    nodes->left[0] = nodes->allocatable[0] = 100;
    nodes->left[1] = gpus;
    nodes->allocatable[1] = 8;
    play_tell(play, (struct engine_event){
                        .type = EVENT_CAPACITY, .cluster = cluster, .capacity = {CAPACITY_KNOWN, NULL, nodes}});
}

static void capacity_is(struct play *play, size_t cluster, enum capacity_state state) {
    play_tell(play, (struct engine_event){
                        .type = EVENT_CAPACITY, .cluster = cluster, .capacity = {state, "nodes: forbidden", NULL}});
}

static struct json *asking(const char *name, const char *cluster, const char *gpus) {
    struct json *workload = play_workload(name, "wharf.dev/host", cluster);
    assert_true(pointer_set(workload, "/spec/template/spec/containers/0/resources",
                            play_json("{'limits':{'nvidia.com/gpu':'%s'}}", gpus)));
    return workload;
}

// The worker that the last placement of it names; "": none.
static const char *placed_in(const struct play *play, const char *name) {
    for (size_t i = play->n_commands; i > 0; i--) {
        const struct play_command *command = &play->commands[i - 1];
        if (command->cluster != 0 || strcmp(command->name, name) != 0 || !command->body)
            continue;
        return strstr(command->body, MARK_CLUSTER "\":\"w1\"")   ? "w1"
               : strstr(command->body, MARK_CLUSTER "\":\"w2\"") ? "w2"
                                                                 : "";
    }
    return "";
}

// The management cluster accepts the placement of `name`, and the worker the mirror, whose pods have not come yet.
static void accept_in(struct play *play, const char *name, const char *gpus, const char *where) {
    for (size_t i = 0; i < play->n_commands; i++)
        if (play->commands[i].cluster == 0 && strcmp(play->commands[i].name, name) == 0)
            play_answer(play, play->commands[i].id, REASON_OK, asking(name, where, gpus));
    play_seen(play, strcmp(where, "w1") == 0 ? 1 : 2, play_mirror(name));
}

static void begin(struct play *play) {
    play_init(play);
    play_start(play);
    capacity_is(play, 1, CAPACITY_READING);
    capacity_is(play, 2, CAPACITY_READING);
    play_connect_all(play);
}

static void lease(struct play *play, int64_t until_ns) {
    play_tell(play, (struct engine_event){.type = EVENT_LEASE, .lease = {0, until_ns, 1}});
    play_wait(play, 0);
}

static void what_waits_for_room_is_forgotten_with_its_workload_by_a_standby_too(void **state) {
    (void)state;
    struct play play;
    play_init(&play);
    play.options.shards = 1;
    play_start(&play);
    capacity_is(&play, 1, CAPACITY_READING);
    capacity_is(&play, 2, CAPACITY_READING);
    play_connect_all(&play);
    lease(&play, play.now.mono_ns + CLOCK_MINUTE);
    gpus_left(&play, 1, 1);
    gpus_left(&play, 2, 0);
    play_seen(&play, 0, asking("a", "", "4"));
    play_wait(&play, CLOCK_SECOND);
    lease(&play, 0);
    play_gone(&play, 0, asking("a", "", "4"));
    gpus_left(&play, 1, 8); // what waits is looked at
    lease(&play, play.now.mono_ns + CLOCK_MINUTE);
    play_seen(&play, 0, asking("b", "", "8"));
    play_wait(&play, CLOCK_SECOND);
    assert_string_equal(placed_in(&play, "a"), "");
    assert_string_equal(placed_in(&play, "b"), "w1");
    play_end(&play);
}

static void a_workload_goes_where_it_fits(void **state) {
    (void)state;
    struct play play;
    begin(&play);
    gpus_left(&play, 1, 3);
    gpus_left(&play, 2, 8);
    play_seen(&play, 0, asking("a", "", "4"));
    play_wait(&play, CLOCK_SECOND);
    assert_string_equal(placed_in(&play, "a"), "w2");
    play_end(&play);
}

static void what_fits_nowhere_waits_and_is_told_why_and_is_placed_when_there_is_room(void **state) {
    (void)state;
    struct play play;
    begin(&play);
    gpus_left(&play, 1, 1);
    gpus_left(&play, 2, 3);
    play_seen(&play, 0, asking("a", "", "4"));
    play_wait(&play, 5 * CLOCK_MINUTE);
    assert_string_equal(placed_in(&play, "a"), "");
    assert_non_null(strstr(play.notes.data, "Unschedulable: 0/2 workers accept it: w1 lacks 3 nvidia.com/gpu; "
                                            "w2 lacks 1 nvidia.com/gpu\n"));
    assert_int_equal(play_times(&play.notes, "Unschedulable"), 1);
    assert_int_equal(engine_stats(play.engine)->unplaced[WAITING_CAPACITY], 1);
    gpus_left(&play, 2, 2);
    assert_string_equal(placed_in(&play, "a"), "");
    gpus_left(&play, 1, 4);
    assert_string_equal(placed_in(&play, "a"), "w1"); // at once
    assert_int_equal(engine_stats(play.engine)->unplaced[WAITING_CAPACITY], 0);
    play_end(&play);
}

static void what_was_placed_is_reserved_until_its_pods_can_be_seen(void **state) {
    (void)state;
    struct play play;
    begin(&play);
    gpus_left(&play, 1, 8);
    gpus_left(&play, 2, 0);
    play_seen(&play, 0, asking("a", "", "6"));
    play_wait(&play, CLOCK_SECOND);
    play_seen(&play, 0, asking("b", "", "6"));
    play_wait(&play, CLOCK_SECOND);
    assert_string_equal(placed_in(&play, "a"), "w1");
    assert_string_equal(placed_in(&play, "b"), "");
    gpus_left(&play, 1, 8); // as before: its pods are not there yet
    play_wait(&play, 10 * CLOCK_MINUTE);
    assert_string_equal(placed_in(&play, "b"), ""); // the create has not been answered
    accept_in(&play, "a", "6", "w1");
    play_wait(&play, CAPACITY_RESERVE_NS - CLOCK_SECOND);
    assert_string_equal(placed_in(&play, "b"), "");
    play_wait(&play, 2 * CLOCK_SECOND); // it is not known why it has no pods
    assert_string_equal(placed_in(&play, "b"), "w1");
    play_end(&play);
}

static void once_it_runs_what_its_nodes_show_counts(void **state) {
    (void)state;
    struct play play;
    begin(&play);
    gpus_left(&play, 1, 8);
    gpus_left(&play, 2, 0);
    play_seen(&play, 0, asking("a", "", "4"));
    play_wait(&play, CLOCK_SECOND);
    accept_in(&play, "a", "4", "w1");
    struct json *workload = asking("a", "w1", "4");
    assert_true(pointer_set(workload, "/status", play_json("{'active':1}")));
    play_seen(&play, 0, workload);
    gpus_left(&play, 1, 4); // its pod
    play_seen(&play, 0, asking("b", "", "4"));
    play_wait(&play, CAPACITY_SEEN_NS - CLOCK_SECOND);
    assert_string_equal(placed_in(&play, "b"), ""); // it may count twice for a moment
    play_wait(&play, 2 * CLOCK_SECOND);
    assert_string_equal(placed_in(&play, "b"), "w1");
    play_end(&play);
}

static void a_burst_is_placed_up_to_what_is_left_and_not_beyond(void **state) {
    (void)state;
    struct play play;
    begin(&play);
    gpus_left(&play, 1, 8);
    gpus_left(&play, 2, 5);
    char name[16];
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "j%d", i);
        play_seen(&play, 0, asking(name, "", "2"));
    }
    for (size_t answered = 0; answered < play.n_commands; answered++) // so that windows are free
        if (play.commands[answered].cluster == 0)
            play_answer(&play, play.commands[answered].id, REASON_OK,
                        asking(play.commands[answered].name, placed_in(&play, play.commands[answered].name), "2"));
    play_wait(&play, CLOCK_SECOND);
    size_t in[3] = {0};
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "j%d", i);
        const char *where = placed_in(&play, name);
        in[*where == '\0' ? 0 : where[1] - '0']++;
    }
    assert_int_equal(in[1], 4);
    assert_int_equal(in[2], 2);
    assert_int_equal(in[0], 14);
    play_end(&play);
}

static void a_restarted_host_reserves_what_its_predecessor_placed(void **state) {
    (void)state;
    struct play play;
    begin(&play);
    play_seen(&play, 0, asking("a", "w1", "6")); // without a mirror yet, by its watch
    play_wait(&play, CLOCK_SECOND);
    play_answer(&play, play.commands[play.n_commands - 1].id, REASON_NOT_FOUND, NULL); // nor by its name
    gpus_left(&play, 1, 8);
    gpus_left(&play, 2, 0);
    play_wait(&play, CLOCK_SECOND);
    play_seen(&play, 0, asking("b", "", "6"));
    play_wait(&play, 5 * CLOCK_SECOND);
    assert_string_equal(placed_in(&play, "b"), "");
    play_end(&play);
}

static void what_goes_gives_its_reservation_back(void **state) {
    (void)state;
    struct play play;
    begin(&play);
    gpus_left(&play, 1, 8);
    gpus_left(&play, 2, 0);
    play_seen(&play, 0, asking("a", "", "6"));
    play_wait(&play, CLOCK_SECOND);
    play_seen(&play, 0, asking("b", "", "6"));
    play_wait(&play, CLOCK_SECOND);
    accept_in(&play, "a", "6", "w1");
    play_gone(&play, 0, asking("a", "w1", "6"));
    play_wait(&play, CLOCK_SECOND);
    assert_string_equal(placed_in(&play, "b"), "w1");
    play_end(&play);
}

// A policy there strips its mirror, which is deleted; meanwhile others take the room.
static void a_mirror_that_is_gone_gives_its_reservation_back(void **state) {
    (void)state;
    struct play play;
    begin(&play);
    gpus_left(&play, 1, 8);
    gpus_left(&play, 2, 0);
    play_seen(&play, 0, asking("a", "", "6"));
    play_wait(&play, CLOCK_SECOND);
    accept_in(&play, "a", "6", "w1");
    play_wait(&play, CLOCK_SECOND);
    for (size_t i = 0; i < play.n_commands; i++)
        if (play.commands[i].cluster == 1 && play.commands[i].verb == VERB_CREATE)
            play_answer(&play, play.commands[i].id, REASON_OK, play_mirror("a"));
    play_gone(&play, 1, play_mirror("a"));
    gpus_left(&play, 1, 2); // somebody was faster
    play_wait(&play, CLOCK_SECOND);
    size_t before = play.n_commands;
    for (size_t i = 0; i < before; i++) // it asks whether it is gone
        if (play.commands[i].cluster == 1 && play.commands[i].verb == VERB_GET)
            play_answer(&play, play.commands[i].id, REASON_NOT_FOUND, NULL);
    assert_int_equal(play_sent(&play, 1, VERB_GET), 1);
    play_wait(&play, CLOCK_MINUTE);
    for (size_t i = before; i < play.n_commands; i++)
        if (strcmp(play.commands[i].name, "a") == 0)
            assert_false(play.commands[i].body && strstr(play.commands[i].body, "attempt\":\"2\""));
    gpus_left(&play, 1, 6);
    play_wait(&play, CLOCK_MINUTE);
    assert_string_equal(placed_in(&play, "a"), "w1");
    play_end(&play);
}

static void a_worker_whose_nodes_are_not_to_be_known_has_no_limits(void **state) {
    (void)state;
    struct play play;
    begin(&play);
    gpus_left(&play, 2, 0);
    capacity_is(&play, 1, CAPACITY_OFF);
    play_seen(&play, 0, asking("a", "", "100"));
    play_wait(&play, CLOCK_SECOND);
    assert_string_equal(placed_in(&play, "a"), "w1");
    play_end(&play);
}

static void a_worker_of_which_nothing_is_known_yet_gets_nothing_and_that_is_told(void **state) {
    (void)state;
    static const enum capacity_state states[] = {CAPACITY_READING, CAPACITY_UNKNOWN, CAPACITY_STALE};
    for (size_t i = 0; i < 3; i++) {
        struct play play;
        begin(&play);
        gpus_left(&play, 2, 0);
        capacity_is(&play, 1, states[i]);
        play_seen(&play, 0, asking("a", "", "1"));
        play_wait(&play, 20 * CLOCK_MINUTE);
        assert_string_equal(placed_in(&play, "a"), "");
        assert_non_null(
            strstr(play.notes.data, "0/2 workers accept it: w1 free capacity is unknown; w2 lacks 1 nvidia"));
        assert_int_equal(engine_stats(play.engine)->clusters[1].capacity.state, states[i]);
        gpus_left(&play, 1, 1);
        assert_string_equal(placed_in(&play, "a"), "w1"); // at once
        play_end(&play);
    }
}

static void what_asks_for_no_pods_needs_no_capacity_that_is_known(void **state) {
    (void)state;
    struct play play;
    begin(&play);
    capacity_is(&play, 1, CAPACITY_UNKNOWN);
    capacity_is(&play, 2, CAPACITY_UNKNOWN);
    struct json *workload = asking("a", "", "1");
    assert_true(pointer_set(workload, "/spec/parallelism", json_new_int64(0)));
    play_seen(&play, 0, workload);
    play_wait(&play, CLOCK_SECOND);
    assert_string_not_equal(placed_in(&play, "a"), "");
    play_end(&play);
}

static void a_view_counts_for_a_while_after_its_watch_was_lost(void **state) {
    (void)state;
    struct play play;
    begin(&play);
    gpus_left(&play, 1, 4);
    gpus_left(&play, 2, 0);
    capacity_is(&play, 1, CAPACITY_STALE);
    play_wait(&play, CAPACITY_STALE_NS - CLOCK_SECOND);
    play_seen(&play, 0, asking("a", "", "1"));
    play_wait(&play, 100 * CLOCK_MS);
    assert_string_equal(placed_in(&play, "a"), "w1");
    play_wait(&play, 2 * CLOCK_SECOND);
    play_seen(&play, 0, asking("b", "", "1"));
    play_wait(&play, CLOCK_MINUTE);
    assert_string_equal(placed_in(&play, "b"), "");
    play_end(&play);
}

static void a_worker_that_left_is_forgotten_with_its_reservations(void **state) {
    (void)state;
    struct play play;
    begin(&play);
    gpus_left(&play, 1, 8);
    gpus_left(&play, 2, 0);
    play_seen(&play, 0, asking("a", "", "6"));
    play_wait(&play, CLOCK_SECOND);
    play_tell(&play, (struct engine_event){.type = EVENT_WORKER, .cluster = 1, .worker = {.policy = WORKER_LEFT}});
    gpus_left(&play, 1, 8); // comes late
    play_wait(&play, CLOCK_SECOND);
    gpus_left(&play, 2, 6);
    play_end(&play);
}

static void a_workload_that_changes_asks_for_what_it_says_now(void **state) {
    (void)state;
    struct play play;
    begin(&play);
    gpus_left(&play, 1, 2);
    gpus_left(&play, 2, 0);
    play_seen(&play, 0, asking("a", "", "4"));
    play_wait(&play, CLOCK_SECOND);
    assert_string_equal(placed_in(&play, "a"), "");
    struct json *smaller = asking("a", "", "1");
    assert_true(pointer_set(smaller, "/metadata/generation", json_new_int64(2)));
    play_seen(&play, 0, smaller);
    play_wait(&play, CLOCK_SECOND);
    assert_string_equal(placed_in(&play, "a"), "w1");
    play_end(&play);
}

static void guard_is_heard(struct play *play, size_t cluster) {
    struct fence_news news = {.guarded = 1, .sure_ns = play->now.mono_ns + 10 * CLOCK_MINUTE};
    play_tell(play, (struct engine_event){.type = EVENT_FENCE, .cluster = cluster, .fence = news});
}

static void what_waits_for_a_guard_does_not_wait_for_capacity(void **state) {
    (void)state;
    struct play play;
    play_init(&play);
    play.options.settings.fencing = (struct fence_options){.enabled = true, .after_ns = CLOCK_MINUTE};
    play_start(&play);
    play_connect_all(&play);
    gpus_left(&play, 1, 1);
    gpus_left(&play, 2, 8);
    play_seen(&play, 0, asking("a", "", "4"));
    play_wait(&play, CLOCK_MINUTE);
    const uint64_t *unplaced = engine_stats(play.engine)->unplaced;
    assert_string_equal(placed_in(&play, "a"), "");
    assert_int_equal(unplaced[WAITING_CAPACITY], 0); // w2 has room, and w1 is not asked
    assert_int_equal(unplaced[WAITING_NO_WORKER], 1);
    guard_is_heard(&play, 1);
    play_wait(&play, CLOCK_SECOND);
    assert_string_equal(placed_in(&play, "a"), "");
    assert_int_equal(unplaced[WAITING_CAPACITY], 1);
    guard_is_heard(&play, 2);
    play_wait(&play, CLOCK_SECOND);
    assert_string_equal(placed_in(&play, "a"), "w2");
    play_end(&play);
}

static void sums_of_what_nodes_claim_to_have_saturate(void **state) {
    (void)state;
    struct play play;
    begin(&play);
    static const int64_t amounts[] = {INT64_MAX, -INT64_MAX}, sums[] = {INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < 2; i++) {
        struct nodes *nodes = nodes_new(3, (const char *const[]){"cpu"}, 1, 0);
        nodes->allocatable[0] = INT64_MAX;
        for (size_t n = 0; n < 3; n++)
            nodes->left[n] = amounts[i];
        play_tell(&play, (struct engine_event){
                             .type = EVENT_CAPACITY, .cluster = 1, .capacity = {CAPACITY_KNOWN, NULL, nodes}});
        const struct stats_capacity *capacity = &engine_stats(play.engine)->clusters[1].capacity;
        assert_int_equal(capacity->resources[0].left, sums[i]);
    }
    play_end(&play);
}

static void a_policy_learns_how_full_a_worker_is(void **state) {
    (void)state;
    struct play play;
    begin(&play);
    gpus_left(&play, 1, 2);
    gpus_left(&play, 2, 6);
    const struct stats_capacity *shown = &engine_stats(play.engine)->clusters[1].capacity;
    assert_int_equal(shown->n_resources, 2);
    assert_string_equal(shown->resources[1].name, "nvidia.com/gpu");
    assert_int_equal(shown->resources[1].allocatable, 8);
    assert_int_equal(shown->resources[1].left, 2);
    play_end(&play);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_workload_goes_where_it_fits),
        cmocka_unit_test(what_waits_for_room_is_forgotten_with_its_workload_by_a_standby_too),
        cmocka_unit_test(what_fits_nowhere_waits_and_is_told_why_and_is_placed_when_there_is_room),
        cmocka_unit_test(what_was_placed_is_reserved_until_its_pods_can_be_seen),
        cmocka_unit_test(once_it_runs_what_its_nodes_show_counts),
        cmocka_unit_test(a_burst_is_placed_up_to_what_is_left_and_not_beyond),
        cmocka_unit_test(a_restarted_host_reserves_what_its_predecessor_placed),
        cmocka_unit_test(what_goes_gives_its_reservation_back),
        cmocka_unit_test(a_mirror_that_is_gone_gives_its_reservation_back),
        cmocka_unit_test(a_worker_whose_nodes_are_not_to_be_known_has_no_limits),
        cmocka_unit_test(a_worker_of_which_nothing_is_known_yet_gets_nothing_and_that_is_told),
        cmocka_unit_test(what_asks_for_no_pods_needs_no_capacity_that_is_known),
        cmocka_unit_test(a_view_counts_for_a_while_after_its_watch_was_lost),
        cmocka_unit_test(a_worker_that_left_is_forgotten_with_its_reservations),
        cmocka_unit_test(a_workload_that_changes_asks_for_what_it_says_now),
        cmocka_unit_test(what_waits_for_a_guard_does_not_wait_for_capacity),
        cmocka_unit_test(a_policy_learns_how_full_a_worker_is),
        cmocka_unit_test(sums_of_what_nodes_claim_to_have_saturate),
    };
    return cmocka_run_group_tests(tests, play_load, play_unload);
}
