// SPDX-License-Identifier: Apache-2.0
// The simulated network.
#include "tests/unit/world/helper.h"
#include "tests/world/sim_transport.h"

struct client {
    struct sim_net *net;
    struct transport *transport;
    struct fixture fixture;
    size_t done, opened, bytes, chunks;
    struct http_result last; // body not kept
    char body[512], stream[4096];
};

static bool take_opened(void *ctx) {
    struct client *client = ctx;
    client->opened++;
    return true;
}

static bool take_data(void *ctx, const char *bytes, size_t len) {
    struct client *client = ctx;
    for (size_t i = 0; i < len && client->bytes + i + 1 < sizeof client->stream; i++)
        client->stream[client->bytes + i] = bytes[i];
    client->bytes += len;
    client->chunks++;
    return true;
}

static void take_result(void *ctx, const struct http_result *result) {
    struct client *client = ctx;
    client->done++;
    client->last = *result;
    text_copy(client->body, sizeof client->body, result->body);
}

static void begin_client(struct client *client, const struct sim_faults *faults, uint64_t seed) {
    *client = (struct client){0};
    begin(&client->fixture, &(struct world_options){.no_controllers = true, .expired = WORLD_EXPIRED_HTTP});
    client->net = sim_net_new(seed, client->fixture.now_ns);
    sim_net_set_faults(client->net, faults);
    client->transport = sim_transport_new(client->net, client->fixture.cluster);
}

static void end_client(struct client *client) {
    if (client->transport)
        client->transport->ops->free(client->transport);
    sim_net_free(client->net);
    end(&client->fixture);
}

static void advance(struct client *client, int64_t by_ns) {
    int64_t until = client->fixture.now_ns + by_ns;
    for (;;) {
        int64_t net = sim_net_due(client->net), world = world_due(client->fixture.cluster);
        int64_t due = net < world ? net : world;
        if (due > until)
            break;
        if (due > client->fixture.now_ns)
            client->fixture.now_ns = due;
        world_step(client->fixture.cluster, client->fixture.now_ns);
        sim_net_advance(client->net, client->fixture.now_ns);
    }
    client->fixture.now_ns = until;
}

static uint64_t submit(struct client *client, enum http_method method, const char *path, const char *body,
                       bool stream) {
    struct http_request request = {.method = method,
                                   .path = path,
                                   .content_type = "application/json",
                                   .body = body,
                                   .body_len = body ? strlen(body) : 0,
                                   .stream = stream,
                                   .max_body = (size_t)1 << 20,
                                   .timeout_ns = (stream ? 600 : 10) * CLOCK_SECOND,
                                   .stall_ns = stream ? 180 * CLOCK_SECOND : 0};
    return client->transport->ops->submit(client->transport, &request,
                                          &(struct http_handler){take_opened, take_data, take_result, client});
}

static const char job_body[] = "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"template\":{\"spec\":" POD_SPEC "}}}";

static void an_answer_takes_the_latency_both_ways(void **state) {
    (void)state;
    struct client client;
    begin_client(&client, &(struct sim_faults){.latency_min_ns = 10 * CLOCK_MS, .latency_max_ns = 10 * CLOCK_MS}, 1);
    assert_int_not_equal(submit(&client, HTTP_POST, JOBS, job_body, false), 0);
    assert_int_equal(client.done, 0);
    advance(&client, 9 * CLOCK_MS);
    assert_null(job_of(&client.fixture, "a"));
    advance(&client, 2 * CLOCK_MS);
    assert_non_null(job_of(&client.fixture, "a"));
    assert_int_equal(client.done, 0);
    advance(&client, 10 * CLOCK_MS);
    assert_int_equal(client.done, 1);
    assert_int_equal(client.last.outcome, HTTP_ANSWERED);
    assert_int_equal(client.last.status, 201);
    end_client(&client);
}

struct fault_case {
    const char *name;
    struct sim_faults faults;
    enum http_outcome outcome;
    int status;   // with HTTP_ANSWERED
    int happened; // 1: the Job exists, 0: not, -1: either
    bool retry_after;
};

static void faults_are_what_they_are_called(void **state) {
    (void)state;
    static const struct fault_case cases[] = {
        {"refused", {.refused = 1000}, HTTP_REFUSED, 0, 0, false},
        {"lost request", {.lost_request = 1000}, HTTP_BROKEN, 0, 0, false},
        {"lost answer", {.lost_answer = 1000}, HTTP_BROKEN, 0, 1, false},
        {"too many", {.too_many = 1000}, HTTP_ANSWERED, 429, 0, true},
        {"server error", {.server_error = 1000}, HTTP_ANSWERED, 500, 0, false},
        {"server timeout", {.server_timeout = 1000}, HTTP_ANSWERED, 504, -1, true},
        {"unavailable", {.unavailable = 1000}, HTTP_ANSWERED, 503, 0, true},
        {"unauthorized", {.unauthorized = 1000}, HTTP_ANSWERED, 401, 0, false},
        {"garbage", {.garbage = 1000}, HTTP_ANSWERED, 200, 1, false},
        {"slow", {.slow = 1000, .slow_max_ns = 5 * CLOCK_SECOND}, HTTP_ANSWERED, 201, 1, false},
        {"too slow",
         {.latency_min_ns = 8 * CLOCK_SECOND, .latency_max_ns = 8 * CLOCK_SECOND},
         HTTP_BROKEN,
         0,
         1,
         false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct client client;
        print_message("%s\n", cases[i].name);
        begin_client(&client, &cases[i].faults, i);
        submit(&client, HTTP_POST, JOBS, job_body, false);
        advance(&client, 30 * CLOCK_SECOND);
        assert_int_equal(client.done, 1);
        assert_int_equal(client.last.outcome, cases[i].outcome);
        if (cases[i].outcome == HTTP_ANSWERED)
            assert_int_equal(client.last.status, cases[i].status);
        else
            assert_non_null(client.last.problem);
        if (cases[i].happened >= 0)
            assert_int_equal(!!job_of(&client.fixture, "a"), cases[i].happened);
        assert_int_equal(client.last.retry_after_ns > 0, cases[i].retry_after);
        end_client(&client);
    }
}

static void a_stream_brings_what_happens(void **state) {
    (void)state;
    struct client client;
    begin_client(&client, &(struct sim_faults){.latency_max_ns = CLOCK_MS, .split_stream = true}, 3);
    submit(&client, HTTP_GET, JOBS "?watch=true&timeoutSeconds=60", NULL, true);
    advance(&client, CLOCK_SECOND);
    assert_int_equal(client.opened, 1);
    assert_int_equal(client.bytes, 0);
    make_job(&client.fixture, "a", "", "");
    advance(&client, CLOCK_SECOND);
    assert_true(client.bytes > 0 && client.chunks > 1);
    client.stream[client.bytes < 4095 ? client.bytes : 4095] = '\0';
    struct json *frame = NULL;
    assert_null(json_parse(client.stream, client.bytes, &frame));
    assert_string_equal(text_at(frame, "/type"), "ADDED");
    json_free(frame);
    assert_int_equal(client.done, 0);
    advance(&client, 60 * CLOCK_SECOND);
    assert_int_equal(client.done, 1);
    assert_int_equal(client.last.outcome, HTTP_ANSWERED);
    assert_int_equal(client.last.status, 200);
    end_client(&client);
}

static void a_stream_that_is_refused_is_an_answer(void **state) {
    (void)state;
    struct client client;
    begin_client(&client, &(struct sim_faults){0}, 3);
    submit(&client, HTTP_GET, "/apis/batch/v1/jobs?watch=true&resourceVersion=1", NULL, true);
    world_compact(client.fixture.cluster);
    advance(&client, CLOCK_SECOND);
    assert_int_equal(client.last.status, 410);
    assert_non_null(strstr(client.body, "Expired"));
    end_client(&client);
}

static void streams_can_be_cut_and_can_fall_silent(void **state) {
    (void)state;
    struct client client;
    begin_client(&client, &(struct sim_faults){.cut_stream = 1000, .stream_max_ns = 10 * CLOCK_SECOND}, 3);
    submit(&client, HTTP_GET, JOBS "?watch=true", NULL, true);
    advance(&client, 11 * CLOCK_SECOND);
    assert_int_equal(client.done, 1);
    assert_int_equal(client.last.outcome, HTTP_BROKEN);
    assert_false(client.last.stalled);
    sim_net_set_faults(client.net, &(struct sim_faults){.silent_stream = 1000, .stream_max_ns = CLOCK_SECOND});
    submit(&client, HTTP_GET, JOBS "?watch=true", NULL, true);
    advance(&client, 2 * CLOCK_SECOND);
    make_job(&client.fixture, "a", "", "");
    advance(&client, 100 * CLOCK_SECOND);
    assert_int_equal(client.bytes, 0);
    assert_int_equal(client.done, 1);
    advance(&client, 100 * CLOCK_SECOND);
    assert_int_equal(client.done, 2);
    assert_true(client.last.stalled);
    end_client(&client);
}

static void a_cluster_can_be_down_in_two_ways(void **state) {
    (void)state;
    struct client client;
    begin_client(&client, &(struct sim_faults){0}, 3);
    submit(&client, HTTP_GET, JOBS "?watch=true", NULL, true);
    advance(&client, CLOCK_SECOND);
    sim_cluster_down(client.net, client.fixture.cluster, SIM_REFUSES);
    assert_false(sim_cluster_is_up(client.net, client.fixture.cluster));
    advance(&client, CLOCK_SECOND);
    assert_int_equal(client.done, 1);
    assert_int_equal(client.last.outcome, HTTP_BROKEN);
    submit(&client, HTTP_GET, JOBS, NULL, false);
    advance(&client, CLOCK_SECOND);
    assert_int_equal(client.last.outcome, HTTP_REFUSED);
    sim_cluster_up(client.net, client.fixture.cluster);
    submit(&client, HTTP_GET, JOBS, NULL, false);
    advance(&client, CLOCK_SECOND);
    assert_int_equal(client.last.outcome, HTTP_ANSWERED);
    sim_cluster_down(client.net, client.fixture.cluster, SIM_SILENT);
    submit(&client, HTTP_GET, JOBS, NULL, false);
    advance(&client, CLOCK_SECOND);
    assert_int_equal(client.done, 3);
    advance(&client, 20 * CLOCK_SECOND);
    assert_int_equal(client.done, 4);
    assert_int_equal(client.last.outcome, HTTP_REFUSED);
    end_client(&client);
}

static void what_was_sent_may_arrive_after_its_client_is_gone(void **state) {
    (void)state;
    size_t arrived = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct client client;
        begin_client(&client, &(struct sim_faults){.latency_min_ns = CLOCK_MS, .latency_max_ns = 2 * CLOCK_MS}, seed);
        submit(&client, HTTP_POST, JOBS, job_body, false);
        client.transport->ops->free(client.transport);
        client.transport = NULL;
        advance(&client, CLOCK_SECOND);
        assert_int_equal(client.done, 0);
        arrived += job_of(&client.fixture, "a") ? 1 : 0;
        end_client(&client);
    }
    assert_true(arrived > 0 && arrived < 20);
}

static void a_late_write_happens_after_it_was_given_up(void **state) {
    (void)state;
    size_t late = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct client client;
        begin_client(&client, &(struct sim_faults){.late_request = 1000, .late_max_ns = 30 * CLOCK_SECOND}, seed);
        submit(&client, HTTP_POST, JOBS, job_body, false);
        advance(&client, 11 * CLOCK_SECOND);
        assert_int_equal(client.done, 1);
        bool given_up = client.last.outcome == HTTP_BROKEN && !job_of(&client.fixture, "a");
        advance(&client, 30 * CLOCK_SECOND);
        assert_non_null(job_of(&client.fixture, "a"));
        late += given_up && sim_net_counts(client.net)->late_writes == 1;
        end_client(&client);
    }
    assert_true(late > 0);
}

static void cancelled_requests_call_nobody(void **state) {
    (void)state;
    struct client client;
    begin_client(&client, &(struct sim_faults){.latency_max_ns = CLOCK_MS}, 3);
    uint64_t get = submit(&client, HTTP_GET, JOBS, NULL, false);
    uint64_t watch = submit(&client, HTTP_GET, JOBS "?watch=true", NULL, true);
    client.transport->ops->cancel(client.transport, get);
    advance(&client, CLOCK_SECOND);
    client.transport->ops->cancel(client.transport, watch);
    client.transport->ops->cancel(client.transport, 999999);
    make_job(&client.fixture, "a", "", "");
    advance(&client, 1000 * CLOCK_SECOND);
    assert_int_equal(client.done, 0);
    assert_int_equal(client.bytes, 0);
    end_client(&client);
}

static void add_line(void *ctx, int64_t now_ns, const char *line) {
    struct buffer *trace = ctx;
    buffer_printf(trace, "%lld %s\n", (long long)now_ns, line);
}

static void the_same_seed_gives_the_same_trace(void **state) {
    (void)state;
    struct buffer traces[2];
    for (size_t i = 0; i < 2; i++) {
        struct client client;
        buffer_init(&traces[i], 1 << 20);
        begin_client(&client,
                     &(struct sim_faults){.latency_max_ns = CLOCK_SECOND,
                                          .lost_answer = 200,
                                          .too_many = 200,
                                          .cut_stream = 500,
                                          .stream_max_ns = CLOCK_SECOND,
                                          .split_stream = true},
                     77);
        sim_net_set_trace(client.net, add_line, &traces[i]);
        for (int j = 0; j < 50; j++) {
            submit(&client, HTTP_POST, JOBS, job_body, false);
            submit(&client, HTTP_GET, JOBS "?watch=true&timeoutSeconds=3", NULL, true);
            advance(&client, 100 * CLOCK_MS);
        }
        advance(&client, 100 * CLOCK_SECOND);
        assert_int_equal(client.done, 100);
        end_client(&client);
    }
    assert_string_equal(traces[0].data, traces[1].data);
    buffer_free(&traces[0]);
    buffer_free(&traces[1]);
}

static void requests_wait_for_a_server_that_takes_its_time(void **state) {
    (void)state;
    struct client client;
    begin_client(&client, &(struct sim_faults){0}, 3);
    sim_cluster_set_cost(
        client.net, client.fixture.cluster,
        &(struct service_cost){.read_ns = CLOCK_SECOND, .write_ns = 4 * CLOCK_SECOND, .concurrency = 1});
    submit(&client, HTTP_POST, JOBS, job_body, false);
    submit(&client, HTTP_GET, JOBS "/a", NULL, false);
    submit(&client, HTTP_GET, JOBS "?watch=true&timeoutSeconds=60", NULL, true); // does not wait
    advance(&client, 3 * CLOCK_SECOND);
    assert_int_equal(client.opened, 1);
    assert_null(job_of(&client.fixture, "a"));
    advance(&client, CLOCK_SECOND + CLOCK_MS);
    assert_int_equal(client.done, 1);
    assert_int_equal(client.last.status, 201);
    advance(&client, CLOCK_SECOND);
    assert_int_equal(client.done, 2);
    assert_int_equal(client.last.status, 200);
    assert_int_equal(sim_cluster_queue(client.net, client.fixture.cluster), 1);
    end_client(&client);
}

// The client's limit is ten seconds: what is being served then takes effect, what waits does not.
static void a_write_that_is_being_served_when_its_client_gives_up_takes_effect(void **state) {
    (void)state;
    static const char second[] = "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"template\":{\"spec\":" POD_SPEC "}}}";
    struct client client;
    begin_client(&client, &(struct sim_faults){0}, 3);
    sim_cluster_set_cost(client.net, client.fixture.cluster,
                         &(struct service_cost){.write_ns = 15 * CLOCK_SECOND, .concurrency = 1});
    submit(&client, HTTP_POST, JOBS, job_body, false);
    submit(&client, HTTP_POST, JOBS, second, false);
    advance(&client, 11 * CLOCK_SECOND);
    assert_int_equal(client.done, 2);
    assert_int_equal(client.last.outcome, HTTP_BROKEN);
    assert_null(job_of(&client.fixture, "a"));
    advance(&client, 60 * CLOCK_SECOND);
    assert_non_null(job_of(&client.fixture, "a"));
    assert_null(job_of(&client.fixture, "b"));
    assert_int_equal(sim_net_counts(client.net)->late_writes, 1);
    end_client(&client);
}

static void a_server_that_leaves_refuses_connections_and_keeps_its_watches(void **state) {
    (void)state;
    struct client client;
    begin_client(&client, &(struct sim_faults){0}, 3);
    submit(&client, HTTP_GET, JOBS "?watch=true", NULL, true);
    advance(&client, CLOCK_SECOND);
    sim_cluster_down(client.net, client.fixture.cluster, SIM_LEAVES);
    submit(&client, HTTP_GET, JOBS, NULL, false);
    advance(&client, CLOCK_SECOND);
    assert_int_equal(client.done, 1);
    assert_int_equal(client.last.outcome, HTTP_REFUSED);
    size_t before = client.bytes;
    make_job(&client.fixture, "a", "", "");
    advance(&client, CLOCK_SECOND);
    assert_true(client.bytes > before);
    assert_int_equal(client.done, 1);
    end_client(&client);
}

static void a_server_that_dies_loses_what_it_has_not_served(void **state) {
    (void)state;
    struct client client;
    begin_client(&client, &(struct sim_faults){0}, 3);
    sim_cluster_set_cost(client.net, client.fixture.cluster,
                         &(struct service_cost){.write_ns = 4 * CLOCK_SECOND, .concurrency = 1, .queue = 1});
    submit(&client, HTTP_POST, JOBS, job_body, false);
    submit(&client, HTTP_POST, JOBS, job_body, false);
    submit(&client, HTTP_POST, JOBS, job_body, false);
    advance(&client, CLOCK_SECOND);
    assert_int_equal(client.done, 1);
    assert_int_equal(client.last.status, 429);
    sim_cluster_down(client.net, client.fixture.cluster, SIM_REFUSES);
    advance(&client, CLOCK_SECOND);
    assert_int_equal(client.done, 3);
    assert_int_equal(client.last.outcome, HTTP_BROKEN);
    sim_cluster_up(client.net, client.fixture.cluster);
    advance(&client, 60 * CLOCK_SECOND);
    assert_null(job_of(&client.fixture, "a"));
    end_client(&client);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_takes_the_latency_both_ways),
        cmocka_unit_test(faults_are_what_they_are_called),
        cmocka_unit_test(a_stream_brings_what_happens),
        cmocka_unit_test(a_stream_that_is_refused_is_an_answer),
        cmocka_unit_test(streams_can_be_cut_and_can_fall_silent),
        cmocka_unit_test(a_cluster_can_be_down_in_two_ways),
        cmocka_unit_test(what_was_sent_may_arrive_after_its_client_is_gone),
        cmocka_unit_test(a_late_write_happens_after_it_was_given_up),
        cmocka_unit_test(requests_wait_for_a_server_that_takes_its_time),
        cmocka_unit_test(a_write_that_is_being_served_when_its_client_gives_up_takes_effect),
        cmocka_unit_test(a_server_that_leaves_refuses_connections_and_keeps_its_watches),
        cmocka_unit_test(a_server_that_dies_loses_what_it_has_not_served),
        cmocka_unit_test(cancelled_requests_call_nobody),
        cmocka_unit_test(the_same_seed_gives_the_same_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
