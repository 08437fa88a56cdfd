// SPDX-License-Identifier: Apache-2.0
// What one server may send: bodies within the request's bound and the budget of all, headers and trailers within
// theirs; and what is told when out of file descriptors.
#include "tests/unit/kube/net_world.h"

#include <fcntl.h>
#include <sys/resource.h>

static void all_bodies_share_the_budget_and_give_it_back(void **state) {
    struct world *world = *state;
    struct budget budget;
    budget_init(&budget, 0, 0, 0, NULL);
    curl_transport_limit(world->transport, &budget);
    assert_true(budget_take(&budget, budget.max_buffered - 25)); // room for one of the pages
    struct answer first, second;
    answer_init(&first, world);
    answer_init(&second, world);
    submit(&first, &(struct http_request){.path = "/chunks"});
    poll_until(world, atomic_load(&world->asked) == 1);
    for (int i = 0; i < 2; i++)
        sem_post(&world->gate);
    poll_until(world, budget.buffered == budget.max_buffered - 13);
    submit(&second, &(struct http_request){.path = "/large"});
    poll_until(world, second.done);
    assert_int_equal(second.outcome, HTTP_BROKEN);
    assert_non_null(strstr(second.problem, "exceed the memory budget"));
    sem_post(&world->gate);
    poll_until(world, first.done);
    assert_string_equal(text_of(&first.body), "chunk1chunk2chunk3");
    poll_until(world, budget.buffered == budget.max_buffered - 25);
    answer_free(&second);
    ask(&second, world, &(struct http_request){.path = "/large"});
    assert_int_equal(second.outcome, HTTP_ANSWERED);
    answer_free(&first);
    answer_free(&second);
    curl_transport_limit(world->transport, NULL);
}

static void headers_and_trailers_are_counted_together(void **state) {
    static const char *const paths[] = {"/long-head", "/long-trailers", "/many-interim"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct answer answer;
        ask(&answer, *state, &(struct http_request){.path = paths[i]});
        assert_int_equal(answer.outcome, HTTP_BROKEN);
        if (i > 0) // libcurl has a bound of its own for a head
            assert_non_null(strstr(answer.problem, "headers and trailers"));
        answer_free(&answer);
    }
}

static void without_file_descriptors_the_cause_is_told(void **state) {
    struct world *world = *state;
    struct rlimit before, none;
    struct answer answer;
    answer_init(&answer, world);
    int next = dup(0); // the lowest that is free
    assert_true(next >= 0);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){(rlim_t)next, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    submit(&answer, &(struct http_request){.path = "/ok"});
    poll_until(world, answer.done);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(answer.outcome, HTTP_REFUSED);
    assert_non_null(strstr(answer.problem, "out of file descriptors"));
    answer_free(&answer);
    ask(&answer, world, &(struct http_request){.path = "/ok"});
    assert_int_equal(answer.outcome, HTTP_ANSWERED);
    answer_free(&answer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        with_transport(all_bodies_share_the_budget_and_give_it_back),
        with_transport(headers_and_trailers_are_counted_together),
        with_transport(without_file_descriptors_the_cause_is_told),
    };
    return world_ready() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
