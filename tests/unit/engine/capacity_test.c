// SPDX-License-Identifier: Apache-2.0
// The engine places what fits, reserves it until its pods can be seen, and lets the rest wait and says why.
#include "core/engine/capacity/capacity.h"

#include "tests/unit/engine/event_play.h"

// One node with so many places for pods left, and GPUs, of 8.
static void pods_left(struct play *play, size_t cluster, int64_t pods, int64_t gpus) {
    struct nodes *nodes = nodes_new(1, (const char *const[]){"pods", "nvidia.com/gpu"}, 2, 0);
    nodes->left[0] = nodes->allocatable[0] = pods;
    nodes->left[1] = gpus;
    nodes->allocatable[1] = 8;
    play_tell(play, (struct engine_event){
                        .type = EVENT_CAPACITY, .cluster = cluster, .capacity = {CAPACITY_KNOWN, NULL, nodes}});
}

static void gpus_left(struct play *play, size_t cluster, int64_t gpus) {
    pods_left(play, cluster, 100, gpus);
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

static void expect(struct play *play, int64_t after_ns, const char *name, const char *where) {
    if (after_ns > 0)
        play_wait(play, after_ns);
    assert_string_equal(placed_in(play, name), where);
}

static void submit(struct play *play, const char *name, const char *gpus, int64_t ns) {
    play_seen(play, 0, asking(name, "", gpus));
    play_wait(play, ns);
}

// The management cluster accepts the placement of `name`, and the worker the mirror, whose pods have not come yet.
static void accept_in(struct play *play, const char *name, const char *gpus, const char *where) {
    for (size_t i = 0; i < play->n_commands; i++)
        if (play->commands[i].cluster == 0 && strcmp(play->commands[i].name, name) == 0)
            play_answer(play, play->commands[i].id, REASON_OK, asking(name, where, gpus));
    play_seen(play, strcmp(where, "w1") == 0 ? 1 : 2, play_mirror(name));
}

static void lease(struct play *play, int64_t until_ns) {
    play_tell(play, (struct engine_event){.type = EVENT_LEASE, .lease = {0, until_ns, 1}});
    play_wait(play, 0);
}

static void what_waits_for_room_is_forgotten_with_its_workload_by_a_standby_too(struct play *play) {
    lease(play, 0);
    play_gone(play, 0, asking("a", "", "4"));
    gpus_left(play, 1, 8); // what waits is looked at
    lease(play, play->now.mono_ns + CLOCK_MINUTE);
    submit(play, "b", "8", CLOCK_SECOND);
    expect(play, 0, "a", "");
    expect(play, 0, "b", "w1");
}

static void a_workload_goes_where_it_fits(struct play *play) {
    expect(play, 0, "a", "w2");
}

static void what_fits_nowhere_waits_and_is_told_why_and_is_placed_when_there_is_room(struct play *play) {
    submit(play, "a", "4", 5 * CLOCK_MINUTE);
    expect(play, 0, "a", "");
    assert_non_null(strstr(play->notes.data, "Unschedulable: 0/2 workers accept it: w1 lacks 3 nvidia.com/gpu; "
                                             "w2 lacks 1 nvidia.com/gpu\n"));
    assert_int_equal(play_times(&play->notes, "Unschedulable"), 1);
    assert_int_equal(engine_stats(play->engine)->unplaced[WAITING_CAPACITY], 1);
    gpus_left(play, 2, 2);
    expect(play, 0, "a", "");
    gpus_left(play, 1, 4);
    expect(play, 0, "a", "w1"); // at once
    assert_int_equal(engine_stats(play->engine)->unplaced[WAITING_CAPACITY], 0);
}

static void what_was_placed_is_reserved_until_its_pods_can_be_seen(struct play *play) {
    submit(play, "b", "6", CLOCK_SECOND);
    expect(play, 0, "a", "w1");
    expect(play, 0, "b", "");
    gpus_left(play, 1, 8);                    // as before: its pods are not there yet
    expect(play, 10 * CLOCK_MINUTE, "b", ""); // the create has not been answered
    accept_in(play, "a", "6", "w1");
    expect(play, CAPACITY_RESERVE_NS - CLOCK_SECOND, "b", "");
    expect(play, 2 * CLOCK_SECOND, "b", "w1"); // it is not known why it has no pods
}

static void once_it_runs_what_its_nodes_show_counts(struct play *play) {
    accept_in(play, "a", "4", "w1");
    struct json *workload = asking("a", "w1", "4");
    assert_true(pointer_set(workload, "/status", play_json("{'active':1}")));
    play_seen(play, 0, workload);
    gpus_left(play, 1, 4); // its pod
    submit(play, "b", "4", CAPACITY_SEEN_NS - CLOCK_SECOND);
    expect(play, 0, "b", ""); // it may count twice for a moment
    expect(play, 2 * CLOCK_SECOND, "b", "w1");
}

static void submit_pods(struct play *play, const char *name, int count, const char *gpus) {
    struct json *workload = asking(name, "", gpus);
    assert_true(pointer_set(workload, "/spec/parallelism", json_new_int64(count)));
    assert_true(pointer_set(workload, "/spec/completions", json_new_int64(count)));
    play_seen(play, 0, workload);
    play_wait(play, CLOCK_SECOND);
}

// The pod of "a" is in the view and still reserved: then the GPUs do not suffice for both reservations.
static void a_pod_that_is_seen_and_reserved_takes_nothing_from_later_reservations(struct play *play) {
    pods_left(play, 2, 0, 0);
    submit_pods(play, "b", 2, "2");
    expect(play, 0, "b", "w1");
    pods_left(play, 1, 9, 4);
    submit_pods(play, "c", 8, "0");
    expect(play, 0, "c", "");
    submit_pods(play, "d", 7, "0");
    expect(play, 0, "d", "w1");
}

static void a_burst_is_placed_up_to_what_is_left_and_not_beyond(struct play *play) {
    char name[16];
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "j%d", i);
        play_seen(play, 0, asking(name, "", "2"));
    }
    for (size_t answered = 0; answered < play->n_commands; answered++) // so that windows are free
        if (play->commands[answered].cluster == 0)
            play_answer(play, play->commands[answered].id, REASON_OK,
                        asking(play->commands[answered].name, placed_in(play, play->commands[answered].name), "2"));
    play_wait(play, CLOCK_SECOND);
    size_t in[3] = {0};
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "j%d", i);
        const char *where = placed_in(play, name);
        in[*where == '\0' ? 0 : where[1] - '0']++;
    }
    assert_int_equal(in[1], 4);
    assert_int_equal(in[2], 2);
    assert_int_equal(in[0], 14);
}

static void a_restarted_host_reserves_what_its_predecessor_placed(struct play *play) {
    play_seen(play, 0, asking("a", "w1", "6")); // without a mirror yet, by its watch
    play_wait(play, CLOCK_SECOND);
    play_answer(play, play->commands[play->n_commands - 1].id, REASON_NOT_FOUND, NULL); // nor by its name
    gpus_left(play, 1, 8);
    gpus_left(play, 2, 0);
    play_wait(play, CLOCK_SECOND);
    submit(play, "b", "6", 5 * CLOCK_SECOND);
    expect(play, 0, "b", "");
}

static void what_goes_gives_its_reservation_back(struct play *play) {
    submit(play, "b", "6", CLOCK_SECOND);
    accept_in(play, "a", "6", "w1");
    play_gone(play, 0, asking("a", "w1", "6"));
    expect(play, CLOCK_SECOND, "b", "w1");
}

// A policy there strips its mirror, which is deleted; meanwhile others take the room.
static void a_mirror_that_is_gone_gives_its_reservation_back(struct play *play) {
    accept_in(play, "a", "6", "w1");
    play_wait(play, CLOCK_SECOND);
    for (size_t i = 0; i < play->n_commands; i++)
        if (play->commands[i].cluster == 1 && play->commands[i].verb == VERB_CREATE)
            play_answer(play, play->commands[i].id, REASON_OK, play_mirror("a"));
    play_gone(play, 1, play_mirror("a"));
    gpus_left(play, 1, 2); // somebody was faster
    play_wait(play, CLOCK_SECOND);
    size_t before = play->n_commands;
    for (size_t i = 0; i < before; i++) // it asks whether it is gone
        if (play->commands[i].cluster == 1 && play->commands[i].verb == VERB_GET)
            play_answer(play, play->commands[i].id, REASON_NOT_FOUND, NULL);
    assert_int_equal(play_sent(play, 1, VERB_GET), 1);
    play_wait(play, CLOCK_MINUTE);
    for (size_t i = before; i < play->n_commands; i++)
        if (strcmp(play->commands[i].name, "a") == 0)
            assert_false(play->commands[i].body && strstr(play->commands[i].body, "attempt\":\"2\""));
    gpus_left(play, 1, 6);
    expect(play, CLOCK_MINUTE, "a", "w1");
}

static void a_worker_whose_nodes_are_not_to_be_known_has_no_limits(struct play *play) {
    capacity_is(play, 1, CAPACITY_OFF);
    submit(play, "a", "100", CLOCK_SECOND);
    expect(play, 0, "a", "w1");
}

static void gets_nothing_in(struct play *play, enum capacity_state state) {
    capacity_is(play, 1, state);
    submit(play, "a", "1", 20 * CLOCK_MINUTE);
    expect(play, 0, "a", "");
    assert_non_null(strstr(play->notes.data, "0/2 workers accept it: w1 free capacity is unknown; w2 lacks 1 nvidia"));
    assert_int_equal(engine_stats(play->engine)->clusters[1].capacity.state, state);
    gpus_left(play, 1, 1);
    expect(play, 0, "a", "w1"); // at once
}

static void a_worker_whose_nodes_are_being_listed_gets_nothing_and_that_is_told(struct play *play) {
    gets_nothing_in(play, CAPACITY_READING);
}

static void a_worker_of_which_nothing_is_known_gets_nothing_and_that_is_told(struct play *play) {
    gets_nothing_in(play, CAPACITY_UNKNOWN);
}

static void a_worker_whose_watch_is_lost_gets_nothing_and_that_is_told(struct play *play) {
    gets_nothing_in(play, CAPACITY_STALE);
}

static void what_asks_for_no_pods_needs_no_capacity_that_is_known(struct play *play) {
    capacity_is(play, 1, CAPACITY_UNKNOWN);
    capacity_is(play, 2, CAPACITY_UNKNOWN);
    struct json *workload = asking("a", "", "1");
    assert_true(pointer_set(workload, "/spec/parallelism", json_new_int64(0)));
    play_seen(play, 0, workload);
    play_wait(play, CLOCK_SECOND);
    assert_string_not_equal(placed_in(play, "a"), "");
}

static void a_view_counts_for_a_while_after_its_watch_was_lost(struct play *play) {
    capacity_is(play, 1, CAPACITY_STALE);
    play_wait(play, CAPACITY_STALE_NS - CLOCK_SECOND);
    submit(play, "a", "1", 100 * CLOCK_MS);
    expect(play, 0, "a", "w1");
    play_wait(play, 2 * CLOCK_SECOND);
    submit(play, "b", "1", CLOCK_MINUTE);
    expect(play, 0, "b", "");
}

static void a_worker_that_left_is_forgotten_with_its_reservations(struct play *play) {
    play_tell(play, (struct engine_event){.type = EVENT_WORKER, .cluster = 1, .worker = {.policy = WORKER_LEFT}});
    gpus_left(play, 1, 8); // comes late
    play_wait(play, CLOCK_SECOND);
    gpus_left(play, 2, 6);
}

static void a_workload_that_changes_asks_for_what_it_says_now(struct play *play) {
    expect(play, 0, "a", "");
    struct json *smaller = asking("a", "", "1");
    assert_true(pointer_set(smaller, "/metadata/generation", json_new_int64(2)));
    play_seen(play, 0, smaller);
    expect(play, CLOCK_SECOND, "a", "w1");
}

static void guard_is_heard(struct play *play, size_t cluster) {
    struct fence_news news = {.guarded = 1, .sure_ns = play->now.mono_ns + 10 * CLOCK_MINUTE};
    play_tell(play, (struct engine_event){.type = EVENT_FENCE, .cluster = cluster, .fence = news});
}

static void what_waits_for_a_guard_does_not_wait_for_capacity(struct play *play) {
    play_wait(play, CLOCK_MINUTE);
    const uint64_t *unplaced = engine_stats(play->engine)->unplaced;
    expect(play, 0, "a", "");
    assert_int_equal(unplaced[WAITING_CAPACITY], 0); // w2 has room, and w1 is not asked
    assert_int_equal(unplaced[WAITING_NO_WORKER], 1);
    guard_is_heard(play, 1);
    expect(play, CLOCK_SECOND, "a", "");
    assert_int_equal(unplaced[WAITING_CAPACITY], 1);
    guard_is_heard(play, 2);
    expect(play, CLOCK_SECOND, "a", "w2");
}

static void sums_of_what_nodes_claim_to_have_saturate(struct play *play) {
    static const int64_t amounts[] = {INT64_MAX, -INT64_MAX}, sums[] = {INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < 2; i++) {
        struct nodes *nodes = nodes_new(3, (const char *const[]){"cpu"}, 1, 0);
        nodes->allocatable[0] = INT64_MAX;
        for (size_t n = 0; n < 3; n++)
            nodes->left[n] = amounts[i];
        play_tell(play, (struct engine_event){
                            .type = EVENT_CAPACITY, .cluster = 1, .capacity = {CAPACITY_KNOWN, NULL, nodes}});
        const struct stats_capacity *capacity = &engine_stats(play->engine)->clusters[1].capacity;
        assert_int_equal(capacity->resources[0].left, sums[i]);
    }
}

static void a_policy_learns_how_full_a_worker_is(struct play *play) {
    const struct stats_capacity *shown = &engine_stats(play->engine)->clusters[1].capacity;
    assert_int_equal(shown->n_resources, 2);
    assert_string_equal(shown->resources[1].name, "nvidia.com/gpu");
    assert_int_equal(shown->resources[1].allocatable, 8);
    assert_int_equal(shown->resources[1].left, 2);
}

enum { STANDBY = 1, FENCED }; // options
#define UNKNOWN (-1)          // GPUs of a worker
#define TEST(name) #name, name

// Free GPUs of the workers, and those that a workload `a` requests a second before; NULL: there is none.
static const struct test {
    const char *name;
    void (*check)(struct play *play);
    int64_t w1, w2;
    const char *a;
    int options;
} tests[] = {
    {TEST(a_workload_goes_where_it_fits), 3, 8, "4", 0},
    {TEST(what_waits_for_room_is_forgotten_with_its_workload_by_a_standby_too), 1, 0, "4", STANDBY},
    {TEST(what_fits_nowhere_waits_and_is_told_why_and_is_placed_when_there_is_room), 1, 3, NULL, 0},
    {TEST(what_was_placed_is_reserved_until_its_pods_can_be_seen), 8, 0, "6", 0},
    {TEST(once_it_runs_what_its_nodes_show_counts), 8, 0, "4", 0},
    {TEST(a_pod_that_is_seen_and_reserved_takes_nothing_from_later_reservations), 8, 0, "4", 0},
    {TEST(a_burst_is_placed_up_to_what_is_left_and_not_beyond), 8, 5, NULL, 0},
    {TEST(a_restarted_host_reserves_what_its_predecessor_placed), UNKNOWN, UNKNOWN, NULL, 0},
    {TEST(what_goes_gives_its_reservation_back), 8, 0, "6", 0},
    {TEST(a_mirror_that_is_gone_gives_its_reservation_back), 8, 0, "6", 0},
    {TEST(a_worker_whose_nodes_are_not_to_be_known_has_no_limits), UNKNOWN, 0, NULL, 0},
    {TEST(a_worker_whose_nodes_are_being_listed_gets_nothing_and_that_is_told), UNKNOWN, 0, NULL, 0},
    {TEST(a_worker_of_which_nothing_is_known_gets_nothing_and_that_is_told), UNKNOWN, 0, NULL, 0},
    {TEST(a_worker_whose_watch_is_lost_gets_nothing_and_that_is_told), UNKNOWN, 0, NULL, 0},
    {TEST(what_asks_for_no_pods_needs_no_capacity_that_is_known), UNKNOWN, UNKNOWN, NULL, 0},
    {TEST(a_view_counts_for_a_while_after_its_watch_was_lost), 4, 0, NULL, 0},
    {TEST(a_worker_that_left_is_forgotten_with_its_reservations), 8, 0, "6", 0},
    {TEST(a_workload_that_changes_asks_for_what_it_says_now), 2, 0, "4", 0},
    {TEST(what_waits_for_a_guard_does_not_wait_for_capacity), 1, 8, "4", FENCED},
    {TEST(a_policy_learns_how_full_a_worker_is), 2, 6, NULL, 0},
    {TEST(sums_of_what_nodes_claim_to_have_saturate), UNKNOWN, UNKNOWN, NULL, 0},
};

static void run(void **state) {
    const struct test *test = *state;
    const int64_t left[] = {0, test->w1, test->w2};
    struct play play;
    play_init(&play);
    play.options.shards = test->options == STANDBY ? 1 : 0;
    play.options.settings.fencing =
        (struct fence_options){.enabled = test->options == FENCED, .after_ns = CLOCK_MINUTE};
    play_start(&play);
    for (size_t c = 1; c <= 2; c++)
        capacity_is(&play, c, CAPACITY_READING);
    play_connect_all(&play);
    if (test->options == STANDBY)
        lease(&play, play.now.mono_ns + CLOCK_MINUTE);
    for (size_t c = 1; c <= 2; c++)
        if (left[c] != UNKNOWN)
            gpus_left(&play, c, left[c]);
    if (test->a)
        submit(&play, "a", test->a, CLOCK_SECOND);
    test->check(&play);
    play_end(&play);
}

int main(void) {
    struct CMUnitTest units[sizeof tests / sizeof *tests];
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        units[i] = (struct CMUnitTest){tests[i].name, run, NULL, NULL, (void *)&tests[i]};
    return cmocka_run_group_tests(units, play_load, play_unload);
}
