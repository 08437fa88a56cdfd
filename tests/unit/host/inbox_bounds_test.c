// SPDX-License-Identifier: Apache-2.0
// The bounds of the inbox: only a thread that posts too much waits.
#include "core/host/turn/turn.h"

#include "core/base/text.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct poster {
    struct inbox *inbox;
    pthread_t thread;
    size_t cluster, count, bytes; // events, and of what size
    bool answers;
    atomic_size_t posted;
};

static struct object *make_object(size_t bytes) {
    struct buffer text;
    buffer_init(&text, bytes + 4096);
    buffer_text(&text, "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"1\"},\"x\":\"");
    for (size_t i = 0; i < bytes; i++)
        buffer_char(&text, 'x');
    buffer_text(&text, "\"}");
    struct object *object = NULL;
    assert_null(object_parse(text.data, text.len, NULL, NULL, &object));
    buffer_free(&text);
    return object;
}

static void *run(void *arg) {
    struct poster *p = arg;
    for (size_t i = 0; i < p->count; i++) {
        struct response response = {.reason = REASON_OK, .retry_after_ns = -1, .cost = p->bytes};
        struct engine_event event = {.type = p->answers ? EVENT_ANSWER : EVENT_SEEN, .cluster = p->cluster};
        if (p->answers)
            event.answer.response = &response;
        else
            event.object = make_object(p->bytes);
        inbox_post(p->inbox, inbox_item(&event));
        atomic_fetch_add(&p->posted, 1);
    }
    return NULL;
}

static void start(struct poster *poster) {
    assert_int_equal(pthread_create(&poster->thread, NULL, run, poster), 0);
}

static size_t take_all(struct inbox *inbox, size_t *largest) {
    size_t count = 0, sums[2] = {0, 0};
    for (struct event_item *item = inbox_take(inbox, CLOCK_NEVER), *next; item; item = next, count++) {
        next = item->next;
        size_t *sum = &sums[item->event.cluster];
        *sum += item->event.type == EVENT_SEEN ? object_cost(item->event.object) : item->event.answer.response->cost;
        *largest = *sum > *largest ? *sum : *largest;
        event_item_free(item);
    }
    return count;
}

static void check(bool answers, size_t bytes, size_t max_events, size_t max_bytes, size_t most) {
    struct inbox *inbox = NULL;
    assert_null(inbox_new(2, max_events, max_bytes, &inbox));
    struct poster flood = {.inbox = inbox, .cluster = 0, .count = 200, .bytes = bytes, .answers = answers};
    struct poster other = {.inbox = inbox, .cluster = 1, .count = 1, .bytes = 10};
    start(&flood);
    while (atomic_load(&flood.posted) < (most < 200 ? most : 200))
        usleep(100);
    start(&other); // is accepted while the first one waits
    pthread_join(other.thread, NULL);
    usleep(1000);
    assert_true(atomic_load(&flood.posted) <= most);
    size_t taken = 0, largest = 0;
    while (taken < 201)
        taken += take_all(inbox, &largest);
    assert_true(largest <= max_bytes || most == 1);
    pthread_join(flood.thread, NULL);
    inbox_free(inbox);
}

static void it_is_bounded_in_events_and_in_bytes(void **state) {
    (void)state;
    check(false, 10, 50, 1 << 20, 50);
    check(false, 10000, 1000, 100000, 4); // an object exists as text and as a tree
    check(true, 10000, 1000, 100000, 9);
    check(false, 200000, 1000, 100000, 1); // larger than the bound: accepted alone
}

static void the_engines_own_thread_does_not_wait_and_closing_lets_everybody_go(void **state) {
    (void)state;
    struct inbox *inbox = NULL;
    assert_null(inbox_new(1, 1, 1000, &inbox));
    for (int i = 0; i < 10; i++)
        inbox_post_now(inbox, &(struct engine_event){.type = EVENT_SEEN, .object = make_object(1000)});
    struct poster flood = {.inbox = inbox, .count = 5, .bytes = 10};
    start(&flood);
    inbox_close(inbox);
    pthread_join(flood.thread, NULL);
    inbox_free(inbox);
}

static void another_bound_lets_those_go_that_wait_for_room(void **state) {
    (void)state;
    struct inbox *inbox = NULL;
    assert_null(inbox_new(1, 1000, 100000, &inbox));
    struct poster flood = {.inbox = inbox, .count = 200, .bytes = 10000, .answers = true};
    start(&flood);
    while (atomic_load(&flood.posted) < 9)
        usleep(100);
    inbox_limit(inbox, 100000000);
    pthread_join(flood.thread, NULL); // nothing was taken
    assert_int_equal(atomic_load(&flood.posted), 200);
    inbox_free(inbox);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_bounded_in_events_and_in_bytes),
        cmocka_unit_test(another_bound_lets_those_go_that_wait_for_room),
        cmocka_unit_test(the_engines_own_thread_does_not_wait_and_closing_lets_everybody_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
