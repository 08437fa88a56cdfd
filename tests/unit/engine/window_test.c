// SPDX-License-Identifier: Apache-2.0
// The window against simulated servers, on virtual time: what it settles at, and how fast.
#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/engine/request/command.h"

#include <stdlib.h>
#include <string.h>

// clang-format off
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

#define NEVER_QUEUES 128 // servers at work at once

// Serves `servers` requests at once, first come first served; its network takes `way_ns` there and back.
struct server {
    size_t servers;
    int64_t service_ns, way_ns;
    double jitter;   // a part of service_ns more or less, random
    size_t overload; // more in flight than that are answered with 429 at once; 0: none are
    struct sent_request {
        int64_t sent_ns, done_ns; // done_ns: at the client
        bool overloaded, other;   // other: another client's
    } flying[256];
    size_t n;
    int64_t free_ns[NEVER_QUEUES]; // when each of the servers is free
    struct random random;
};

struct bench {
    struct window window;
    struct server server;
    int64_t now_ns;
    size_t others; // how many requests other clients always have in flight
    uint64_t answered, overloaded, sent;
    double limit_sum;
    uint64_t limit_count;
    double least, most; // limit, since it was last reset
    int64_t waited_ns;  // in the server's queue and at work: sum
};

static void begin(struct bench *bench, size_t servers, int64_t service_ns) {
    *bench = (struct bench){.server = {.servers = servers, .service_ns = service_ns, .way_ns = CLOCK_MS / 2},
                            .now_ns = 7 * CLOCK_SECOND};
    bench->server.random.state = 5;
    window_init(&bench->window, 0, 0, 0, bench->now_ns);
}

// When a request that arrives now would be done; it takes its place.
static int64_t serve(struct server *server, int64_t now_ns) {
    int64_t *first = &server->free_ns[0];
    for (size_t i = 1; i < server->servers; i++)
        if (server->free_ns[i] < *first)
            first = &server->free_ns[i];
    int64_t service_ns = server->service_ns;
    if (server->jitter > 0)
        service_ns +=
            (int64_t)((double)service_ns * server->jitter * ((double)random_below(&server->random, 2001) / 1000 - 1));
    *first = (*first > now_ns ? *first : now_ns) + service_ns;
    return *first;
}

static void request_of(struct bench *bench, bool other) {
    struct server *server = &bench->server;
    assert_true(server->n < 256);
    struct sent_request *request = &server->flying[server->n++];
    *request = (struct sent_request){.sent_ns = bench->now_ns, .other = other};
    request->overloaded = server->overload && server->n > server->overload;
    request->done_ns = request->overloaded ? bench->now_ns + server->way_ns
                                           : serve(server, bench->now_ns + server->way_ns / 2) + server->way_ns / 2;
}

static void send(struct bench *bench) {
    request_of(bench, false);
    window_sent(&bench->window);
    bench->sent++;
}

static void fill(struct bench *bench) {
    while (window_has_room(&bench->window, bench->now_ns))
        send(bench);
    for (size_t others = bench->server.n - bench->window.in_flight; others < bench->others; others++)
        request_of(bench, true);
    bench->window.full = true;
    assert_true(bench->window.in_flight <= WINDOW_MAX);
}

static void note(struct bench *bench) {
    double limit = bench->window.limit;
    assert_true(limit >= 1 && limit <= WINDOW_MAX);
    bench->limit_sum += limit;
    bench->limit_count++;
    if (limit < bench->least || bench->limit_count == 1)
        bench->least = limit;
    if (limit > bench->most || bench->limit_count == 1)
        bench->most = limit;
}

// The next answer; false: none by then.
static bool answer(struct bench *bench, int64_t until_ns) {
    struct server *server = &bench->server;
    size_t first = 0;
    for (size_t i = 1; i < server->n; i++)
        if (server->flying[i].done_ns < server->flying[first].done_ns)
            first = i;
    if (server->n == 0 || server->flying[first].done_ns > until_ns)
        return false;
    struct sent_request request = server->flying[first];
    server->flying[first] = server->flying[--server->n];
    bench->now_ns = request.done_ns;
    if (request.other)
        return true;
    bench->waited_ns += request.done_ns - request.sent_ns;
    window_answered(&bench->window, WINDOW_WRITE, request.overloaded ? WINDOW_OVERLOADED : WINDOW_ANSWERED,
                    request.done_ns - request.sent_ns, bench->now_ns);
    bench->answered += !request.overloaded;
    bench->overloaded += request.overloaded;
    note(bench);
    return true;
}

// With more to send than the server can take.
static void saturate(struct bench *bench, int64_t ns) {
    int64_t until_ns = bench->now_ns + ns;
    bench->limit_count = bench->answered = bench->overloaded = bench->sent = 0;
    bench->limit_sum = 0;
    bench->waited_ns = 0;
    fill(bench);
    while (answer(bench, until_ns))
        fill(bench);
    bench->now_ns = until_ns;
}

static double mean(const struct bench *bench) {
    return bench->limit_sum / (double)bench->limit_count;
}

static struct bench *new_bench(size_t servers, int64_t service_ns) {
    struct bench *bench = calloc(1, sizeof *bench);
    assert_non_null(bench);
    begin(bench, servers, service_ns);
    return bench;
}

static void a_server_that_never_queues_gets_the_largest_window_at_once(void **state) {
    (void)state;
    struct bench *bench = new_bench(NEVER_QUEUES, 5 * CLOCK_MS);
    assert_int_equal((int)bench->window.limit, WINDOW_FLOOR);
    saturate(bench, 100 * CLOCK_MS);
    assert_int_equal((int)bench->window.limit, WINDOW_MAX);
    saturate(bench, 5 * CLOCK_MINUTE);
    assert_true(mean(bench) > WINDOW_MAX - 1);
    free(bench);
}

// Also for minutes without a pause: the host's own queue in the server is not taken for the server's slowness.
static void the_window_settles_below_twice_what_the_server_does_at_once_and_a_few(void **state) {
    (void)state;
    static const size_t servers[] = {1, 2, 4, 8, 16, 24};
    static const double jitters[] = {0, 0.1};
    for (size_t i = 0; i < sizeof servers / sizeof *servers; i++)
        for (size_t j = 0; j < 2; j++)
            for (int slow = 0; slow < 2; slow++) {
                size_t c = servers[i];
                int64_t service_ns = slow ? 200 * CLOCK_MS : 5 * CLOCK_MS;
                struct bench *bench = new_bench(c, service_ns);
                bench->server.jitter = jitters[j];
                saturate(bench, 20 * CLOCK_SECOND);
                for (int minute = 0; minute < 6; minute++) {
                    saturate(bench, CLOCK_MINUTE);
                    assert_true(mean(bench) > (double)c);
                    double largest = 2 * (double)c + 6 > WINDOW_FLOOR ? 2 * (double)c + 6 : WINDOW_FLOOR;
                    assert_true(bench->most <= largest);
                    // The server is not idle, and the requests do not wait there for long.
                    double most = (double)c * (double)CLOCK_MINUTE / (double)service_ns;
                    assert_true((double)bench->answered > 0.9 * most);
                    double taken_ns = (double)bench->waited_ns / (double)bench->answered;
                    assert_true(taken_ns < (double)service_ns * (largest + 1) / (double)c + (double)CLOCK_MS);
                }
                free(bench);
            }
}

// The more the latency varies by itself, the more looks like a queue: a smaller window, but no small one.
static void a_latency_that_varies_costs_some_of_the_window_but_not_most(void **state) {
    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        struct bench *bench = new_bench(16, slow ? 100 * CLOCK_MS : 5 * CLOCK_MS);
        bench->server.jitter = 0.5;
        saturate(bench, CLOCK_MINUTE);
        assert_in_range((int)mean(bench), 6, 16 + 6);
        free(bench);
    }
}

// Their server divides its time between them: a window of one would be no more than one of many.
static void what_other_users_load_leaves_the_floor(void **state) {
    (void)state;
    struct bench *bench = new_bench(16, 5 * CLOCK_MS);
    saturate(bench, 10 * CLOCK_SECOND);
    double before = mean(bench);
    assert_true(before > 16 && before < 32);
    bench->others = 128;
    saturate(bench, 2 * CLOCK_SECOND);
    for (int minute = 0; minute < 10; minute++) {
        saturate(bench, CLOCK_MINUTE);
        assert_true(bench->least >= WINDOW_FLOOR && mean(bench) < WINDOW_FLOOR + 1);
    }
    bench->others = 0;
    saturate(bench, 2 * CLOCK_SECOND);
    saturate(bench, 2 * CLOCK_SECOND);
    assert_true(mean(bench) > before - 2);
    free(bench);
}

// A request that waits for the server behind this host's own does not show how slow it is: one that finds nothing does.
static void a_server_that_has_become_slower_is_learned_while_nothing_waits(void **state) {
    (void)state;
    struct bench *bench = new_bench(16, 2 * CLOCK_MS);
    saturate(bench, 20 * CLOCK_SECOND);
    double before = mean(bench);
    bench->server.service_ns *= 10;
    saturate(bench, CLOCK_MINUTE);
    saturate(bench, CLOCK_MINUTE);
    assert_true(bench->least >= WINDOW_FLOOR && mean(bench) < before - 3);
    while (answer(bench, CLOCK_NEVER)) {
    }
    for (int i = 0; i < 1000; i++) {
        send(bench);
        assert_true(answer(bench, CLOCK_NEVER));
    }
    saturate(bench, 10 * CLOCK_SECOND);
    saturate(bench, CLOCK_MINUTE);
    assert_true(mean(bench) > before - 3 && mean(bench) < before + 3);
    bench->server.service_ns /= 10; // and quick again
    saturate(bench, 20 * CLOCK_SECOND);
    saturate(bench, 20 * CLOCK_SECOND);
    assert_true(mean(bench) > before - 3 && mean(bench) < before + 3);
    free(bench);
}

static void a_window_that_is_not_used_does_not_grow(void **state) {
    (void)state;
    struct bench *bench = new_bench(NEVER_QUEUES, 5 * CLOCK_MS);
    for (int i = 0; i < 10000; i++) {
        send(bench);
        assert_true(answer(bench, CLOCK_NEVER));
    }
    assert_int_equal((int)bench->window.limit, WINDOW_FLOOR);
    assert_int_equal(bench->window.in_flight, 0);
    free(bench);
}

static void answers(struct window *window, enum window_outcome outcome, unsigned count, int64_t round_trip_ns,
                    int64_t now_ns) {
    for (unsigned i = 0; i < count; i++)
        window_answered(window, WINDOW_WRITE, outcome, round_trip_ns, now_ns);
}

static struct window window_of(double limit, int64_t now_ns) {
    struct window window;
    window_init(&window, 0, 0, 0, now_ns);
    window.limit = limit;
    for (int i = 0; i < (int)limit; i++)
        window_sent(&window);
    return window;
}

static void an_overloaded_server_halves_the_window_once_a_round_trip(void **state) {
    (void)state;
    // All of a round fail, or some of them, in any order.
    for (unsigned some = 0; some < 4; some++) {
        int64_t now_ns = 5 * CLOCK_SECOND;
        struct window window = window_of(16, now_ns);
        for (int limit = 16; limit >= 1; limit /= 2) {
            assert_int_equal((int)window.limit, limit);
            for (int i = 0; i < limit; i++) {
                bool well = some && i % 4 < (int)some && i + 1 < limit;
                now_ns += CLOCK_MS / 10; // the answers come one after another
                answers(&window, well ? WINDOW_ANSWERED : WINDOW_OVERLOADED, 1, 10 * CLOCK_MS, now_ns);
            }
            assert_int_equal(window.in_flight, 0);
            now_ns += 10 * CLOCK_MS;
            for (int i = 0; i < (int)window.limit; i++)
                window_sent(&window);
            now_ns += 10 * CLOCK_MS;
        }
        assert_int_equal((int)window.limit, 1);
        answers(&window, WINDOW_OVERLOADED, 1, 10 * CLOCK_MS, now_ns += CLOCK_SECOND);
        assert_int_equal((int)window.limit, 1);
        // It grows again, a few at a time.
        for (int samples = 0; (int)window.limit < WINDOW_MAX; samples++) {
            assert_true(samples < 20);
            double limit = window.limit;
            unsigned n = limit < 4 ? 4 : (unsigned)limit;
            window.full = true;
            for (unsigned k = 0; k < n; k++)
                window_sent(&window);
            answers(&window, WINDOW_ANSWERED, n, 10 * CLOCK_MS, now_ns += 10 * CLOCK_MS);
            assert_true(window.limit > limit && window.limit < limit + 3);
        }
        assert_int_equal((int)window.limit, WINDOW_MAX);
    }
}

static void a_server_that_takes_no_more_than_some_is_seldom_overloaded(void **state) {
    (void)state;
    for (size_t most = 2; most < 20; most += 5) {
        struct bench *bench = new_bench(NEVER_QUEUES, 5 * CLOCK_MS);
        bench->server.overload = most;
        saturate(bench, 10 * CLOCK_SECOND);
        saturate(bench, CLOCK_MINUTE);
        assert_true(mean(bench) <= (double)most + 1 && mean(bench) > (double)most / 2);
        assert_true(bench->overloaded * 5 < bench->answered);
        free(bench);
    }
}

static void what_says_nothing_about_the_server_changes_nothing(void **state) {
    (void)state;
    static const struct {
        enum window_outcome outcome;
        int64_t round_trip_ns;
    } cases[] = {{WINDOW_NOT_HEARD, 0}, {WINDOW_NOT_HEARD, CLOCK_SECOND}, {WINDOW_ANSWERED, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct window window = window_of(8, CLOCK_SECOND);
        window.full = true;
        for (int round = 1; round < 100; round++) {
            answers(&window, cases[i].outcome, 8, cases[i].round_trip_ns, round * CLOCK_SECOND);
            assert_int_equal(window.in_flight, 0);
            for (int k = 0; k < 8; k++)
                window_sent(&window);
        }
        assert_true(window.limit > 7.99 && window.limit < 8.01);
        for (int v = 0; v < WINDOW_VERBS; v++)
            assert_int_equal(window.least_ns[v], 0);
    }
}

static void reads_and_writes_have_a_least_of_their_own(void **state) {
    (void)state;
    int64_t now_ns = CLOCK_SECOND;
    struct window window = window_of(4, now_ns);
    for (int round = 0; round < 40; round++) {
        window.full = true;
        for (int i = 0; i < 4; i++) {
            window_answered(&window, WINDOW_READ, WINDOW_ANSWERED, CLOCK_MS, now_ns += CLOCK_MS);
            window_answered(&window, WINDOW_WRITE, WINDOW_ANSWERED, 20 * CLOCK_MS, now_ns += CLOCK_MS);
            window_sent(&window);
            window_sent(&window);
        }
    }
    assert_int_equal((int)window.limit, WINDOW_MAX);
}

static void a_rate_limit_lets_a_burst_through_and_then_its_rate(void **state) {
    (void)state;
    struct window window;
    window_init(&window, 0, 10, 3, 0);
    for (int i = 0; i < 3; i++) {
        assert_true(window_has_room(&window, 0));
        window_sent(&window);
        answers(&window, WINDOW_ANSWERED, 1, 0, 0);
    }
    assert_false(window_has_room(&window, 0));
    int64_t next_ns = window_next_ns(&window, 0);
    assert_in_range(next_ns, 100 * CLOCK_MS, 101 * CLOCK_MS);
    assert_false(window_has_room(&window, next_ns - 2 * CLOCK_MS));
    assert_true(window_has_room(&window, next_ns));
    window_sent(&window);
    assert_false(window_has_room(&window, next_ns));
    assert_in_range(window_next_ns(&window, next_ns), 200 * CLOCK_MS, 202 * CLOCK_MS);
    // After a minute there is the burst, no more; Events beside the window take tokens too.
    window_charge(&window, 1);
    assert_true(window_has_room(&window, CLOCK_MINUTE));
    window_charge(&window, 2);
    assert_true(window_has_room(&window, CLOCK_MINUTE));
    window_sent(&window);
    assert_false(window_has_room(&window, CLOCK_MINUTE));
    window_charge(&window, 10);
    next_ns = window_next_ns(&window, CLOCK_MINUTE);
    assert_in_range(next_ns, CLOCK_MINUTE + 1100 * CLOCK_MS, CLOCK_MINUTE + 1101 * CLOCK_MS);
    assert_true(window_has_room(&window, next_ns));
    window_charge(&window, 1e6); // it is asked again within a minute
    assert_int_equal(window_next_ns(&window, next_ns), next_ns + CLOCK_MINUTE);
}

static void a_full_window_waits_for_an_answer_and_not_for_a_token(void **state) {
    (void)state;
    struct window window;
    window_init(&window, 0, 1000, 1000, 0);
    for (int i = 0; i < WINDOW_FLOOR; i++)
        window_sent(&window);
    assert_false(window_has_room(&window, 0));
    assert_int_equal(window_next_ns(&window, 0), CLOCK_NEVER);
    answers(&window, WINDOW_ANSWERED, 1, CLOCK_MS, CLOCK_MS);
    assert_true(window_has_room(&window, CLOCK_MS));
    window_init(&window, 0, 0.5, 0, 0); // the least burst is one
    assert_true(window_has_room(&window, 0));
    window_sent(&window);
    assert_false(window_has_room(&window, 0));
    assert_true(window_has_room(&window, 2 * CLOCK_SECOND));
}

static void whatever_is_answered_the_window_stays_in_its_bounds(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct random random = {seed * 991};
        struct window window;
        double qps = seed % 3 ? 0 : 50;
        int64_t now_ns = CLOCK_SECOND;
        uint32_t flying = 0;
        window_init(&window, 0, qps, 20, now_ns);
        for (int i = 0; i < 3000; i++) {
            uint64_t lot = random_below(&random, 10);
            now_ns += (int64_t)random_below(&random, seed % 5 ? 10 * CLOCK_MS : 10 * CLOCK_SECOND);
            bool room = window_has_room(&window, now_ns);
            assert_true(room || flying >= (uint32_t)window.limit || (qps > 0 && window.tokens < 1));
            if (!room && flying < (uint32_t)window.limit)
                assert_true(window_next_ns(&window, now_ns) > now_ns && window_next_ns(&window, now_ns) < CLOCK_NEVER);
            if (lot < 5 && (room || random_below(&random, 20) == 0)) { // a few cannot wait
                window_sent(&window);
                flying++;
            } else if (lot < 6) {
                window.full = true;
            } else if (flying > 0 || lot == 9) { // one too many, too
                window_answered(&window, (enum window_verb)random_below(&random, WINDOW_VERBS),
                                random_below(&random, 4) ? WINDOW_ANSWERED
                                                         : (enum window_outcome)random_below(&random, 3),
                                (int64_t)random_below(&random, 200 * CLOCK_MS), now_ns);
                flying -= flying > 0;
            }
            assert_int_equal(window.in_flight, flying);
            assert_true(window.limit >= 1 && window.limit <= WINDOW_MAX);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_that_never_queues_gets_the_largest_window_at_once),
        cmocka_unit_test(the_window_settles_below_twice_what_the_server_does_at_once_and_a_few),
        cmocka_unit_test(a_latency_that_varies_costs_some_of_the_window_but_not_most),
        cmocka_unit_test(what_other_users_load_leaves_the_floor),
        cmocka_unit_test(a_server_that_has_become_slower_is_learned_while_nothing_waits),
        cmocka_unit_test(a_window_that_is_not_used_does_not_grow),
        cmocka_unit_test(an_overloaded_server_halves_the_window_once_a_round_trip),
        cmocka_unit_test(a_server_that_takes_no_more_than_some_is_seldom_overloaded),
        cmocka_unit_test(what_says_nothing_about_the_server_changes_nothing),
        cmocka_unit_test(reads_and_writes_have_a_least_of_their_own),
        cmocka_unit_test(a_rate_limit_lets_a_burst_through_and_then_its_rate),
        cmocka_unit_test(a_full_window_waits_for_an_answer_and_not_for_a_token),
        cmocka_unit_test(whatever_is_answered_the_window_stays_in_its_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
