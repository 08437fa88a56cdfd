// SPDX-License-Identifier: Apache-2.0
// The queueing model of an API server.
#include "tests/unit/world/helper.h"
#include "tests/world/service.h"

#define MS CLOCK_MS

static int64_t next(struct service *service, struct service_request *expected) {
    int64_t due = service_due(service);
    assert_ptr_equal(service_take(service, due), expected);
    return due;
}

static void requests_are_served_first_in_first_out_as_many_as_there_are_places(void **state) {
    (void)state;
    struct service service = {.cost = {.read_ns = 1 * MS, .write_ns = 10 * MS, .concurrency = 2}};
    struct service_request r[4];
    for (size_t i = 0; i < 4; i++)
        assert_true(service_enter(&service, &r[i], i != 1, 0));
    assert_int_equal(service.waiting, 2);
    assert_null(service_take(&service, 1 * MS - 1));
    assert_int_equal(next(&service, &r[1]), 1 * MS);  // a read; r[2] begins
    assert_int_equal(next(&service, &r[0]), 10 * MS); // r[3] begins
    assert_int_equal(next(&service, &r[2]), 11 * MS);
    assert_int_equal(next(&service, &r[3]), 20 * MS);
    assert_int_equal(service_due(&service), WORLD_NEVER);
    assert_int_equal(service.longest, 2);
}

static void a_place_is_given_on_at_the_moment_when_it_became_free(void **state) {
    (void)state;
    struct service service = {.cost = {.write_ns = 10 * MS, .concurrency = 1}};
    struct service_request r[3];
    for (size_t i = 0; i < 2; i++)
        assert_true(service_enter(&service, &r[i], true, 0));
    assert_ptr_equal(service_take(&service, 14 * MS), &r[0]); // late
    assert_int_equal(service_due(&service), 20 * MS);
    assert_true(service_enter(&service, &r[2], true, 23 * MS)); // before r[1] is taken
    assert_ptr_equal(service_take(&service, 24 * MS), &r[1]);
    assert_int_equal(service_due(&service), 33 * MS); // not before it came
}

static void one_that_waits_may_leave_and_one_that_runs_may_not(void **state) {
    (void)state;
    struct service service = {.cost = {.write_ns = 10 * MS, .concurrency = 1}};
    struct service_request r[4];
    for (size_t i = 0; i < 4; i++)
        assert_true(service_enter(&service, &r[i], true, 0));
    assert_false(service_leave(&service, &r[0]));
    assert_true(service_leave(&service, &r[2]));
    assert_true(service_leave(&service, &r[2])); // it has left
    assert_int_equal(next(&service, &r[0]), 10 * MS);
    assert_int_equal(next(&service, &r[1]), 20 * MS);
    assert_int_equal(next(&service, &r[3]), 30 * MS);
    assert_int_equal(service.waiting, 0);
}

static void a_queue_with_a_limit_refuses_what_is_more(void **state) {
    (void)state;
    struct service service = {.cost = {.write_ns = 10 * MS, .concurrency = 1, .queue = 1}};
    struct service_request r[3];
    assert_true(service_enter(&service, &r[0], true, 0));
    assert_true(service_enter(&service, &r[1], true, 0));
    assert_false(service_enter(&service, &r[2], true, 0));
    assert_true(service_leave(&service, &r[2]));
    service_stop(&service);
    assert_int_equal(service_due(&service), WORLD_NEVER);
    assert_true(service_leave(&service, &r[0]));
}

static void watches_and_health_checks_cost_nothing(void **state) {
    (void)state;
    static const struct {
        const char *method, *path;
        bool costs;
    } cases[] = {{"GET", JOBS, true},
                 {"POST", JOBS, true},
                 {"GET", JOBS "?watch=true", false},
                 {"GET", "/readyz", false},
                 {"GET", "/livez?verbose", false},
                 {"GET", "/version", true}};
    struct service none = {0}, some = {.cost = {.concurrency = 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world_request request = {.method = cases[i].method, .path = cases[i].path};
        assert_int_equal(service_costs(&some, &request), cases[i].costs);
        assert_false(service_costs(&none, &request));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_served_first_in_first_out_as_many_as_there_are_places),
        cmocka_unit_test(a_place_is_given_on_at_the_moment_when_it_became_free),
        cmocka_unit_test(one_that_waits_may_leave_and_one_that_runs_may_not),
        cmocka_unit_test(a_queue_with_a_limit_refuses_what_is_more),
        cmocka_unit_test(watches_and_health_checks_cost_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
