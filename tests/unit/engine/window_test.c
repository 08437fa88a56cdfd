// SPDX-License-Identifier: Apache-2.0
// The window against simulated servers, on virtual time: what it settles at, and how fast.
#include "core/engine/window.h"
#include "core/base/clock.h"
#include "core/base/text.h"

#include <stdlib.h>
#include <string.h>

// clang-format off
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

#define NEVER_QUEUES 1000 // servers at work at once
#define OTHERS 64

// Serves `servers` requests at once, first come first served; its network takes `way_ns` there and back.
struct server {
    size_t servers;
    int64_t service_ns, way_ns;
    double jitter;             // a part of service_ns more or less, random
    size_t overload;           // more in flight than that are answered with 429 at once; 0: none are
    struct request {
        int64_t sent_ns, done_ns; // done_ns: at the client
        bool overloaded, write;
    } flying[256];
    size_t n;
    int64_t free_ns[NEVER_QUEUES]; // when each of the servers is free
    struct random random;
};

struct bench {
    struct window window;
    struct server server;
    int64_t now_ns;
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
    window_init(&bench->window, 0, 0, bench->now_ns);
}

// When a request that arrives now would be done; it takes its place.
static int64_t serve(struct server *server, int64_t now_ns) {
    int64_t *first = &server->free_ns[0];
    for (size_t i = 1; i < server->servers; i++)
        if (server->free_ns[i] < *first)
            first = &server->free_ns[i];
    int64_t service_ns = server->service_ns;
    if (server->jitter > 0)
        service_ns += (int64_t)((double)service_ns * server->jitter *
                                ((double)random_below(&server->random, 2001) / 1000 - 1));
    *first = (*first > now_ns ? *first : now_ns) + service_ns;
    return *first;
}

static void send(struct bench *bench) {
    struct server *server = &bench->server;
    assert_true(server->n < 256);
    struct request *request = &server->flying[server->n++];
    *request = (struct request){.sent_ns = bench->now_ns};
    request->overloaded = server->overload && server->n > server->overload;
    request->done_ns = request->overloaded ? bench->now_ns + server->way_ns
                                           : serve(server, bench->now_ns + server->way_ns / 2) + server->way_ns / 2;
    window_sent(&bench->window);
    bench->sent++;
}

static void fill(struct bench *bench) {
    while (window_has_room(&bench->window, bench->now_ns))
        send(bench);
    window_was_full(&bench->window);
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
    struct request request = server->flying[first];
    server->flying[first] = server->flying[--server->n];
    bench->now_ns = request.done_ns;
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

#include <stdio.h>
static void explore(void **state) {
    (void)state;
    static const size_t servers[] = {1, 2, 4, 8, 16, 1000};
    for (size_t i = 0; i < 6; i++)
        for (int j = 0; j < 3; j++) {
            struct bench *bench = calloc(1, sizeof *bench);
            begin(bench, servers[i], (j == 2 ? 500 : 5) * CLOCK_MS);
            bench->server.jitter = j == 1 ? 0.5 : 0;
            printf("c=%zu j=%d:", servers[i], j);
            for (int t = 0; t < 12; t++) {
                saturate(bench, 10 * CLOCK_SECOND);
                printf(" %.1f(%.0f-%.0f)", mean(bench), bench->least, bench->most);
            }
            printf("\n");
            free(bench);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(explore),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
