// SPDX-License-Identifier: Apache-2.0
#include "core/engine/store/throttle.h"

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

static void the_first_ones_are_free_and_each_further_one_waits_twice_as_long(void **state) {
    (void)state;
    struct throttle throttle = {0};
    int64_t now_ns = 5 * CLOCK_SECOND;
    assert_int_equal(throttle_next(&throttle, now_ns, 2), now_ns);
    assert_int_equal(throttle_next(&throttle, now_ns, 2), now_ns);
    assert_false(throttle_is_hot(&throttle, now_ns, 2));
    for (int64_t wait_ns = THROTTLE_FIRST_NS; wait_ns < THROTTLE_MAX_NS; wait_ns *= 2) {
        assert_int_equal(throttle_next(&throttle, now_ns, 2), now_ns + wait_ns);
        now_ns += wait_ns;
    }
    for (int i = 0; i < 40; i++)
        assert_int_equal(throttle_next(&throttle, now_ns, 2), now_ns + THROTTLE_MAX_NS);
    assert_true(throttle_is_hot(&throttle, now_ns, 2));
}

static void after_a_rest_it_begins_again(void **state) {
    (void)state;
    struct throttle throttle = {0};
    for (int i = 0; i < 5; i++)
        throttle_next(&throttle, 0, 0);
    int64_t now_ns = throttle.at_ns + THROTTLE_REST_NS;
    assert_false(throttle_is_hot(&throttle, now_ns, 0));
    assert_int_equal(throttle_next(&throttle, now_ns, 0), now_ns + THROTTLE_FIRST_NS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_ones_are_free_and_each_further_one_waits_twice_as_long),
        cmocka_unit_test(after_a_rest_it_begins_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
