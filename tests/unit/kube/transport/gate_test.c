// SPDX-License-Identifier: Apache-2.0
// Requests that need a lease: at the client, in flight, and at the connection.
#include "core/kube/api/events.h"
#include "core/kube/client/client.h"
#include "tests/unit/kube/fake_transport.h"
#include "tests/unit/kube/net_world.h"

#define CREATE(g)                                                                                                      \
    ((struct request){.verb = VERB_CREATE,                                                                             \
                      .resource = {"batch", "v1", "jobs", false},                                                      \
                      .namespace_ = "n",                                                                               \
                      .body = "{}",                                                                                    \
                      .body_len = 2,                                                                                   \
                      .gate = (g)})

struct fixture {
    struct fake_transport fake;
    struct client *client;
    size_t answers;
    enum reason last;
};

static void on_answer(void *ctx, struct response *response) {
    struct fixture *fixture = ctx;
    fixture->answers++;
    fixture->last = response->reason;
}

static void begin(struct fixture *fixture) {
    *fixture = (struct fixture){0};
    fake_init(&fixture->fake);
    struct client_options options = {.cluster = "w1", .transport = &fixture->fake.base};
    assert_null(client_new(&options, &fixture->client));
}

static void end(struct fixture *fixture) {
    client_free(fixture->client);
    fake_free(&fixture->fake);
}

static void send_one(struct fixture *fixture, const struct request *request) {
    assert_null(client_submit(fixture->client, request, on_answer, fixture, NULL));
}

static struct moment at(int64_t mono_ns) {
    return (struct moment){.mono_ns = mono_ns};
}

static void a_closed_gate_lets_nothing_out_and_delays_nothing_else(void **state) {
    (void)state;
    struct fixture fixture;
    struct gate gate = {.until_ns = 100};
    begin(&fixture);
    send_one(&fixture, &CREATE(&gate));
    send_one(&fixture, &CREATE(NULL));
    client_tick(fixture.client, at(100));
    assert_int_equal(fixture.fake.count, 1);
    assert_int_equal(fixture.answers, 1);
    assert_int_equal(fixture.last, REASON_NOT_SENT);
    end(&fixture);
}

static void a_request_in_flight_ends_with_the_lease_and_its_outcome_is_unknown(void **state) {
    (void)state;
    struct fixture fixture;
    struct gate gate = {.until_ns = 100};
    begin(&fixture);
    send_one(&fixture, &CREATE(&gate));
    assert_int_equal(client_tick(fixture.client, at(50)), 100);
    atomic_store(&gate.until_ns, 200); // renewed
    assert_int_equal(client_tick(fixture.client, at(100)), 200);
    assert_int_equal(fixture.answers, 0);
    assert_int_equal(client_tick(fixture.client, at(200)), CLOCK_NEVER);
    assert_int_equal(fixture.fake.cancelled, 1);
    assert_int_equal(fixture.last, REASON_UNKNOWN_OUTCOME);
    assert_int_equal(client_pending(fixture.client), 0);
    end(&fixture);
}

static void a_lease_that_is_given_up_before_its_time_ends_what_is_in_flight_within_a_second(void **state) {
    (void)state;
    struct fixture fixture;
    struct gate gate = {.until_ns = CLOCK_MINUTE};
    begin(&fixture);
    send_one(&fixture, &CREATE(&gate));
    int64_t next_ns = client_tick(fixture.client, at(0));
    assert_true(next_ns < CLOCK_SECOND);
    atomic_store(&gate.until_ns, 0);
    client_tick(fixture.client, at(next_ns));
    assert_int_equal(fixture.fake.cancelled, 1);
    assert_int_equal(fixture.last, REASON_UNKNOWN_OUTCOME);
    end(&fixture);
}

static void events_wait_for_the_lease(void **state) {
    (void)state;
    static const struct event event = {.api_version = "batch/v1",
                                       .kind = "Job",
                                       .namespace_ = "n",
                                       .name = "a",
                                       .uid = "u1",
                                       .reason = "Placed",
                                       .action = "Place",
                                       .note = "placed in w1"};
    struct fixture fixture;
    struct gate gate = {.until_ns = 0};
    begin(&fixture);
    struct recorder *recorder = NULL;
    assert_null(recorder_new(fixture.client, "wharf.dev/host", "host-1", 7, &recorder));
    recorder_gate(recorder, &gate);
    recorder_event(recorder, at(0), &event);
    for (int64_t ns = 0; ns < 30 * CLOCK_SECOND; ns += CLOCK_SECOND) {
        recorder_tick(recorder, at(ns));
        client_tick(fixture.client, at(ns));
    }
    assert_int_equal(fixture.fake.count, 0);
    atomic_store(&gate.until_ns, CLOCK_MINUTE);
    for (int64_t ns = 30 * CLOCK_SECOND; ns < 45 * CLOCK_SECOND; ns += CLOCK_SECOND) {
        recorder_tick(recorder, at(ns));
        client_tick(fixture.client, at(ns));
    }
    assert_int_equal(fixture.fake.count, 1);
    recorder_free(recorder);
    end(&fixture);
}

// The process was stopped after it handed the request over, for longer than the lease.
static void a_connection_that_is_ready_too_late_sends_nothing(void **state) {
    struct world *world = *state;
    struct gate gate = {.until_ns = clock_now().mono_ns + CLOCK_MINUTE};
    struct answer in_time, late;
    ask(&in_time, world, &(struct http_request){.path = "/ok", .gate = &gate});
    assert_int_equal(in_time.outcome, HTTP_ANSWERED);
    assert_int_equal(atomic_load(&world->asked), 1);
    atomic_store(&gate.until_ns, clock_now().mono_ns);
    ask(&late, world, &(struct http_request){.path = "/ok", .gate = &gate});
    assert_int_equal(late.outcome, HTTP_REFUSED);
    assert_non_null(strstr(late.problem, "the lease has ended"));
    assert_int_equal(atomic_load(&world->asked), 1);
    answer_free(&in_time);
    answer_free(&late);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_closed_gate_lets_nothing_out_and_delays_nothing_else),
        cmocka_unit_test(a_request_in_flight_ends_with_the_lease_and_its_outcome_is_unknown),
        cmocka_unit_test(a_lease_that_is_given_up_before_its_time_ends_what_is_in_flight_within_a_second),
        cmocka_unit_test(events_wait_for_the_lease),
        with_transport(a_connection_that_is_ready_too_late_sends_nothing),
    };
    return world_ready() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
