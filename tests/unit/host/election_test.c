// SPDX-License-Identifier: Apache-2.0
// Replicas and one API server on virtual time.
#include "core/host/lease/election.h"
#include "tests/world/sim_transport.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define START_NS (INT64_C(1767225600) * CLOCK_SECOND)
#define REPLICAS 5
#define SHARDS_MAX 8
#define LEASES "/apis/coordination.k8s.io/v1/namespaces/wharf-system/leases/"

struct replica {
    struct transport *transport;
    struct election *election;
    struct gates gates;
    struct gate shards[SHARDS_MAX];
    int64_t told_ns[SHARDS_MAX]; // until when it holds the shard, as its engine was told
    bool paused;
};

struct play {
    struct sim_net *net;
    struct world_cluster *world;
    int64_t now_ns;
    uint32_t shards;
    struct replica replicas[REPLICAS];
};

static void on_event(void *ctx, struct engine_event *event) {
    struct replica *replica = ctx;
    assert_int_equal(event->type, EVENT_LEASE);
    replica->told_ns[event->lease.shard] = event->lease.until_ns;
}

static void begin(struct play *play, uint32_t shards) {
    *play = (struct play){.now_ns = START_NS, .shards = shards};
    play->net = sim_net_new(7, START_NS);
    play->world = world_new(&(struct world_options){.name = "management"}, START_NS);
    struct sim_faults faults = {.latency_min_ns = CLOCK_MS, .latency_max_ns = 20 * CLOCK_MS};
    sim_net_set_faults(play->net, &faults);
    struct json *space = NULL;
    static const char text[] = "{\"metadata\":{\"name\":\"wharf-system\"}}";
    assert_null(json_parse(text, sizeof text - 1, &space));
    world_apply(play->world, "", "namespaces", space, START_NS);
    json_free(space);
}

static void start_as(struct play *play, size_t index, enum election_mode mode, uint32_t shards) {
    struct replica *replica = &play->replicas[index];
    char identity[16];
    snprintf(identity, sizeof identity, "host-%zu", index);
    *replica = (struct replica){.transport = sim_transport_new(play->net, play->world)};
    replica->gates = (struct gates){.shards = replica->shards, .count = shards};
    assert_null(election_new(&(struct election_options){.mode = mode,
                                                        .transport = replica->transport,
                                                        .namespace_ = "wharf-system",
                                                        .name = "wharf",
                                                        .identity = identity,
                                                        .duration_ns = 15 * CLOCK_SECOND,
                                                        .renew_ns = 10 * CLOCK_SECOND,
                                                        .retry_ns = 2 * CLOCK_SECOND,
                                                        .shards = shards,
                                                        .controller_name = "wharf.dev/host",
                                                        .gates = mode == ELECTION_ON ? &replica->gates : NULL,
                                                        .seed = index + 1,
                                                        .post = on_event,
                                                        .ctx = replica},
                             &replica->election));
}

static void start(struct play *play, size_t index) {
    start_as(play, index, ELECTION_ON, play->shards);
}

static void kill_one(struct play *play, size_t index) {
    struct replica *replica = &play->replicas[index];
    election_free(replica->election);
    if (replica->transport)
        replica->transport->ops->free(replica->transport);
    *replica = (struct replica){0};
}

static void end(struct play *play) {
    for (size_t i = 0; i < REPLICAS; i++)
        kill_one(play, i);
    sim_net_free(play->net);
    world_free(play->world);
}

static bool writes(const struct play *play, size_t index, uint32_t shard) {
    return gate_is_open(&play->replicas[index].gates.shards[shard], play->now_ns);
}

// No two write; what the engine was told is within the gate.
static void check(struct play *play) {
    for (uint32_t s = 0; s < play->shards; s++) {
        unsigned writers = 0;
        for (size_t i = 0; i < REPLICAS; i++) {
            if (!play->replicas[i].gates.count)
                continue;
            writers += writes(play, i, s);
            assert_true(play->replicas[i].told_ns[s] <= play->now_ns || writes(play, i, s));
        }
        assert_in_range(writers, 0, 1);
    }
}

static void run(struct play *play, int64_t for_ns) {
    int64_t until_ns = play->now_ns + for_ns;
    for (; play->now_ns < until_ns; play->now_ns += 10 * CLOCK_MS) {
        world_step(play->world, play->now_ns);
        sim_net_advance(play->net, play->now_ns);
        for (size_t i = 0; i < REPLICAS; i++)
            if (play->replicas[i].election && !play->replicas[i].paused)
                election_tick(play->replicas[i].election, (struct moment){play->now_ns, play->now_ns});
        check(play);
    }
}

static unsigned held(const struct play *play, size_t index) {
    unsigned count = 0;
    for (uint32_t s = 0; s < play->shards; s++)
        count += writes(play, index, s);
    return count;
}

static size_t leader(const struct play *play) {
    for (size_t i = 0; i < REPLICAS; i++)
        if (play->replicas[i].election && held(play, i) > 0)
            return i;
    return REPLICAS;
}

// Returns the time.
static int64_t leave(struct play *play, size_t index) {
    election_leave(play->replicas[index].election, (struct moment){play->now_ns, play->now_ns});
    return play->now_ns;
}

static int64_t until_left(struct play *play) {
    int64_t until_ns = play->now_ns + CLOCK_MINUTE;
    while (!election_has_left(play->replicas[0].election) && play->now_ns < until_ns)
        run(play, 10 * CLOCK_MS);
    return play->now_ns;
}

static void the_others_take_over_within_two_seconds_after_the_lease_has_ended(struct play *play) {
    size_t first = leader(play);
    assert_true(first < 3);
    const struct election_state *seen = election_state(play->replicas[(first + 1) % 3].election);
    assert_string_equal(seen->leader, election_state(play->replicas[first].election)->identity);
    assert_int_equal(seen->held, 0);
    play->replicas[first].paused = true; // SIGSTOP
    int64_t stopped_ns = play->now_ns;
    run(play, 18 * CLOCK_SECOND);
    size_t second = leader(play);
    assert_true(second < 3 && second != first);
    assert_true(play->now_ns - stopped_ns < 15 * CLOCK_SECOND + 5 * CLOCK_SECOND);
    play->replicas[first].paused = false;
    run(play, CLOCK_MINUTE);
    assert_int_equal(leader(play), second);
    const struct json *lease = world_object(play->world, "coordination.k8s.io", "leases", "wharf-system", "wharf");
    int64_t renewed_ns = 0;
    assert_true(clock_parse_rfc3339(json_string(json_path(lease, "spec", "renewTime", NULL)), &renewed_ns));
    kill_one(play, second);
    for (int i = 0; i < 2000 && leader(play) == REPLICAS; i++)
        run(play, 10 * CLOCK_MS);
    assert_in_range(play->now_ns, renewed_ns + 15 * CLOCK_SECOND, renewed_ns + 17 * CLOCK_SECOND);
}

static void a_clean_stop_hands_over_at_once(struct play *play) {
    size_t first = leader(play);
    leave(play, first);
    assert_int_equal(held(play, first), 0);
    run(play, 3 * CLOCK_SECOND / 2);
    assert_true(election_has_left(play->replicas[first].election));
    assert_int_equal(leader(play), 1 - first);
}

static void the_holder_stops_before_another_may_begin_when_the_server_is_away_from_it(struct play *play) {
    sim_cluster_down(play->net, play->world, SIM_SILENT);
    run(play, 11 * CLOCK_SECOND);
    assert_int_equal(held(play, 0), 0);
    sim_cluster_up(play->net, play->world);
    run(play, 8 * CLOCK_SECOND);
    assert_int_equal(held(play, 0), 1);
    assert_int_equal(election_state(play->replicas[0].election)->transitions, 1);
}

static void check_shares(struct play *play, size_t replicas) {
    unsigned all = 0;
    for (size_t i = 0; i < REPLICAS; i++) {
        unsigned count = play->replicas[i].election ? held(play, i) : 0;
        all += count;
        if (play->replicas[i].election)
            assert_in_range(count, play->shards / replicas, (play->shards + replicas - 1) / replicas);
    }
    assert_int_equal(all, play->shards);
}

static void shards_are_shared_out_and_taken_over_and_given_up_for_one_that_joins(struct play *play) {
    check_shares(play, 1);
    for (size_t i = 1; i < 4; i++) {
        start(play, i);
        run(play, 15 * CLOCK_SECOND);
        check_shares(play, i + 1);
        assert_int_equal(election_state(play->replicas[0].election)->members, i + 1);
    }
    kill_one(play, 1);
    run(play, 30 * CLOCK_SECOND);
    check_shares(play, 3);
    leave(play, 2);
    run(play, 4 * CLOCK_SECOND);
    assert_true(election_has_left(play->replicas[2].election));
    kill_one(play, 2);
    run(play, 2 * CLOCK_SECOND);
    check_shares(play, 2);
    run(play, 11 * CLOCK_MINUTE); // the Leases of those that ended are deleted
    assert_null(world_object(play->world, "coordination.k8s.io", "leases", "wharf-system", "wharf-member-host-1"));
    assert_null(world_object(play->world, "coordination.k8s.io", "leases", "wharf-system", "wharf-member-host-2"));
    assert_non_null(world_object(play->world, "coordination.k8s.io", "leases", "wharf-system", "wharf-member-host-3"));
}

static void another_number_of_shards_takes_nothing_until_the_others_have_ended(struct play *play) {
    start_as(play, 1, ELECTION_ON, 1);
    run(play, CLOCK_MINUTE);
    assert_false(writes(play, 1, 0));
    assert_non_null(strstr(election_state(play->replicas[1].election)->problem, "has shards: 4"));
    kill_one(play, 0);
    play->shards = 1;
    run(play, 20 * CLOCK_SECOND);
    assert_true(writes(play, 1, 0));
}

static void of_two_numbers_of_shards_that_began_together_one_gives_up(struct play *play) {
    start_as(play, 0, ELECTION_ON, 4);
    start_as(play, 1, ELECTION_ON, 1);
    play->shards = 0; // their shards are not the same: nothing to compare
    run(play, 20 * CLOCK_SECOND);
    play->shards = 4;
    assert_int_equal(held(play, 0), 4);
    assert_int_equal(held(play, 1), 0);
    run(play, CLOCK_MINUTE);
    assert_int_equal(held(play, 0), 4);
    assert_int_equal(held(play, 1), 0);
    assert_non_null(strstr(election_state(play->replicas[1].election)->problem, "has shards: 4"));
}

static void a_server_that_does_not_answer_is_not_waited_for_in_a_loop(struct play *play) {
    sim_cluster_down(play->net, play->world, SIM_SILENT);
    int64_t until_ns = play->now_ns + 30 * CLOCK_SECOND;
    unsigned ticks = 0;
    for (; play->now_ns < until_ns; ticks++) {
        sim_net_advance(play->net, play->now_ns);
        play->now_ns = election_tick(play->replicas[0].election, (struct moment){play->now_ns, play->now_ns});
    }
    assert_in_range(ticks, 5, 300);
}

// The notes of all Events, with what they are about.
static char *events(struct play *play) {
    char *all = strdup("");
    const void *cursor = NULL;
    for (const struct json *e; (e = world_next(play->world, "events.k8s.io", "events", &cursor));) {
        char *before = all;
        all = text_format("%s%s %s/%s: %s\n", before, json_string_or(json_get(e, "reason"), ""),
                          json_string_or(json_path(e, "regarding", "kind", NULL), ""),
                          json_string_or(json_path(e, "regarding", "name", NULL), ""),
                          json_string_or(json_get(e, "note"), ""));
        free(before);
        assert_non_null(all);
    }
    return all;
}

static void without_election_another_host_is_noticed_and_a_former_process_is_not(struct play *play) {
    kill_one(play, 0);
    start_as(play, 1, ELECTION_OBSERVE, 1); // the process after it
    run(play, CLOCK_MINUTE);
    assert_string_equal(election_state(play->replicas[1].election)->other, "");
    AUTO_TEXT before = events(play);
    assert_string_equal(before, "");
    start_as(play, 2, ELECTION_OBSERVE, 1);
    run(play, 20 * CLOCK_SECOND);
    assert_string_equal(election_state(play->replicas[2].election)->other, "host-1");
    assert_string_equal(election_state(play->replicas[1].election)->other, "host-2");
    run(play, 10 * CLOCK_MINUTE);
    AUTO_TEXT told = events(play);
    for (int other = 1; other <= 2; other++) { // each says so
        AUTO_TEXT text =
            text_format("AnotherHost Lease/wharf: another host with this origin (host-%d) is running, and both "
                        "write: stop one of them, give it another origin, or enable leaderElection in both\n",
                        other);
        assert_non_null(strstr(told, text));
    }
    start(play, 3); // with election: stands by while others write
    run(play, 20 * CLOCK_SECOND);
    assert_false(writes(play, 3, 0));
    kill_one(play, 1);
    kill_one(play, 2);
    run(play, 40 * CLOCK_SECOND);
    assert_true(writes(play, 3, 0));
}

// The Lease by which the other one is noticed is there only while two run.
static void one_host_without_election_has_one_lease(struct play *play) {
    assert_int_equal(world_count(play->world, "coordination.k8s.io", "leases"), 1);
    start_as(play, 1, ELECTION_OBSERVE, 1);
    run(play, CLOCK_MINUTE);
    assert_int_equal(world_count(play->world, "coordination.k8s.io", "leases"), 2);
    kill_one(play, 0);
    run(play, CLOCK_MINUTE);
    assert_string_equal(election_state(play->replicas[1].election)->other, "");
    assert_string_equal(election_state(play->replicas[1].election)->leader, "host-1");
    run(play, 11 * CLOCK_MINUTE);
    assert_int_equal(world_count(play->world, "coordination.k8s.io", "leases"), 1);
}

// The one with election would stand by, but holds its Lease already.
static void a_holder_with_election_notices_a_host_without_it(struct play *play) {
    start_as(play, 2, ELECTION_OBSERVE, 1);
    run(play, CLOCK_MINUTE);
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(election_state(play->replicas[i].election)->other, writes(play, i, 0) ? "host-2" : "");
    assert_int_not_equal(*election_state(play->replicas[2].election)->other, 0);
}

static void rights_that_lack_are_told(struct play *play) {
    world_deny(play->world, "list", "leases.coordination.k8s.io");
    start(play, 0);
    run(play, CLOCK_MINUTE);
    assert_int_equal(held(play, 0), 0);
    assert_non_null(strstr(election_state(play->replicas[0].election)->problem, "forbidden"));
    assert_in_range(sim_net_counts(play->net)->requests, 3, 30);
    world_allow_all(play->world);
    run(play, 15 * CLOCK_SECOND);
    assert_int_equal(held(play, 0), 1);
    assert_string_equal(election_state(play->replicas[0].election)->problem, "");
}

// Replica 1 joins; returns when replica 0 began to give up the shards that are in `given`.
static int64_t join_second(struct play *play, bool given[SHARDS_MAX]) {
    start(play, 1);
    int64_t began_ns = 0;
    for (int i = 0; i < 3000 && began_ns == 0; i++) {
        run(play, 10 * CLOCK_MS);
        for (uint32_t s = 0; s < play->shards; s++)
            if (atomic_load(&play->replicas[0].shards[s].draining))
                began_ns = play->now_ns;
    }
    assert_true(began_ns > 0);
    for (uint32_t s = 0; s < play->shards; s++)
        given[s] = atomic_load(&play->replicas[0].shards[s].draining);
    return began_ns;
}

static int64_t until_written_by(struct play *play, size_t index, uint32_t shard) {
    int64_t until_ns = play->now_ns + CLOCK_MINUTE;
    while (!writes(play, index, shard) && play->now_ns < until_ns)
        run(play, 10 * CLOCK_MS);
    return play->now_ns;
}

static void a_shard_is_given_up_once_nothing_of_it_is_in_flight(void **state) {
    (void)state;
    static const struct {
        int64_t answered_ns, least_ns, most_ns; // answered: after the drain began; 0: nothing is in flight
        bool unknown;
    } cases[] = {
        {0, 0, 2 * CLOCK_SECOND, false},
        {2 * CLOCK_SECOND, 2 * CLOCK_SECOND, 7 * CLOCK_SECOND / 2, false},
        {60 * CLOCK_SECOND, 4 * CLOCK_SECOND, 6 * CLOCK_SECOND, false}, // 4 s at most, and until the other one looks
        {CLOCK_SECOND, 4 * CLOCK_SECOND, 6 * CLOCK_SECOND, true},       // it may still take effect
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct play play;
        bool given[SHARDS_MAX] = {false};
        begin(&play, 2);
        start(&play, 0);
        run(&play, 10 * CLOCK_SECOND);
        struct gate *gates = play.replicas[0].shards;
        for (uint32_t s = 0; s < play.shards && cases[c].answered_ns > 0; s++)
            gate_enter(&gates[s]);
        int64_t began_ns = join_second(&play, given);
        uint32_t shard = given[1];
        assert_true(given[shard] && !given[1 - shard]);
        assert_false(gate_admits(&gates[shard], play.now_ns));
        bool in_flight = cases[c].answered_ns > 0;
        assert_int_equal(gate_is_open(&gates[shard], play.now_ns), in_flight); // the answer is still waited for
        if (in_flight && cases[c].answered_ns < CLOCK_MINUTE) {
            run(&play, cases[c].answered_ns);
            gate_exit(&gates[shard], !cases[c].unknown);
        }
        int64_t taken_ns = until_written_by(&play, 1, shard) - began_ns;
        assert_in_range(taken_ns, cases[c].least_ns, cases[c].most_ns);
        assert_true(writes(&play, 0, 1 - shard));
        if (in_flight && cases[c].answered_ns == CLOCK_MINUTE)
            gate_exit(&gates[shard], true);
        kill_one(&play, 1);
        run(&play, 20 * CLOCK_SECOND); // it comes back, and is written for
        assert_true(writes(&play, 0, shard) && gate_admits(&gates[shard], play.now_ns));
        end(&play);
    }
}

// Whatever is in flight just then: a renewal, a list, both.
static void a_slow_connection_does_not_keep_the_lease_from_being_given_back(void **state) {
    (void)state;
    for (int i = 0; i < 25; i++) {
        struct play play;
        begin(&play, 1);
        struct sim_faults faults = {.latency_min_ns = 400 * CLOCK_MS, .latency_max_ns = 410 * CLOCK_MS};
        sim_net_set_faults(play.net, &faults);
        start(&play, 0);
        run(&play, 10 * CLOCK_SECOND + i * 100 * CLOCK_MS);
        assert_int_equal(held(&play, 0), 1);
        int64_t left_ns = leave(&play, 0);
        assert_in_range(until_left(&play) - left_ns, 0, 18 * CLOCK_SECOND / 10); // two round trips
        const struct json *lease = world_object(play.world, "coordination.k8s.io", "leases", "wharf-system", "wharf");
        assert_string_equal(json_string_or(json_path(lease, "spec", "holderIdentity", NULL), ""), "");
        end(&play);
    }
}

static void an_answer_that_is_lost_while_leaving_is_followed_by_another_try(struct play *play) {
    sim_cluster_down(play->net, play->world, SIM_SILENT);
    run(play, 2 * CLOCK_SECOND); // a renewal is in flight, and will never be answered
    int64_t left_ns = leave(play, 0);
    run(play, CLOCK_SECOND / 2);
    sim_cluster_up(play->net, play->world);
    assert_in_range(until_left(play) - left_ns, CLOCK_SECOND, 5 * CLOCK_SECOND / 2);
}

static void what_is_in_flight_while_leaving_is_waited_for_a_second(struct play *play) {
    gate_enter(&play->replicas[0].shards[0]);
    int64_t left_ns = leave(play, 0);
    assert_int_equal(held(play, 0), 0); // which ends it
    assert_in_range(until_left(play) - left_ns, CLOCK_SECOND, 3 * CLOCK_SECOND / 2);
}

#define OBSERVER (-1) // one without election, instead of so many with it
#define TEST(name) #name, name

// So many hosts are started, and `first_ns` pass, before each.
static const struct test {
    const char *name;
    void (*check)(struct play *play);
    uint32_t shards;
    int hosts;
    int64_t first_ns;
} tests[] = {
    {TEST(the_others_take_over_within_two_seconds_after_the_lease_has_ended), 1, 3, CLOCK_MINUTE},
    {TEST(a_clean_stop_hands_over_at_once), 1, 2, 10 * CLOCK_SECOND},
    {TEST(the_holder_stops_before_another_may_begin_when_the_server_is_away_from_it), 1, 1, 10 * CLOCK_SECOND},
    {TEST(shards_are_shared_out_and_taken_over_and_given_up_for_one_that_joins), 8, 1, 10 * CLOCK_SECOND},
    {TEST(another_number_of_shards_takes_nothing_until_the_others_have_ended), 4, 1, 10 * CLOCK_SECOND},
    {TEST(of_two_numbers_of_shards_that_began_together_one_gives_up), 4, 0, 0},
    {TEST(a_server_that_does_not_answer_is_not_waited_for_in_a_loop), 1, 1, 10 * CLOCK_SECOND},
    {TEST(without_election_another_host_is_noticed_and_a_former_process_is_not), 1, OBSERVER, 10 * CLOCK_SECOND},
    {TEST(one_host_without_election_has_one_lease), 1, OBSERVER, CLOCK_MINUTE},
    {TEST(a_holder_with_election_notices_a_host_without_it), 1, 2, 10 * CLOCK_SECOND},
    {TEST(rights_that_lack_are_told), 1, 0, 0},
    {TEST(an_answer_that_is_lost_while_leaving_is_followed_by_another_try), 1, 1, 10 * CLOCK_SECOND},
    {TEST(what_is_in_flight_while_leaving_is_waited_for_a_second), 1, 1, 10 * CLOCK_SECOND},
};

static void run_case(void **state) {
    const struct test *test = *state;
    struct play play;
    begin(&play, test->shards);
    for (int i = 0; i < test->hosts; i++)
        start(&play, (size_t)i);
    if (test->hosts == OBSERVER)
        start_as(&play, 0, ELECTION_OBSERVE, 1);
    run(&play, test->first_ns);
    test->check(&play);
    end(&play);
}

int main(void) {
    struct CMUnitTest units[sizeof tests / sizeof *tests + 2] = {
        cmocka_unit_test(a_shard_is_given_up_once_nothing_of_it_is_in_flight),
        cmocka_unit_test(a_slow_connection_does_not_keep_the_lease_from_being_given_back),
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        units[2 + i] = (struct CMUnitTest){tests[i].name, run_case, NULL, NULL, (void *)&tests[i]};
    return cmocka_run_group_tests(units, NULL, NULL);
}
