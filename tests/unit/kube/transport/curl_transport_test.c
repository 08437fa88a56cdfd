// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/kube/net_world.h"

static void answers_are_delivered_as_they_came(void **state) {
    static const struct {
        const char *path;
        int status;
        const char *body, *content_type, *warning;
        int64_t retry_after_ns;
    } cases[] = {
        {"/ok", 200, "{}", "application/json", "", -1},
        {"/none", 204, "", "", "", -1},
        {"/missing", 404, "missing", "", "", -1},
        {"/busy", 429, "", "", "", 7 * CLOCK_SECOND},
        {"/busy-date", 429, "", "", "", -1},
        {"/warned", 200, "", "", "a \"quoted\" word; two; three", -1},
        {"/gzip", 200, "hello", "", "", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct answer answer;
        ask(&answer, *state, &(struct http_request){.path = cases[i].path});
        assert_string_equal(answer.problem, "");
        assert_int_equal(answer.outcome, HTTP_ANSWERED);
        assert_int_equal(answer.status, cases[i].status);
        assert_string_equal(text_of(&answer.body), cases[i].body);
        assert_string_equal(answer.content_type, cases[i].content_type);
        assert_string_equal(answer.warning, cases[i].warning);
        assert_true(answer.retry_after_ns == cases[i].retry_after_ns);
        answer_free(&answer);
    }
}

static void a_redirect_is_an_answer_and_is_not_followed(void **state) {
    struct world *world = *state;
    struct answer answer;
    ask(&answer, world, &(struct http_request){.path = "/away"});
    assert_int_equal(answer.outcome, HTTP_ANSWERED);
    assert_int_equal(answer.status, 302);
    assert_string_equal(text_of(&answer.body), "away");
    assert_int_equal(atomic_load(&world->asked), 1);
    answer_free(&answer);
}

static void requests_say_what_they_were_given(void **state) {
    struct world *world = *state;
    world->endpoint.token = strdup("s3cret");
    world_connect(world);
    static const struct {
        struct http_request request;
        const char *first, *has, *has_not;
    } cases[] = {
        {{.path = "/echo?a=b"}, "GET /echo?a=b HTTP/1.1\r\n", "\r\nAccept: application/json\r\n", "Content-Type"},
        {{.path = "/a/../b"}, "GET /a/../b HTTP/1.1\r\n", "\r\nAccept-Encoding: gzip\r\n", "Expect"},
        {{.path = "/x", .accept = "text/css"}, "GET /x ", "\r\nAccept: text/css\r\n", "application/json"},
        {{.method = HTTP_POST, .path = "/x", .content_type = "application/json", .body = "{}", .body_len = 2},
         "POST /x ",
         "\r\nContent-Type: application/json\r\n",
         "Expect"},
        {{.method = HTTP_POST, .path = "/x"}, "POST /x ", "\r\nContent-Length: 0\r\n", "Content-Type"},
        {{.method = HTTP_PUT, .path = "/x", .body = "{\"a\":1}", .body_len = 7},
         "PUT /x ",
         "\r\n\r\n{\"a\":1}",
         "-Type"},
        {{.method = HTTP_PATCH,
          .path = "/x",
          .content_type = "application/merge-patch+json",
          .body = "[]",
          .body_len = 2},
         "PATCH /x ",
         "\r\nContent-Type: application/merge-patch+json\r\n",
         "Expect"},
        {{.method = HTTP_DELETE, .path = "/x"}, "DELETE /x ", "\r\nUser-Agent: wharf-test/1\r\n", "Content-"},
        {{.method = HTTP_DELETE, .path = "/x", .body = "{}", .body_len = 2},
         "DELETE /x ",
         "\r\nContent-Length: 2\r\n",
         "curl"},
        {{.path = "/x"}, "GET /x ", "\r\nAuthorization: Bearer s3cret\r\n", "Content-"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct answer answer;
        ask(&answer, world, &cases[i].request);
        const char *seen = text_of(&answer.body);
        assert_true(text_has_prefix(seen, cases[i].first));
        if (!strstr(seen, cases[i].has) || strstr(seen, cases[i].has_not))
            fail_msg("case %zu: the server saw\n%s", i, seen);
        answer_free(&answer);
    }
}

static void a_large_body_is_sent_whole(void **state) {
    struct world *world = *state;
    size_t len = 3 << 20;
    char *body = malloc(len);
    memset(body, 'x', len);
    struct answer answer;
    ask(&answer, world, &(struct http_request){.method = HTTP_POST, .path = "/busy", .body = body, .body_len = len});
    assert_int_equal(answer.outcome, HTTP_ANSWERED);
    assert_int_equal(answer.status, 429);
    answer_free(&answer);
    free(body);
}

static void compression_is_not_asked_for_in_streams_and_where_it_is_disabled(void **state) {
    struct world *world = *state;
    struct answer answer;
    world_connect(world);
    ask(&answer, world, &(struct http_request){.path = "/echo", .stream = true});
    assert_null(strstr(text_of(&answer.data), "Accept-Encoding"));
    answer_free(&answer);
    world->endpoint.disable_compression = true;
    ask(&answer, world, &(struct http_request){.path = "/echo"});
    assert_null(strstr(text_of(&answer.body), "Accept-Encoding"));
    answer_free(&answer);
}

static void one_connection_serves_many_requests(void **state) {
    struct world *world = *state;
    for (int i = 0; i < 50; i++) {
        struct answer answer;
        ask(&answer, world, &(struct http_request){.path = i % 2 ? "/ok" : "/missing"});
        assert_int_equal(answer.outcome, HTTP_ANSWERED);
        answer_free(&answer);
    }
    assert_int_equal(server_connections(world->server), 1);
}

static void a_connection_that_the_server_closed_is_replaced(void **state) {
    for (int i = 0; i < 5; i++) {
        struct answer answer;
        ask(&answer, *state, &(struct http_request){.path = "/once"});
        assert_int_equal(answer.outcome, HTTP_ANSWERED);
        answer_free(&answer);
    }
}

static void many_requests_at_once_are_all_answered(void **state) {
    enum { COUNT = 200 };
    struct world *world = *state;
    struct answer *answers = calloc(COUNT, sizeof *answers);
    size_t done = 0;
    for (int i = 0; i < COUNT; i++) {
        answer_init(&answers[i], world);
        submit(&answers[i], &(struct http_request){.path = i % 2 ? "/echo" : "/ok"});
    }
    for (int i = 0; i < COUNT; i++) {
        poll_until(world, answers[i].done);
        done += answers[i].outcome == HTTP_ANSWERED && answers[i].status == 200;
        answer_free(&answers[i]);
    }
    assert_int_equal(done, COUNT);
    free(answers);
}

static void a_stream_is_told_piece_by_piece(void **state) {
    struct world *world = *state;
    struct answer answer;
    answer_init(&answer, world);
    submit(&answer, &(struct http_request){.path = "/chunks", .stream = true});
    poll_until(world, answer.opened);
    assert_true(answer.opened_before_data);
    assert_int_equal(answer.data.len, 0);
    for (size_t i = 1; i <= 3; i++) {
        sem_post(&world->gate);
        poll_until(world, answer.data.len == i * 6);
    }
    poll_until(world, answer.done);
    assert_int_equal(answer.outcome, HTTP_ANSWERED);
    assert_int_equal(answer.status, 200);
    assert_string_equal(text_of(&answer.data), "chunk1chunk2chunk3");
    assert_string_equal(text_of(&answer.body), "");
    answer_free(&answer);
}

static void an_error_instead_of_a_stream_has_its_body(void **state) {
    struct answer answer;
    ask(&answer, *state, &(struct http_request){.path = "/missing", .stream = true});
    assert_int_equal(answer.outcome, HTTP_ANSWERED);
    assert_int_equal(answer.status, 404);
    assert_false(answer.opened);
    assert_int_equal(answer.data.len, 0);
    assert_string_equal(text_of(&answer.body), "missing");
    answer_free(&answer);
}

static void what_is_cut_off_is_broken_and_never_an_answer(void **state) {
    static const struct {
        const char *path;
        bool stream;
        int status;
    } cases[] = {
        {"/cut-length", false, 0},   {"/cut-chunk", false, 0}, {"/cut-between", false, 0}, {"/cut-head", false, 0},
        {"/garbage", false, 0},      {"/nothing", false, 0},   {"/cut-length", true, 200}, {"/cut-chunk", true, 200},
        {"/cut-between", true, 200}, {"/nothing", true, 0},    {"/cut-head", true, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct answer answer;
        ask(&answer, *state, &(struct http_request){.path = cases[i].path, .stream = cases[i].stream});
        if (answer.outcome != HTTP_BROKEN || answer.status != cases[i].status)
            fail_msg("%s: outcome %d, status %d: %s", cases[i].path, answer.outcome, answer.status, answer.problem);
        assert_non_null(strstr(answer.problem, "the request to https://127.0.0.1:"));
        answer_free(&answer);
    }
}

static void a_body_over_the_limit_ends_the_exchange(void **state) {
    static const struct {
        const char *path;
        size_t limit;
        bool stream;
        enum http_outcome outcome;
    } cases[] = {
        {"/large", 19, false, HTTP_BROKEN},      {"/large", 20, false, HTTP_ANSWERED},
        {"/gzip", 4, false, HTTP_BROKEN},        {"/gzip", 5, false, HTTP_ANSWERED},
        {"/large-error", 19, true, HTTP_BROKEN}, {"/large-error", 20, true, HTTP_ANSWERED},
        {"/large", 1, true, HTTP_ANSWERED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct answer answer;
        ask(&answer, *state,
            &(struct http_request){.path = cases[i].path, .max_body = cases[i].limit, .stream = cases[i].stream});
        assert_int_equal(answer.outcome, cases[i].outcome);
        if (cases[i].outcome == HTTP_BROKEN)
            assert_non_null(strstr(answer.problem, "is larger than"));
        answer_free(&answer);
    }
}

static void a_server_that_cannot_be_reached_was_not_asked(void **state) {
    struct world *world = *state;
    server_stop(world->server);
    world->server = NULL;
    world_connect(world);
    struct answer answer;
    ask(&answer, world, &(struct http_request){.method = HTTP_POST, .path = "/ok"});
    assert_int_equal(answer.outcome, HTTP_REFUSED);
    assert_non_null(strstr(answer.problem, "cannot connect to https://127.0.0.1:"));
    answer_free(&answer);
}

static void a_silent_stream_ends_as_stalled(void **state) {
    struct answer first, answer;
    ask(&first, *state, &(struct http_request){.path = "/ok"}); // so that the connection is there
    answer_free(&first);
    ask(&answer, *state, &(struct http_request){.path = "/silent", .stream = true, .stall_ns = 2 * CLOCK_SECOND});
    assert_int_equal(answer.outcome, HTTP_BROKEN);
    assert_int_equal(answer.status, 200);
    assert_true(answer.stalled);
    assert_string_equal(text_of(&answer.data), "hi");
    assert_non_null(strstr(answer.problem, "no data from https://127.0.0.1:"));
    assert_non_null(strstr(answer.problem, " for 2000 ms"));
    answer_free(&answer);
}

static void an_exchange_ends_at_its_time_limit(void **state) {
    struct answer first, answer;
    ask(&first, *state, &(struct http_request){.path = "/ok"}); // so that the connection is there
    ask(&answer, *state, &(struct http_request){.path = "/silent", .timeout_ns = CLOCK_SECOND});
    answer_free(&first);
    assert_int_equal(answer.outcome, HTTP_BROKEN);
    assert_false(answer.stalled);
    answer_free(&answer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        with_transport(answers_are_delivered_as_they_came),
        with_transport(a_redirect_is_an_answer_and_is_not_followed),
        with_world(requests_say_what_they_were_given),
        with_transport(a_large_body_is_sent_whole),
        with_world(compression_is_not_asked_for_in_streams_and_where_it_is_disabled),
        with_transport(one_connection_serves_many_requests),
        with_transport(a_connection_that_the_server_closed_is_replaced),
        with_transport(many_requests_at_once_are_all_answered),
        with_transport(a_stream_is_told_piece_by_piece),
        with_transport(an_error_instead_of_a_stream_has_its_body),
        with_transport(what_is_cut_off_is_broken_and_never_an_answer),
        with_transport(a_body_over_the_limit_ends_the_exchange),
        with_world(a_server_that_cannot_be_reached_was_not_asked),
        with_transport(a_silent_stream_ends_as_stalled),
        with_transport(an_exchange_ends_at_its_time_limit),
    };
    return world_ready() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
