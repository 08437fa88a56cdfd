// SPDX-License-Identifier: Apache-2.0
// The state machine of one Lease against a server with resourceVersions, a clock, and requests and answers that are
// lost.
#include "core/json/json.h"
#include "core/kube/api/lease.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DURATION_NS (15 * CLOCK_SECOND)
#define RENEW_NS (10 * CLOCK_SECOND)
#define RETRY_NS (2 * CLOCK_SECOND)
#define START_NS (1000 * CLOCK_SECOND)

struct server {
    struct json *lease; // NULL: it does not exist
    uint64_t version;
    unsigned writes;
};

static void set_version(struct server *server) {
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)++server->version);
    struct json *metadata = json_get(server->lease, "metadata");
    assert_true(json_set(metadata, "uid", json_new_string("u1")));
    assert_true(json_set(metadata, "resourceVersion", json_new_string(text)));
}

static void server_delete(struct server *server) {
    json_free(server->lease);
    server->lease = NULL;
}

static void merge_spec(struct json *into, const struct json *from) {
    for (const struct json *m = json_first(from); m; m = json_next(m))
        assert_true(json_set(into, json_key(m), json_copy(m)));
}

static struct response answer_of(const struct server *server) {
    struct object *object = NULL;
    assert_null(object_new(json_copy(server->lease), NULL, NULL, &object));
    return (struct response){.reason = REASON_OK, .object = object, .retry_after_ns = -1};
}

static struct response serve(struct server *server, const struct request *request) {
    struct json *body = NULL;
    if (request->body)
        assert_null(json_parse(request->body, request->body_len, &body));
    struct response response = {.retry_after_ns = -1};
    if (request->verb != VERB_CREATE && !server->lease) {
        response.reason = REASON_NOT_FOUND;
    } else if (request->verb == VERB_CREATE && server->lease) {
        response.reason = REASON_ALREADY_EXISTS;
    } else if (request->verb == VERB_CREATE) {
        server->lease = json_copy(body);
        set_version(server);
        server->writes++;
        response = answer_of(server);
    } else if (request->verb == VERB_GET) {
        response = answer_of(server);
    } else if (strcmp(object_version(body), object_version(server->lease)) != 0) {
        response.reason = REASON_CONFLICT;
    } else {
        merge_spec(json_get(server->lease, "spec"), json_get(body, "spec"));
        set_version(server);
        server->writes++;
        response = answer_of(server);
    }
    json_free(body);
    return response;
}

static struct moment at(int64_t ns) {
    return (struct moment){.mono_ns = ns, .wall_ns = INT64_C(1767225600) * CLOCK_SECOND + ns};
}

static struct lease make(const char *identity) {
    struct lease lease;
    lease_init(&lease, &(struct lease_options){.namespace_ = "wharf-system",
                                               .name = "wharf",
                                               .identity = identity,
                                               .label_key = "wharf.dev/election",
                                               .label_value = "wharf",
                                               .duration_ns = DURATION_NS,
                                               .renew_ns = RENEW_NS,
                                               .retry_ns = RETRY_NS,
                                               .seed = 7});
    return lease;
}

// Sends what is due, if anything, and answers it at once.
static enum lease_request step(struct lease *lease, struct server *server, int64_t now_ns) {
    struct request request;
    int64_t at_ns;
    enum lease_request type = lease_next(lease, at(now_ns), &request, &at_ns);
    if (type == LEASE_NONE)
        return type;
    lease_sent(lease, type, at(now_ns));
    struct response response = serve(server, &request);
    lease_answer(lease, &response, at(now_ns));
    response_clear(&response);
    return type;
}

static void run(struct lease *lease, struct server *server, int64_t from_ns, int64_t to_ns) {
    for (int64_t ns = from_ns; ns <= to_ns; ns += 50 * CLOCK_MS)
        while (step(lease, server, ns) != LEASE_NONE)
            continue;
}

static bool holds(const struct lease *lease, int64_t now_ns) {
    return now_ns < lease->until_ns;
}

static const char *spec_text(const struct server *server, const char *key) {
    return json_string_or(json_path(server->lease, "spec", key, NULL), "");
}

static void a_lease_that_does_not_exist_is_created_and_held_from_when_it_was_sent(void **state) {
    (void)state;
    struct server server = {0};
    struct lease a = make("a");
    lease_want(&a, true);
    assert_int_equal(step(&a, &server, START_NS), LEASE_GET);
    assert_int_equal(step(&a, &server, START_NS), LEASE_CREATE);
    assert_int_equal(a.until_ns, START_NS + RENEW_NS);
    assert_int_equal(a.term, 1);
    assert_string_equal(spec_text(&server, "holderIdentity"), "a");
    assert_string_equal(spec_text(&server, "renewTime"), "2026-01-01T00:16:40.000000Z");
    assert_int_equal(json_int64(json_path(server.lease, "spec", "leaseDurationSeconds", NULL), 0), 15);
    assert_string_equal(json_string(json_path(server.lease, "metadata", "labels", "wharf.dev/election", NULL)),
                        "wharf");
    run(&a, &server, START_NS, START_NS + 60 * CLOCK_SECOND);
    assert_true(a.until_ns >= START_NS + 60 * CLOCK_SECOND + RENEW_NS - RETRY_NS);
    assert_int_equal(a.term, 1);
    assert_in_range(server.writes, 28, 45);
    assert_string_equal(spec_text(&server, "acquireTime"), "2026-01-01T00:16:40.000000Z");
    server_delete(&server);
}

static void another_holder_is_waited_for_until_its_record_is_unchanged_for_its_duration(void **state) {
    (void)state;
    struct server server = {0};
    struct lease a = make("a"), b = make("b");
    lease_want(&a, true);
    lease_want(&b, true);
    for (int64_t ns = START_NS; ns < START_NS + 30 * CLOCK_SECOND; ns += 50 * CLOCK_MS) {
        run(&a, &server, ns, ns);
        run(&b, &server, ns, ns);
        assert_false(holds(&b, ns));
    }
    int64_t ended_ns = START_NS + 30 * CLOCK_SECOND, last_ns = a.until_ns - RENEW_NS;
    unsigned before = server.writes;
    assert_true(lease_is_others(&b, at(ended_ns)));
    run(&b, &server, ended_ns, last_ns + DURATION_NS - 1);
    assert_int_equal(server.writes, before);
    run(&b, &server, last_ns + DURATION_NS, last_ns + DURATION_NS + 3 * CLOCK_SECOND / 2);
    assert_true(holds(&b, last_ns + DURATION_NS + 3 * CLOCK_SECOND / 2));
    assert_string_equal(spec_text(&server, "holderIdentity"), "b");
    assert_int_equal(json_int64(json_path(server.lease, "spec", "leaseTransitions", NULL), 0), 1);
    run(&a, &server, last_ns + DURATION_NS + 3 * CLOCK_SECOND / 2, last_ns + DURATION_NS + 2 * CLOCK_SECOND);
    assert_int_equal(a.until_ns, 0);
    assert_false(a.mine);
    server_delete(&server);
}

static void a_renewal_whose_answer_is_lost_counts_from_when_it_was_sent(void **state) {
    (void)state;
    struct server server = {0};
    struct lease a = make("a");
    lease_want(&a, true);
    run(&a, &server, START_NS, START_NS);
    struct request request;
    int64_t at_ns, later_ns = START_NS + 3 * CLOCK_SECOND;
    assert_int_equal(lease_next(&a, at(later_ns), &request, &at_ns), LEASE_PATCH);
    lease_sent(&a, LEASE_PATCH, at(later_ns));
    struct response lost = serve(&server, &request);
    response_clear(&lost);
    lease_answer(&a, NULL, at(later_ns + 5 * CLOCK_SECOND));
    assert_int_equal(a.until_ns, START_NS + RENEW_NS);
    assert_string_equal(a.problem, "no answer in time");
    assert_int_equal(step(&a, &server, later_ns + 6 * CLOCK_SECOND), LEASE_GET);
    assert_int_equal(a.until_ns, later_ns + RENEW_NS);
    assert_int_equal(a.term, 1);
    server_delete(&server);
}

static void a_holder_that_slept_takes_up_its_term_only_if_nobody_took_the_lease(void **state) {
    (void)state;
    struct server server = {0};
    struct lease a = make("a"), b = make("b");
    lease_want(&a, true);
    run(&a, &server, START_NS, START_NS);
    int64_t woken_ns = START_NS + 100 * CLOCK_SECOND;
    assert_false(holds(&a, woken_ns));
    run(&a, &server, woken_ns, woken_ns);
    assert_true(holds(&a, woken_ns));
    assert_int_equal(a.term, 1);
    lease_want(&b, true);
    run(&b, &server, woken_ns + CLOCK_SECOND, woken_ns + 100 * CLOCK_SECOND);
    assert_true(holds(&b, woken_ns + 100 * CLOCK_SECOND));
    woken_ns += 100 * CLOCK_SECOND;
    run(&a, &server, woken_ns, woken_ns + CLOCK_SECOND);
    assert_false(holds(&a, woken_ns + CLOCK_SECOND));
    run(&a, &server, woken_ns + CLOCK_SECOND, woken_ns + 100 * CLOCK_SECOND);
    assert_true(holds(&a, woken_ns + 100 * CLOCK_SECOND));
    assert_int_equal(a.term, 2);
    server_delete(&server);
}

// The holder and the standby know versions that the restored cluster gives again.
static void a_process_that_slept_through_a_restore_reads_before_it_writes(void **state) {
    (void)state;
    for (unsigned holder = 0; holder < 2; holder++) {
        struct server server = {0};
        struct lease slept = make("a"), other = make("b");
        struct lease *first = holder ? &slept : &other;
        lease_want(&slept, true);
        lease_want(&other, true);
        run(first, &server, START_NS, START_NS);
        run(&slept, &server, START_NS, START_NS + CLOCK_SECOND);
        int64_t woken_ns = START_NS + 40 * CLOCK_SECOND;
        run(&other, &server, START_NS + CLOCK_SECOND, woken_ns);
        assert_true(holds(&other, woken_ns));
        server.version = strtoull(slept.record.version, NULL, 10) - 1;
        set_version(&server);
        run(&slept, &server, woken_ns, woken_ns + CLOCK_SECOND);
        assert_string_equal(spec_text(&server, "holderIdentity"), "b");
        assert_false(slept.mine);
        server_delete(&server);
    }
}

static void a_lease_that_is_deleted_is_waited_for_as_if_it_were_held(void **state) {
    (void)state;
    struct server server = {0};
    struct lease a = make("a"), b = make("b");
    lease_want(&a, true);
    lease_want(&b, true);
    run(&a, &server, START_NS, START_NS);
    run(&b, &server, START_NS, START_NS + CLOCK_SECOND);
    server_delete(&server);
    run(&b, &server, START_NS + CLOCK_SECOND, START_NS + 15 * CLOCK_SECOND);
    assert_null(server.lease);
    run(&b, &server, START_NS + 15 * CLOCK_SECOND, START_NS + 17 * CLOCK_SECOND);
    assert_true(holds(&b, START_NS + 17 * CLOCK_SECOND));
    server_delete(&server);
    run(&b, &server, START_NS + 17 * CLOCK_SECOND, START_NS + 20 * CLOCK_SECOND);
    assert_true(holds(&b, START_NS + 20 * CLOCK_SECOND));
    assert_int_equal(b.term, 2); // somebody else may have held it
    server_delete(&server);
}

// Somebody edited it; its holder goes on until it notices.
static void a_holder_without_a_duration_is_waited_for_for_ones_own(void **state) {
    (void)state;
    struct server server = {0};
    struct lease a = make("a"), b = make("b");
    lease_want(&a, true);
    run(&a, &server, START_NS, START_NS + CLOCK_SECOND);
    assert_true(json_set(json_get(server.lease, "spec"), "leaseDurationSeconds", json_new_null()));
    set_version(&server);
    lease_want(&b, true);
    run(&b, &server, START_NS + 2 * CLOCK_SECOND, START_NS + 16 * CLOCK_SECOND);
    assert_false(holds(&b, START_NS + 16 * CLOCK_SECOND));
    assert_true(lease_is_others(&b, at(START_NS + 16 * CLOCK_SECOND)));
    run(&b, &server, START_NS + 16 * CLOCK_SECOND, START_NS + 18 * CLOCK_SECOND);
    assert_true(holds(&b, START_NS + 18 * CLOCK_SECOND));
    server_delete(&server);
}

static void a_release_is_seen_by_the_other_within_a_second(void **state) {
    (void)state;
    struct server server = {0};
    struct lease a = make("a"), b = make("b");
    lease_want(&a, true);
    lease_want(&b, true);
    run(&a, &server, START_NS, START_NS);
    run(&b, &server, START_NS, START_NS + CLOCK_SECOND);
    lease_release(&a, at(START_NS + CLOCK_SECOND));
    assert_false(holds(&a, START_NS + CLOCK_SECOND));
    assert_int_equal(step(&a, &server, START_NS + CLOCK_SECOND), LEASE_PATCH);
    assert_string_equal(spec_text(&server, "holderIdentity"), "");
    assert_int_equal(json_int64(json_path(server.lease, "spec", "leaseDurationSeconds", NULL), 0), 1);
    assert_false(a.mine);
    run(&b, &server, START_NS + CLOCK_SECOND, START_NS + 2 * CLOCK_SECOND);
    assert_true(holds(&b, START_NS + 2 * CLOCK_SECOND));
    run(&a, &server, START_NS + 2 * CLOCK_SECOND, START_NS + 90 * CLOCK_SECOND);
    assert_false(a.mine); // it is not wanted
    server_delete(&server);
}

static void a_lease_that_was_taken_unnoticed_and_is_not_wanted_any_more_is_given_back(void **state) {
    (void)state;
    struct server server = {0};
    struct lease a = make("a");
    lease_want(&a, true);
    assert_int_equal(step(&a, &server, START_NS), LEASE_GET);
    struct request request;
    int64_t at_ns;
    assert_int_equal(lease_next(&a, at(START_NS), &request, &at_ns), LEASE_CREATE);
    lease_sent(&a, LEASE_CREATE, at(START_NS));
    struct response lost = serve(&server, &request);
    response_clear(&lost);
    lease_answer(&a, NULL, at(START_NS + CLOCK_SECOND));
    lease_release(&a, at(START_NS + CLOCK_SECOND)); // it does not know that it holds it
    run(&a, &server, START_NS + CLOCK_SECOND, START_NS + 3 * CLOCK_SECOND);
    assert_string_equal(spec_text(&server, "holderIdentity"), "");
    assert_int_equal(a.until_ns, 0);
    server_delete(&server);
}

static void a_list_that_is_older_than_a_write_says_nothing(void **state) {
    (void)state;
    struct server server = {0};
    struct lease a = make("a");
    lease_want(&a, true);
    run(&a, &server, START_NS, START_NS);
    lease_observe(&a, NULL, START_NS - 1, at(START_NS + CLOCK_MS));
    assert_true(holds(&a, START_NS + CLOCK_MS));
    lease_observe(&a, NULL, START_NS + 1, at(START_NS + CLOCK_MS));
    assert_false(holds(&a, START_NS + CLOCK_MS));
    server_delete(&server);
}

static void rejected_requests_are_repeated_slowly_and_the_reason_is_known(void **state) {
    (void)state;
    struct lease a = make("a");
    lease_want(&a, true);
    unsigned requests = 0;
    for (int64_t ns = START_NS; ns < START_NS + CLOCK_MINUTE; ns += 50 * CLOCK_MS) {
        struct request request;
        int64_t at_ns;
        enum lease_request type = lease_next(&a, at(ns), &request, &at_ns);
        if (type == LEASE_NONE)
            continue;
        requests++;
        char message[] = "leases is forbidden";
        lease_sent(&a, type, at(ns));
        lease_answer(&a, &(struct response){.reason = REASON_FORBIDDEN, .message = message}, at(ns));
    }
    assert_in_range(requests, 5, 9);
    assert_string_equal(a.problem, "leases is forbidden");
}

// Several processes whose requests and answers are lost, and that pause.
#define PROCESSES 3

struct process {
    struct lease lease;
    int64_t paused_ns; // until then
    enum lease_request type;
    struct request request;
    char body[1600];
    struct response response;
    int64_t arrives_ns, answer_ns;
    bool arrived, lost;
};

static void deliver(struct process *p, struct server *server, int64_t now_ns) {
    if (p->type == LEASE_NONE || p->arrived || now_ns < p->arrives_ns)
        return;
    p->arrived = true;
    p->response = serve(server, &p->request);
}

static void act(struct process *p, struct random *random, int64_t now_ns) {
    if (p->type != LEASE_NONE && now_ns >= p->answer_ns) {
        lease_answer(&p->lease, p->lost ? NULL : &p->response, at(now_ns));
        response_clear(&p->response);
        p->type = LEASE_NONE;
    }
    int64_t at_ns;
    enum lease_request type = lease_next(&p->lease, at(now_ns), &p->request, &at_ns);
    if (type == LEASE_NONE)
        return;
    lease_sent(&p->lease, type, at(now_ns));
    text_copy(p->body, sizeof p->body, p->request.body ? p->request.body : "");
    p->request.body = p->request.body ? p->body : NULL;
    p->type = type;
    p->arrived = false;
    p->response = (struct response){.retry_after_ns = -1};
    p->lost = random_below(random, 10) == 0;
    p->answer_ns = now_ns + (p->lost ? 5 * CLOCK_SECOND : (int64_t)random_below(random, 400) * CLOCK_MS);
    p->arrives_ns = now_ns + (p->answer_ns - now_ns) / 2;
}

static bool all_know_it(const struct process *processes) {
    bool all = true;
    for (size_t i = 0; i < PROCESSES; i++)
        all = all && processes[i].lease.exists;
    return all; // one that never knew of it would create it at once
}

static void nobody_else_holds_what_is_held(void **state) {
    (void)state;
    static const char *const names[PROCESSES] = {"a", "b", "c"};
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct random random = {.state = seed};
        struct server server = {0};
        struct process processes[PROCESSES] = {0};
        unsigned held = 0, steps = 0;
        for (size_t i = 0; i < PROCESSES; i++) {
            processes[i].lease = make(names[i]);
            processes[i].lease.random.state = seed * 3 + i;
            lease_want(&processes[i].lease, true);
        }
        for (int64_t ns = START_NS; ns < START_NS + 300 * CLOCK_SECOND; ns += 20 * CLOCK_MS, steps++) {
            if (random_below(&random, 5000) == 0 && server.lease && all_know_it(processes))
                server_delete(&server);
            unsigned holding = 0;
            for (size_t i = 0; i < PROCESSES; i++) {
                struct process *p = &processes[i];
                deliver(p, &server, ns);
                if (random_below(&random, 4000) == 0)
                    p->paused_ns = ns + (int64_t)random_below(&random, 40) * CLOCK_SECOND;
                if (ns >= p->paused_ns)
                    act(p, &random, ns);
                holding += holds(&p->lease, ns);
            }
            assert_in_range(holding, 0, 1);
            held += holding;
        }
        assert_true(held > steps / 2);
        for (size_t i = 0; i < PROCESSES; i++)
            if (processes[i].arrived)
                response_clear(&processes[i].response);
        server_delete(&server);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lease_that_does_not_exist_is_created_and_held_from_when_it_was_sent),
        cmocka_unit_test(another_holder_is_waited_for_until_its_record_is_unchanged_for_its_duration),
        cmocka_unit_test(a_renewal_whose_answer_is_lost_counts_from_when_it_was_sent),
        cmocka_unit_test(a_holder_that_slept_takes_up_its_term_only_if_nobody_took_the_lease),
        cmocka_unit_test(a_process_that_slept_through_a_restore_reads_before_it_writes),
        cmocka_unit_test(a_lease_that_is_deleted_is_waited_for_as_if_it_were_held),
        cmocka_unit_test(a_holder_without_a_duration_is_waited_for_for_ones_own),
        cmocka_unit_test(a_release_is_seen_by_the_other_within_a_second),
        cmocka_unit_test(a_lease_that_was_taken_unnoticed_and_is_not_wanted_any_more_is_given_back),
        cmocka_unit_test(a_list_that_is_older_than_a_write_says_nothing),
        cmocka_unit_test(rejected_requests_are_repeated_slowly_and_the_reason_is_known),
        cmocka_unit_test(nobody_else_holds_what_is_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
