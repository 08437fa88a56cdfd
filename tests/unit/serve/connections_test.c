// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http/net.h"

#include "core/base/clock.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int come(struct connections *connections, int fd, const char *address, int64_t now_ns) {
    struct sockaddr_in from = {.sin_family = AF_INET};
    assert_int_equal(inet_pton(AF_INET, address, &from.sin_addr), 1);
    return connections_add(connections, fd, (const struct sockaddr *)&from, now_ns);
}

static void as_many_as_there_is_room_for_stay(void **state) {
    (void)state;
    struct connections connections = {.count = 0};
    for (int fd = 0; fd < (int)CONNECTIONS_OPEN_MAX; fd++)
        assert_int_equal(come(&connections, fd, "10.0.0.1", fd), -1);
    for (int fd = 0; fd < (int)CONNECTIONS_OPEN_MAX; fd++)
        connections_remove(&connections, fd);
    assert_int_equal(connections.count, 0);
}

static void whoever_has_most_loses_the_oldest(void **state) {
    (void)state;
    struct connections connections = {.count = 0};
    come(&connections, 100, "10.0.0.9", 0);
    for (int fd = 0; fd < (int)CONNECTIONS_OPEN_MAX - 1; fd++)
        come(&connections, fd, "10.0.0.1", fd + 1);
    connections_served(&connections, 0, 1000);
    assert_int_equal(come(&connections, 101, "10.0.0.8", 2000), 1);
    connections_remove(&connections, 1);
    assert_int_equal(come(&connections, 102, "10.0.0.1", 2001), 2);
}

static void those_that_leave_are_not_chosen_twice_and_take_no_others_place(void **state) {
    (void)state;
    struct connections connections = {.count = 0};
    for (int fd = 0; fd < (int)CONNECTIONS_OPEN_MAX; fd++)
        come(&connections, fd, "10.0.0.1", fd);
    for (int fd = 0; fd < (int)CONNECTIONS_OPEN_MAX; fd++)
        assert_int_equal(come(&connections, 100 + fd, "10.0.0.1", 100 + fd), fd);
    assert_int_equal(come(&connections, 200, "10.0.0.2", 200), 200); // nothing was closed meanwhile
    for (int fd = 0; fd < (int)CONNECTIONS_OPEN_MAX; fd++)
        connections_remove(&connections, fd);
    assert_int_equal(come(&connections, 200, "10.0.0.2", 200), 100);
}

static void a_request_that_takes_too_long_ends(void **state) {
    (void)state;
    struct connections connections = {.count = 0};
    come(&connections, 1, "10.0.0.1", 0);
    come(&connections, 2, "10.0.0.2", 0);
    connections_served(&connections, 2, 15 * CLOCK_SECOND);
    assert_int_equal(connections_expire(&connections, CONNECTION_TIMEOUT_S * CLOCK_SECOND), -1);
    assert_int_equal(connections_expire(&connections, CONNECTION_TIMEOUT_S * CLOCK_SECOND + 1), 1);
    assert_int_equal(connections_expire(&connections, CONNECTION_TIMEOUT_S * CLOCK_SECOND + 1), -1);
    assert_int_equal(connections_expire(&connections, 2 * CONNECTION_TIMEOUT_S * CLOCK_SECOND), 2);
}

static void streams_have_their_own_bound_and_take_no_place_of_others(void **state) {
    (void)state;
    struct connections connections = {.count = 0};
    int fd = 0;
    for (; fd < (int)CONNECTIONS_LASTING; fd++) {
        assert_int_equal(come(&connections, fd, "10.0.0.1", 0), -1);
        assert_true(connections_extend(&connections, fd, CONNECTION_LOGS));
    }
    assert_int_equal(come(&connections, fd, "10.0.0.1", 0), -1);
    assert_false(connections_extend(&connections, fd, CONNECTION_LOGS));
    assert_true(connections_extend(&connections, fd, CONNECTION_EXEC));
    for (int i = 0; i < (int)CONNECTIONS_OPEN_MAX; i++)
        assert_int_equal(come(&connections, 1000 + i, "10.0.0.1", i), -1);
    assert_int_equal(come(&connections, 2000, "10.0.0.1", 1000), 1000); // the oldest short one, no stream
    assert_int_equal(connections_expire(&connections, 3600 * CLOCK_SECOND), 1001);
    connections_served(&connections, 0, 5); // its connection is one like all others again
    assert_int_equal(come(&connections, 2001, "10.0.0.2", 1001), 1002);
    assert_true(connections_extend(&connections, 2001, CONNECTION_LOGS));
}

static void reviews_of_one_network_leave_places_for_others(void **state) {
    (void)state;
    struct connections connections = {.count = 0};
    int fd = 0;
    for (; fd < (int)CONNECTIONS_REVIEW / 2; fd++) {
        assert_int_equal(come(&connections, fd, "10.0.0.1", 0), -1);
        assert_true(connections_extend(&connections, fd, CONNECTION_REVIEW));
    }
    assert_int_equal(come(&connections, fd, "10.0.0.1", 0), -1);
    assert_false(connections_extend(&connections, fd, CONNECTION_REVIEW));
    assert_true(connections_extend(&connections, fd, CONNECTION_LOGS));
    assert_int_equal(come(&connections, ++fd, "10.0.0.2", 0), -1);
    assert_true(connections_extend(&connections, fd, CONNECTION_REVIEW));
    connections_served(&connections, 0, 1); // it takes the place of a short one again
    assert_int_equal(come(&connections, ++fd, "10.0.0.1", 0), -1);
    assert_true(connections_extend(&connections, fd, CONNECTION_REVIEW));
}

static void one_user_has_half_of_a_kind_at_most(void **state) {
    (void)state;
    struct connections connections = {.count = 0};
    int fd = 0;
    for (; fd < (int)CONNECTIONS_LASTING / 2; fd++) {
        come(&connections, fd, "10.0.0.1", 0);
        assert_true(connections_extend(&connections, fd, CONNECTION_WATCH));
        assert_true(connections_claim(&connections, fd, "jane"));
    }
    come(&connections, fd, "10.0.0.1", 0);
    assert_true(connections_extend(&connections, fd, CONNECTION_WATCH));
    assert_false(connections_claim(&connections, fd, "jane"));
    assert_true(connections_claim(&connections, fd, "joe"));
    come(&connections, ++fd, "10.0.0.1", 0);
    assert_true(connections_extend(&connections, fd, CONNECTION_LOGS));
    assert_true(connections_claim(&connections, fd, "jane")); // another kind
    connections_served(&connections, 0, 1);
    assert_true(connections_extend(&connections, 0, CONNECTION_WATCH));
    assert_true(connections_claim(&connections, 0, "jane"));
    assert_false(connections_claim(&connections, 1000, "jane"));
}

static void an_unknown_connection_does_not_become_a_stream(void **state) {
    (void)state;
    struct connections connections = {.count = 0};
    assert_false(connections_extend(&connections, 7, CONNECTION_WATCH));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_as_there_is_room_for_stay),
        cmocka_unit_test(whoever_has_most_loses_the_oldest),
        cmocka_unit_test(those_that_leave_are_not_chosen_twice_and_take_no_others_place),
        cmocka_unit_test(a_request_that_takes_too_long_ends),
        cmocka_unit_test(streams_have_their_own_bound_and_take_no_place_of_others),
        cmocka_unit_test(reviews_of_one_network_leave_places_for_others),
        cmocka_unit_test(one_user_has_half_of_a_kind_at_most),
        cmocka_unit_test(an_unknown_connection_does_not_become_a_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
