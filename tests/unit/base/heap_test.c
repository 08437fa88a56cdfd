// SPDX-License-Identifier: Apache-2.0
#include "core/base/clock.h"

#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define TIMERS 200

static void timers_come_out_in_the_order_of_their_time(void **state) {
    (void)state;
    struct heap heap;
    struct timer timers[TIMERS];
    struct random random = {1};
    heap_init(&heap);
    assert_null(heap_first(&heap));
    for (size_t i = 0; i < TIMERS; i++) {
        timer_init(&timers[i]);
        assert_true(heap_set(&heap, &timers[i], (int64_t)random_below(&random, 50)));
    }
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < TIMERS; i++) {
        struct timer *first = heap_first(&heap);
        assert_true(first->at_ns >= last);
        last = first->at_ns;
        heap_remove(&heap, first);
        assert_int_equal(first->place, HEAP_NOT_IN);
    }
    assert_null(heap_first(&heap));
    heap_free(&heap);
}

static int64_t earliest(const struct timer *timers) {
    int64_t at = INT64_MAX;
    for (size_t i = 0; i < TIMERS; i++)
        if (timers[i].place != HEAP_NOT_IN && timers[i].at_ns < at)
            at = timers[i].at_ns;
    return at;
}

static void setting_moving_and_removing_in_any_order_keeps_the_earliest_first(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct heap heap;
        struct timer timers[TIMERS];
        struct random random = {seed};
        heap_init(&heap);
        for (size_t i = 0; i < TIMERS; i++)
            timer_init(&timers[i]);
        for (int step = 0; step < 5000; step++) {
            struct timer *timer = &timers[random_below(&random, TIMERS)];
            if (random_below(&random, 3) == 0)
                heap_remove(&heap, timer);
            else
                assert_true(heap_set(&heap, timer, (int64_t)random_below(&random, 1000)));
            const struct timer *first = heap_first(&heap);
            assert_int_equal(first ? first->at_ns : INT64_MAX, earliest(timers));
        }
        heap_free(&heap);
        for (size_t i = 0; i < TIMERS; i++)
            assert_int_equal(timers[i].place, HEAP_NOT_IN);
    }
}

static void removing_what_is_not_in_changes_nothing(void **state) {
    (void)state;
    struct heap heap;
    struct timer in;
    struct timer out;
    heap_init(&heap);
    timer_init(&in);
    timer_init(&out);
    heap_remove(&heap, &out);
    assert_true(heap_set(&heap, &in, 5));
    heap_remove(&heap, &out);
    assert_ptr_equal(heap_first(&heap), &in);
    heap_free(&heap);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_come_out_in_the_order_of_their_time),
        cmocka_unit_test(setting_moving_and_removing_in_any_order_keeps_the_earliest_first),
        cmocka_unit_test(removing_what_is_not_in_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
