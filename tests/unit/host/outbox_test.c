// SPDX-License-Identifier: Apache-2.0
#include "core/host/turn/turn.h"

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

#include <pthread.h>

#define NOW (1000 * CLOCK_SECOND)
#define MANY 500

struct desk {
    struct inbox *inbox;
    struct outbox outbox;
};

static void begin(struct desk *desk, size_t max_events) {
    assert_null(inbox_new(2, max_events, SIZE_MAX, &desk->inbox));
    outbox_init(&desk->outbox, desk->inbox);
}

static void end(struct desk *desk) {
    outbox_free(&desk->outbox);
    inbox_free(desk->inbox);
}

// Events are told apart by their kind.
static void put(struct desk *desk, size_t number, bool can_wait, int64_t now_ns) {
    outbox_put(&desk->outbox, &(struct engine_event){.type = EVENT_STATE, .kind = number}, can_wait, now_ns);
}

static bool is_posted(const struct desk *desk) {
    return inbox_waiting_since(desk->inbox) != CLOCK_NEVER;
}

// Takes events numbered from `next`; returns how many.
static size_t take(struct desk *desk, size_t next) {
    size_t count = 0;
    for (struct event_item *item = inbox_take(desk->inbox, CLOCK_NEVER), *following; item; item = following, count++) {
        following = item->next;
        assert_int_equal(item->event.kind, next + count);
        event_item_free(item);
    }
    return count;
}

static void what_comes_in_one_turn_is_posted_at_its_end(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk, 100);
    assert_int_equal(outbox_tick(&desk.outbox, NOW), CLOCK_NEVER);
    for (size_t i = 0; i < 5; i++)
        put(&desk, i, false, NOW);
    assert_false(is_posted(&desk));
    assert_int_equal(outbox_tick(&desk.outbox, NOW), CLOCK_NEVER);
    assert_int_equal(take(&desk, 0), 5);
    end(&desk);
}

static void what_can_wait_is_kept_for_a_while_or_goes_with_the_next(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk, 100);
    put(&desk, 0, true, NOW);
    put(&desk, 1, true, NOW + 5);
    assert_int_equal(outbox_tick(&desk.outbox, NOW + 9), NOW + OUTBOX_HELD_NS);
    assert_false(is_posted(&desk));
    put(&desk, 2, false, NOW + 10);
    assert_int_equal(outbox_tick(&desk.outbox, NOW + 10), CLOCK_NEVER);
    assert_int_equal(take(&desk, 0), 3);
    put(&desk, 3, true, NOW + 20);
    assert_int_equal(outbox_tick(&desk.outbox, NOW + 20 + OUTBOX_HELD_NS - 1), NOW + 20 + OUTBOX_HELD_NS);
    assert_false(is_posted(&desk));
    assert_int_equal(outbox_tick(&desk.outbox, NOW + 20 + OUTBOX_HELD_NS), CLOCK_NEVER);
    assert_int_equal(take(&desk, 3), 1);
    put(&desk, 4, true, NOW); // freed with the outbox
    end(&desk);
}

static void a_long_turn_does_not_keep_all_of_its_events(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk, 100);
    for (size_t i = 0; i < OUTBOX_EVENTS - 1; i++)
        put(&desk, i, i % 2, NOW);
    assert_false(is_posted(&desk));
    put(&desk, OUTBOX_EVENTS - 1, true, NOW);
    assert_true(is_posted(&desk));
    assert_int_equal(take(&desk, 0), OUTBOX_EVENTS);
    end(&desk);
}

static void *put_many(void *arg) {
    struct desk *desk = arg;
    for (size_t i = 0; i < MANY; i++)
        put(desk, i, false, NOW);
    (void)outbox_tick(&desk->outbox, NOW);
    return NULL;
}

// The engine sleeps whenever the inbox is empty: it must be woken for the part that fits, and for the rest.
static void more_than_the_inbox_has_room_for_is_posted_in_parts(void **state) {
    (void)state;
    struct desk desk;
    pthread_t thread;
    begin(&desk, 5);
    assert_int_equal(pthread_create(&thread, NULL, put_many, &desk), 0);
    for (size_t taken = 0; taken < MANY;) {
        size_t count = take(&desk, taken);
        assert_in_range(count, 1, 5);
        taken += count;
    }
    pthread_join(thread, NULL);
    end(&desk);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_in_one_turn_is_posted_at_its_end),
        cmocka_unit_test(what_can_wait_is_kept_for_a_while_or_goes_with_the_next),
        cmocka_unit_test(a_long_turn_does_not_keep_all_of_its_events),
        cmocka_unit_test(more_than_the_inbox_has_room_for_is_posted_in_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
