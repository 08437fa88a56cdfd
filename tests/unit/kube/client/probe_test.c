// SPDX-License-Identifier: Apache-2.0
// A probe on a fake transport and virtual time; what it tells is written down as text: "GOOD;uid-1@5;".
#include "core/kube/client/client.h"

#include "core/base/text.h"
#include "tests/unit/kube/fake_transport.h"

#define KUBE_SYSTEM(uid, version)                                                                                      \
    "{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"kube-system\",\"uid\":\"" uid              \
    "\",\"resourceVersion\":\"" version "\"}}"
#define FORBIDDEN                                                                                                      \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":403,\"reason\":\"Forbidden\",\"message\":\"no\"}"

struct bench {
    struct fake_transport fake;
    struct probe *probe;
    struct buffer told;
    char problem[512];
    int64_t now_ns, next_ns, asked_ns, told_heard_ns;
};

static void told_identity(void *ctx, const char *uid, const char *version, const char *problem) {
    struct bench *b = ctx;
    text_copy(b->problem, sizeof b->problem, problem ? problem : "");
    assert_true((*uid == '\0') == !!problem);
    buffer_printf(&b->told, "%s@%s;", uid, version);
}

static void told_contact(void *ctx, enum contact contact, bool repeated, int64_t heard_ns, const char *problem) {
    static const char *const names[] = {"UNKNOWN", "GOOD", "SUSPECT", "LOST", "REJECTED"};
    struct bench *b = ctx;
    text_copy(b->problem, sizeof b->problem, problem ? problem : "");
    assert_true((contact == CONTACT_GOOD) == !problem);
    b->told_heard_ns = heard_ns;
    buffer_printf(&b->told, "%s%s;", names[contact], repeated ? " repeated" : "");
}

static void tick(struct bench *b) {
    size_t asked = b->fake.count;
    b->next_ns = probe_tick(b->probe, (struct moment){.mono_ns = b->now_ns});
    if (b->fake.count > asked)
        b->asked_ns = b->now_ns;
    assert_true(b->next_ns > b->now_ns);
}

static void begin(struct bench *b) {
    *b = (struct bench){.now_ns = 1000 * CLOCK_SECOND};
    fake_init(&b->fake);
    buffer_init(&b->told, 1 << 20);
    struct probe_handler handler = {told_identity, told_contact, b};
    assert_null(probe_new("w1", &b->fake.base, &handler, &b->probe));
    tick(b);
}

static void end(struct bench *b) {
    probe_free(b->probe);
    buffer_free(&b->told);
    fake_free(&b->fake);
}

static void expect(struct bench *b, const char *text) {
    assert_string_equal(b->told.data ? b->told.data : "", text);
    buffer_free(&b->told);
}

// Time passes as a loop lets it pass, with a tick whenever one is due; nobody answers.
static void pass(struct bench *b, int64_t duration_ns) {
    int64_t until_ns = b->now_ns + duration_ns;
    while (b->now_ns < until_ns) {
        int64_t at_ns = b->next_ns < until_ns ? b->next_ns : until_ns;
        at_ns = at_ns < b->now_ns + CLOCK_SECOND ? at_ns : b->now_ns + CLOCK_SECOND;
        b->now_ns = at_ns;
        if (fake_last(&b->fake)->live && at_ns - b->asked_ns >= PROBE_TIMEOUT_NS)
            fake_break(&b->fake, b->fake.count, 0);
        tick(b);
    }
}

static void answer(struct bench *b, int status, const char *body) {
    fake_answer(&b->fake, b->fake.count, status, body);
    tick(b);
}

static void connect(struct bench *b) {
    begin(b);
    answer(b, 200, KUBE_SYSTEM("uid-1", "5"));
    expect(b, "uid-1@5;GOOD;");
}

static void the_cluster_is_asked_at_the_start(void **state) {
    (void)state;
    struct bench b;
    begin(&b);
    assert_int_equal(b.fake.count, 1);
    assert_string_equal(fake_last(&b.fake)->request.path, "/api/v1/namespaces/kube-system");
    assert_int_equal(fake_last(&b.fake)->request.timeout_ns, PROBE_TIMEOUT_NS);
    answer(&b, 200, KUBE_SYSTEM("uid-1", "5"));
    expect(&b, "uid-1@5;GOOD;");
    end(&b);
}

// Of whoever else asks it nothing, these are all there are.
static void answers_count_as_recent_requests(void **state) {
    (void)state;
    struct bench b;
    struct meter meter = {0};
    begin(&b);
    probe_measure(b.probe, &meter);
    struct histogram recent;
    for (size_t answers = 1; answers <= 2; answers++) {
        answer(&b, 200, KUBE_SYSTEM("uid-1", "5"));
        meter_recent(&meter, clock_now().mono_ns, &recent);
        uint64_t count = 0;
        for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
            count += recent.buckets[i];
        assert_int_equal(count, answers);
        pass(&b, PROBE_SILENCE_NS);
    }
    fake_break(&b.fake, b.fake.count, 0); // no answer
    struct histogram after;
    meter_recent(&meter, clock_now().mono_ns, &after);
    assert_memory_equal(&after, &recent, sizeof after);
    end(&b);
}

static void a_server_that_does_not_let_us_read_it_answers(void **state) {
    (void)state;
    struct bench b;
    begin(&b);
    answer(&b, 403, FORBIDDEN);
    expect(&b, "@;GOOD;");
    end(&b);
}

static void an_answer_of_the_moment_says_nothing_and_it_is_asked_again(void **state) {
    (void)state;
    static const struct {
        int status;
        const char *body;
    } cases[] = {{500, ""}, {503, "no"}, {429, ""}, {200, "<html>"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench b;
        begin(&b);
        answer(&b, cases[i].status, cases[i].body);
        expect(&b, "GOOD;");
        pass(&b, 4 * CLOCK_SECOND);
        assert_int_equal(b.fake.count, 1);
        pass(&b, 2 * CLOCK_SECOND);
        assert_int_equal(b.fake.count, 2);
        answer(&b, 200, KUBE_SYSTEM("uid-1", "5"));
        expect(&b, "uid-1@5;");
        end(&b);
    }
}

static void credentials_are_read_again_once_after_a_401(void **state) {
    (void)state;
    struct bench b;
    begin(&b);
    b.fake.can_refresh = true;
    answer(&b, 401, "");
    assert_int_equal(b.fake.refreshes, 1);
    assert_int_equal(b.fake.count, 2);
    answer(&b, 401, "");
    assert_int_equal(b.fake.refreshes, 1);
    expect(&b, "GOOD;REJECTED;");
    end(&b);
}

// Its identity stays as it was: nothing is said about namespace kube-system.
static void a_server_that_rejects_the_credentials_is_asked_every_few_seconds(void **state) {
    (void)state;
    struct bench b;
    connect(&b);
    pass(&b, PROBE_SILENCE_NS);
    answer(&b, 401, "");
    expect(&b, "REJECTED;");
    assert_non_null(strstr(b.problem, "401"));
    for (int i = 0; i < 3; i++) {
        size_t asked = b.fake.count;
        for (int64_t waited_ns = 0; waited_ns < PROBE_ERROR_NS && b.fake.count == asked; waited_ns += CLOCK_SECOND) {
            probe_heard(b.probe); // its watches are open
            pass(&b, CLOCK_SECOND);
        }
        assert_int_equal(b.fake.count, asked + 1);
        answer(&b, 401, "");
    }
    pass(&b, PROBE_ERROR_NS);
    answer(&b, 200, KUBE_SYSTEM("uid-1", "6"));
    expect(&b, "uid-1@6;GOOD;");
    end(&b);
}

static void a_right_that_was_there_and_is_denied_rejects_the_host(void **state) {
    (void)state;
    struct bench b;
    connect(&b);
    pass(&b, PROBE_SILENCE_NS);
    answer(&b, 403, FORBIDDEN);
    expect(&b, "REJECTED;");
    assert_non_null(strstr(b.problem, "403"));
    pass(&b, PROBE_ERROR_NS);
    answer(&b, 200, KUBE_SYSTEM("uid-1", "6"));
    expect(&b, "uid-1@6;GOOD;");
    end(&b);
}

static void a_401_elsewhere_is_asked_about_at_once(void **state) {
    (void)state;
    struct bench b;
    connect(&b);
    pass(&b, 2 * CLOCK_SECOND);
    probe_ended(b.probe, &(struct http_result){.outcome = HTTP_ANSWERED, .status = 200});
    tick(&b);
    assert_int_equal(b.fake.count, 1);
    probe_ended(b.probe, &(struct http_result){.outcome = HTTP_ANSWERED, .status = 401});
    tick(&b);
    assert_int_equal(b.fake.count, 2);
    answer(&b, 401, "");
    expect(&b, "REJECTED;");
    end(&b);
}

static void it_asks_after_silence_and_not_while_bytes_come(void **state) {
    (void)state;
    struct bench b;
    connect(&b);
    for (int i = 0; i < 100; i++) {
        pass(&b, PROBE_SILENCE_NS / 2);
        probe_heard(b.probe);
        tick(&b);
    }
    assert_int_equal(b.fake.count, 1);
    pass(&b, PROBE_SILENCE_NS);
    assert_int_equal(b.fake.count, 2);
    answer(&b, 200, KUBE_SYSTEM("uid-1", "6"));
    expect(&b, "uid-1@6;");
    end(&b);
}

static void a_lost_connection_is_asked_about_and_not_in_a_hot_loop(void **state) {
    (void)state;
    struct bench b;
    connect(&b);
    for (int i = 0; i < 50; i++) {
        probe_disconnected(b.probe);
        tick(&b);
        if (fake_last(&b.fake)->live)
            answer(&b, 200, KUBE_SYSTEM("uid-2", "1"));
        pass(&b, 100 * CLOCK_MS);
    }
    assert_in_range(b.fake.count, 5, 8);
    end(&b);
}

static void a_server_that_never_answered_was_never_heard(void **state) {
    (void)state;
    struct bench b;
    begin(&b);
    assert_int_equal(probe_heard_ns(b.probe), 0);
    pass(&b, 2 * CLOCK_MINUTE);
    assert_non_null(strstr(b.told.data, "LOST;"));
    assert_int_equal(probe_heard_ns(b.probe), 0);
    answer(&b, 200, KUBE_SYSTEM("uid-1", "5"));
    assert_int_equal(probe_heard_ns(b.probe), b.now_ns);
    end(&b);
}

static void a_silent_server_is_suspect_and_then_lost_and_comes_back(void **state) {
    (void)state;
    struct bench b;
    connect(&b);
    int64_t heard_ns = b.now_ns;
    pass(&b, 17 * CLOCK_SECOND);
    expect(&b, "");
    pass(&b, 3 * CLOCK_SECOND);
    expect(&b, "SUSPECT;");
    assert_non_null(strstr(b.problem, "nothing received from the server for 18 s"));
    pass(&b, 25 * CLOCK_SECOND);
    expect(&b, "LOST;");
    assert_int_equal(b.told_heard_ns, heard_ns);
    size_t asked = b.fake.count;
    pass(&b, 10 * CLOCK_MINUTE);
    expect(&b, "");
    assert_in_range(b.fake.count - asked, 20, 70);
    if (!fake_last(&b.fake)->live)
        pass(&b, 2 * CLOCK_SECOND);
    answer(&b, 200, KUBE_SYSTEM("uid-1", "9"));
    expect(&b, "uid-1@9;GOOD;");
    end(&b);
}

static void a_request_that_ran_out_of_time_makes_it_ask(void **state) {
    (void)state;
    struct bench b;
    connect(&b);
    pass(&b, 5 * CLOCK_SECOND);
    probe_disconnected(b.probe);
    tick(&b);
    assert_int_equal(b.fake.count, 2);
    // Events come all the time, and the question is not answered.
    for (int i = 0; i < 5; i++) {
        pass(&b, 2 * CLOCK_SECOND);
        probe_heard(b.probe);
        tick(&b);
    }
    expect(&b, "SUSPECT;");
    for (int i = 0; i < 30; i++) {
        pass(&b, 2 * CLOCK_SECOND);
        probe_heard(b.probe);
        tick(&b);
    }
    expect(&b, "");
    if (!fake_last(&b.fake)->live)
        pass(&b, 2 * CLOCK_SECOND);
    answer(&b, 200, KUBE_SYSTEM("uid-1", "9"));
    expect(&b, "uid-1@9;GOOD;");
    end(&b);
}

static void a_refused_connection_is_tried_again_and_told_by_its_silence(void **state) {
    (void)state;
    struct bench b;
    begin(&b);
    for (int i = 0; i < 16; i++) {
        if (fake_last(&b.fake)->live)
            fake_refuse(&b.fake, b.fake.count);
        tick(&b);
        pass(&b, CLOCK_SECOND);
    }
    expect(&b, "");
    pass(&b, 3 * CLOCK_SECOND);
    expect(&b, "SUSPECT repeated;");
    assert_non_null(strstr(b.problem, "connection refused"));
    assert_in_range(b.fake.count, 10, 20);
    end(&b);
}

// As pass, and every probe is refused at once.
static void pass_refused(struct bench *b, int64_t duration_ns) {
    for (int64_t until_ns = b->now_ns + duration_ns; b->now_ns < until_ns;) {
        pass(b, CLOCK_SECOND);
        if (fake_last(&b->fake)->live)
            fake_refuse(&b->fake, b->fake.count);
        tick(b);
    }
}

static void a_server_that_begins_to_refuse_connections_is_suspect_at_once_then_lost_and_comes_back(void **state) {
    (void)state;
    struct bench b;
    connect(&b);
    int64_t heard_ns = b.now_ns;
    probe_disconnected(b.probe);
    pass_refused(&b, 2 * CLOCK_SECOND);
    expect(&b, "SUSPECT;");
    assert_non_null(strstr(b.problem, "connection refused"));
    pass_refused(&b, 36 * CLOCK_SECOND);
    expect(&b, "SUSPECT repeated;");
    pass_refused(&b, 4 * CLOCK_SECOND);
    expect(&b, "LOST;");
    assert_int_equal(b.told_heard_ns, heard_ns);
    pass(&b, 2 * CLOCK_SECOND);
    answer(&b, 200, KUBE_SYSTEM("uid-1", "9"));
    expect(&b, "uid-1@9;GOOD;");
    end(&b);
}

// Connections that are open go on, as those of a server that is being stopped, or behind a load balancer without a
// backend for new ones.
static void bytes_of_open_watches_do_not_make_up_for_refused_probes(void **state) {
    (void)state;
    struct bench b;
    connect(&b);
    pass(&b, 2 * CLOCK_SECOND);
    probe_disconnected(b.probe);
    tick(&b);
    for (int i = 0; i <= PROBE_EARLY_TRIES; i++) {
        if (fake_last(&b.fake)->live)
            fake_refuse(&b.fake, b.fake.count);
        probe_heard(b.probe);
        tick(&b);
        pass(&b, PROBE_EARLY_NS);
    }
    expect(&b, "SUSPECT;SUSPECT repeated;");
    for (int i = 0; i < 60; i++) { // never lost
        pass_refused(&b, CLOCK_SECOND);
        probe_heard(b.probe);
        tick(&b);
    }
    expect(&b, "");
    pass(&b, 2 * CLOCK_SECOND);
    answer(&b, 200, KUBE_SYSTEM("uid-1", "9"));
    expect(&b, "uid-1@9;GOOD;");
    end(&b);
}

// As an API server does that is stopped; its open watches go on.
static void a_server_that_closes_an_idle_connection_is_asked_once_a_minute(void **state) {
    (void)state;
    struct bench b;
    connect(&b);
    pass(&b, 2 * CLOCK_SECOND);
    assert_int_equal(b.fake.count, 1);
    for (int second = 0; second < 60; second++) {
        b.fake.base.closed(b.fake.base.closed_ctx);
        probe_heard(b.probe);
        tick(&b);
        if (fake_last(&b.fake)->live)
            answer(&b, 200, KUBE_SYSTEM("uid-1", "5"));
        pass(&b, CLOCK_SECOND);
        assert_int_equal(b.fake.count, 2);
    }
    b.fake.base.closed(b.fake.base.closed_ctx);
    tick(&b);
    assert_int_equal(b.fake.count, 3);
    end(&b);
}

static void time_in_which_we_did_not_run_is_no_silence(void **state) {
    (void)state;
    struct bench b;
    connect(&b);
    pass(&b, PROBE_SILENCE_NS);
    assert_int_equal(b.fake.count, 2);
    b.now_ns += 60 * CLOCK_MINUTE;
    tick(&b);
    expect(&b, "");
    answer(&b, 200, KUBE_SYSTEM("uid-1", "9"));
    expect(&b, "uid-1@9;");
    end(&b);
}

static void without_memory_it_asks_later(void **state) {
    (void)state;
    struct bench b;
    connect(&b);
    b.fake.out_of_memory = true;
    pass(&b, PROBE_SILENCE_NS + CLOCK_SECOND);
    assert_int_equal(b.fake.count, 1);
    b.fake.out_of_memory = false;
    pass(&b, 2 * CLOCK_SECOND);
    assert_int_equal(b.fake.count, 2);
    end(&b);
}

static void refuse_and_wait(struct bench *b, int64_t wait_ns) {
    fake_refuse(&b->fake, b->fake.count);
    size_t asked = b->fake.count;
    tick(b);
    assert_int_equal(b->fake.count, asked);
    pass(b, wait_ns - 1);
    assert_int_equal(b->fake.count, asked);
    pass(b, 1);
    assert_int_equal(b->fake.count, asked + 1);
}

// One of several API servers may have been restarted: a load balancer leads to another one.
static void a_refused_connection_is_tried_again_soon_three_times(void **state) {
    (void)state;
    struct bench b;
    connect(&b);
    for (int round = 0; round < 2; round++) {
        pass(&b, 2 * CLOCK_SECOND);
        probe_disconnected(b.probe);
        tick(&b);
        for (int i = 0; i < PROBE_EARLY_TRIES; i++)
            refuse_and_wait(&b, PROBE_EARLY_NS);
        expect(&b, "SUSPECT;");
        refuse_and_wait(&b, PROBE_AGAIN_NS);
        expect(&b, "SUSPECT repeated;");
        refuse_and_wait(&b, PROBE_AGAIN_NS);
        answer(&b, 200, KUBE_SYSTEM("uid-1", "5"));
        expect(&b, "uid-1@5;GOOD;");
    }
    end(&b);
}

// A connection that is reset just then, with the probe on it.
static void a_probe_whose_connection_breaks_is_sent_again_as_soon(void **state) {
    (void)state;
    struct bench b;
    connect(&b);
    pass(&b, 2 * CLOCK_SECOND);
    probe_disconnected(b.probe);
    tick(&b);
    size_t asked = b.fake.count;
    fake_break(&b.fake, asked, 0);
    tick(&b);
    expect(&b, "SUSPECT;");
    pass(&b, PROBE_EARLY_NS);
    assert_int_equal(b.fake.count, asked + 1);
    refuse_and_wait(&b, PROBE_EARLY_NS);
    answer(&b, 200, KUBE_SYSTEM("uid-1", "5"));
    expect(&b, "uid-1@5;GOOD;");
    end(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cluster_is_asked_at_the_start),
        cmocka_unit_test(answers_count_as_recent_requests),
        cmocka_unit_test(a_server_that_never_answered_was_never_heard),
        cmocka_unit_test(a_server_that_does_not_let_us_read_it_answers),
        cmocka_unit_test(an_answer_of_the_moment_says_nothing_and_it_is_asked_again),
        cmocka_unit_test(credentials_are_read_again_once_after_a_401),
        cmocka_unit_test(a_server_that_rejects_the_credentials_is_asked_every_few_seconds),
        cmocka_unit_test(a_right_that_was_there_and_is_denied_rejects_the_host),
        cmocka_unit_test(a_401_elsewhere_is_asked_about_at_once),
        cmocka_unit_test(it_asks_after_silence_and_not_while_bytes_come),
        cmocka_unit_test(a_lost_connection_is_asked_about_and_not_in_a_hot_loop),
        cmocka_unit_test(a_silent_server_is_suspect_and_then_lost_and_comes_back),
        cmocka_unit_test(a_request_that_ran_out_of_time_makes_it_ask),
        cmocka_unit_test(a_refused_connection_is_tried_again_and_told_by_its_silence),
        cmocka_unit_test(a_server_that_begins_to_refuse_connections_is_suspect_at_once_then_lost_and_comes_back),
        cmocka_unit_test(bytes_of_open_watches_do_not_make_up_for_refused_probes),
        cmocka_unit_test(a_server_that_closes_an_idle_connection_is_asked_once_a_minute),
        cmocka_unit_test(time_in_which_we_did_not_run_is_no_silence),
        cmocka_unit_test(without_memory_it_asks_later),
        cmocka_unit_test(a_refused_connection_is_tried_again_soon_three_times),
        cmocka_unit_test(a_probe_whose_connection_breaks_is_sent_again_as_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
