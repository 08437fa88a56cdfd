// SPDX-License-Identifier: Apache-2.0
// A proxy or a server that cuts watches again and again, though not at once.
#include "tests/unit/kube/reflector_harness.h"

static void live(struct harness *h, int64_t duration_ns) {
    assert_true(is_watch_at(h, "5"));
    open_stream(h);
    pass(h, duration_ns);
    end_stream(h);
}

static void watches_that_keep_breaking_are_opened_forty_seconds_apart(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    connect(&h);
    end_stream(&h);
    for (int i = 0; i < 2; i++) // the first ones at once
        live(&h, 10 * CLOCK_SECOND);
    for (int i = 0; i < 5; i++) {
        live(&h, 10 * CLOCK_SECOND);
        wait_it_out(&h, 30 * CLOCK_SECOND, 34 * CLOCK_SECOND);
    }
    expect(&h, ""); // it is not lost: it lags
    end(&h);
}

static void a_watch_that_lives_for_half_a_minute_is_opened_again_at_once(void **state) {
    (void)state;
    struct harness h;
    begin(&h);
    connect(&h);
    end_stream(&h);
    for (int i = 0; i < 20; i++)
        live(&h, 30 * CLOCK_SECOND);
    for (int i = 0; i < 20; i++)
        live(&h, (i % 3 == 0 ? 40 : 10) * CLOCK_SECOND);
    assert_true(is_watch_at(&h, "5"));
    expect(&h, "");
    end(&h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(watches_that_keep_breaking_are_opened_forty_seconds_apart),
        cmocka_unit_test(a_watch_that_lives_for_half_a_minute_is_opened_again_at_once),
    };
    log_setup(LOG_TEXT, LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
