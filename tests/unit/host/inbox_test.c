// SPDX-License-Identifier: Apache-2.0
#include "core/host/turn/turn.h"

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define FOREVER CLOCK_NEVER

static struct inbox *make(size_t clusters, size_t max_events, size_t max_bytes) {
    struct inbox *inbox = NULL;
    assert_null(inbox_new(clusters, max_events, max_bytes, &inbox));
    return inbox;
}

static struct object *object_numbered(unsigned number) {
    char text[128];
    int len =
        snprintf(text, sizeof text,
                 "{\"metadata\":{\"name\":\"o%u\",\"uid\":\"u\",\"resourceVersion\":\"1\"},\"kind\":\"Job\"}", number);
    struct object *object = NULL;
    assert_null(object_parse(text, (size_t)len, "batch/v1", "Job", &object));
    return object;
}

static void post(struct inbox *inbox, size_t cluster, unsigned number) {
    inbox_post_now(inbox,
                   &(struct engine_event){.type = EVENT_SEEN, .cluster = cluster, .object = object_numbered(number)});
}

static void a_flood_of_one_cluster_delays_no_other(void **state) {
    (void)state;
    struct inbox *inbox = make(3, 100000, SIZE_MAX);
    for (unsigned i = 0; i < 5000; i++)
        post(inbox, 1, i);
    post(inbox, 0, 0);
    post(inbox, 2, 0);
    struct event_item *items = inbox_take(inbox, FOREVER);
    size_t counts[3] = {0};
    for (const struct event_item *item = items; item; item = item->next)
        counts[item->event.cluster]++;
    assert_int_equal(counts[0], 1);
    assert_int_equal(counts[2], 1);
    assert_in_range(counts[1], 1, 100);
    event_items_free(items);
    inbox_free(inbox);
}

static void put(struct event_queue *queue, size_t cluster, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        struct event_item *item = event_item_new(&(struct engine_event){.type = EVENT_TIME, .cluster = cluster});
        assert_non_null(item);
        event_queue_put(queue, item);
    }
}

// How many events of each of three clusters are taken.
static void take(struct event_queue *queue, int64_t now_ns, size_t counts[3]) {
    struct event_item *items = event_queue_take(queue, now_ns);
    memset(counts, 0, 3 * sizeof *counts);
    for (const struct event_item *item = items; item; item = item->next)
        counts[item->event.cluster]++;
    event_items_free(items);
}

static void spend(struct event_queue *queue, size_t cluster, int64_t spent_ns, int64_t costly_ns, int64_t now_ns) {
    event_queue_spent(queue, cluster, (struct engine_time){spent_ns, costly_ns}, now_ns);
}

static void a_cluster_that_uses_more_of_the_engine_waits_for_others(void **state) {
    (void)state;
    struct event_queue queue = {.max_events = 100000, .max_bytes = SIZE_MAX};
    size_t counts[3];
    assert_null(event_queue_grow(&queue, 3));
    put(&queue, 1, 1000);
    for (int64_t i = 1; i <= 5; i++) { // alone it has everything
        take(&queue, 0, counts);
        assert_int_equal(counts[1], 64);
        spend(&queue, 1, i * 100 * CLOCK_MS, 0, 0);
    }
    put(&queue, 2, 1000);
    int64_t spent_ns[3] = {0, 500 * CLOCK_MS, 0};
    size_t taken[3] = {0};
    for (int round = 0; round < 100; round++) { // cluster 2 has cheap events and saved nothing up
        take(&queue, 0, counts);
        assert_true(round > 0 || counts[1] == 0);
        for (size_t c = 1; c < 3; c++) {
            taken[c] += counts[c];
            spent_ns[c] += (int64_t)counts[c] * (c == 1 ? CLOCK_MS : CLOCK_MS / 10);
            spend(&queue, c, spent_ns[c], 0, 0);
        }
        put(&queue, 2, (unsigned)counts[2]);
    }
    assert_in_range(spent_ns[1] - 500 * CLOCK_MS, spent_ns[2] / 2, 2 * spent_ns[2]);
    assert_in_range(taken[2], 5 * taken[1], 20 * taken[1]);
    event_queue_clear(&queue);
}

static void a_cluster_rests_after_a_costly_object(void **state) {
    (void)state;
    struct event_queue queue = {.max_events = 100000, .max_bytes = SIZE_MAX};
    size_t counts[3];
    assert_null(event_queue_grow(&queue, 3));
    put(&queue, 1, 100);
    assert_int_equal(event_queue_ready_ns(&queue), 0);
    take(&queue, CLOCK_SECOND, counts);
    assert_int_equal(counts[1], 64);
    spend(&queue, 1, 50 * CLOCK_MS, 40 * CLOCK_MS, CLOCK_SECOND);
    assert_int_equal(event_queue_ready_ns(&queue), CLOCK_SECOND + 80 * CLOCK_MS);
    take(&queue, CLOCK_SECOND + 79 * CLOCK_MS, counts);
    assert_int_equal(counts[1], 0);
    put(&queue, 0, 1);
    put(&queue, 2, 1);
    assert_int_equal(event_queue_ready_ns(&queue), 0);
    take(&queue, CLOCK_SECOND + 79 * CLOCK_MS, counts);
    assert_int_equal(counts[0] + counts[2], 2);
    assert_int_equal(counts[1], 0);
    spend(&queue, 1, 51 * CLOCK_MS, 40 * CLOCK_MS, CLOCK_SECOND + 79 * CLOCK_MS); // that was not costly
    take(&queue, CLOCK_SECOND + 80 * CLOCK_MS, counts);
    assert_int_equal(counts[1], 36);
    assert_int_equal(event_queue_ready_ns(&queue), CLOCK_NEVER);
    spend(&queue, 0, CLOCK_SECOND, CLOCK_SECOND, 0); // the management cluster is not held up
    spend(&queue, 1, CLOCK_MINUTE, CLOCK_MINUTE, 0);
    put(&queue, 0, 1);
    assert_int_equal(event_queue_ready_ns(&queue), 0);
    take(&queue, 0, counts);
    put(&queue, 1, 1);
    assert_int_equal(event_queue_ready_ns(&queue), CLOCK_SECOND); // at most
    event_queue_clear(&queue);
}

static void the_depth_of_a_cluster_and_the_age_of_its_oldest_event_are_known(void **state) {
    (void)state;
    struct inbox *inbox = make(3, 100000, SIZE_MAX);
    int64_t since_ns = 0;
    assert_int_equal(inbox_depth(inbox, 1, &since_ns), 0);
    assert_int_equal(since_ns, CLOCK_NEVER);
    for (unsigned i = 0; i < 5; i++)
        inbox_post_now(inbox,
                       &(struct engine_event){
                           .type = EVENT_SEEN, .cluster = 1, .received_ns = 100 + i, .object = object_numbered(i)});
    assert_int_equal(inbox_depth(inbox, 1, &since_ns), 5);
    assert_int_equal(since_ns, 100);
    assert_int_equal(inbox_depth(inbox, 2, &since_ns), 0);
    event_items_free(inbox_take(inbox, FOREVER));
    assert_int_equal(inbox_depth(inbox, 1, &since_ns), 0);
    inbox_free(inbox);
}

static void what_one_cluster_posts_comes_out_in_its_order(void **state) {
    (void)state;
    struct inbox *inbox = make(2, 100000, SIZE_MAX);
    for (unsigned i = 0; i < 300; i++) {
        post(inbox, 0, i);
        post(inbox, 1, i);
    }
    unsigned next[2] = {0};
    while (next[0] + next[1] < 600) {
        struct event_item *items = inbox_take(inbox, FOREVER);
        assert_non_null(items);
        for (const struct event_item *item = items; item; item = item->next) {
            char name[16];
            snprintf(name, sizeof name, "o%u", next[item->event.cluster]++);
            assert_string_equal(object_name(item->event.object->value), name);
        }
        event_items_free(items);
    }
    assert_int_equal(inbox_waiting_since(inbox), CLOCK_NEVER);
    inbox_free(inbox);
}

struct poster {
    struct inbox *inbox;
    atomic_uint posted;
};

static void *post_many(void *arg) {
    struct poster *poster = arg;
    for (unsigned i = 0; i < 50; i++) {
        inbox_post(poster->inbox, inbox_item(&(struct engine_event){.type = EVENT_SEEN, .object = object_numbered(i)}));
        atomic_fetch_add(&poster->posted, 1);
    }
    return NULL;
}

// Takes until all have arrived; never more than `room` may be queued.
static void take_from_a_poster(size_t max_events, size_t max_bytes, unsigned room) {
    struct poster poster = {.inbox = make(1, max_events, max_bytes)};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, post_many, &poster), 0);
    for (unsigned taken = 0; taken < 50;) {
        struct event_item *items = inbox_take(poster.inbox, FOREVER);
        unsigned count = 0;
        for (const struct event_item *item = items; item; item = item->next)
            count++;
        assert_in_range(count, 1, room);
        taken += count;
        assert_true(atomic_load(&poster.posted) <= taken + room);
        event_items_free(items);
    }
    pthread_join(thread, NULL);
    inbox_free(poster.inbox);
}

static void a_cluster_that_runs_ahead_waits_for_room(void **state) {
    (void)state;
    take_from_a_poster(5, SIZE_MAX, 5);
}

static void what_is_larger_than_the_room_is_let_in_alone(void **state) {
    (void)state;
    take_from_a_poster(1000, 1, 1);
}

static void strings_are_copied_and_a_closed_inbox_drops_what_comes(void **state) {
    (void)state;
    struct inbox *inbox = make(1, 10, SIZE_MAX);
    char version[] = "v1", problem[] = "trouble", uid[] = "u";
    inbox_post(inbox, inbox_item(&(struct engine_event){.type = EVENT_IDENTITY, .identity = {uid, version, problem}}));
    version[0] = problem[0] = uid[0] = '?';
    struct event_item *items = inbox_take(inbox, FOREVER);
    assert_string_equal(items->event.identity.version, "v1");
    assert_string_equal(items->event.identity.problem, "trouble");
    assert_string_equal(items->event.identity.uid, "u");
    event_items_free(items);
    inbox_close(inbox);
    post(inbox, 0, 1);
    assert_null(inbox_take(inbox, FOREVER));
    inbox_free(inbox);
}

static void a_cluster_that_is_added_has_a_line_of_its_own(void **state) {
    (void)state;
    struct inbox *inbox = make(2, 100, SIZE_MAX);
    post(inbox, 1, 0);
    assert_null(inbox_grow(inbox, 5));
    assert_null(inbox_grow(inbox, 3)); // never fewer
    post(inbox, 4, 7);
    assert_false(inbox_is_empty(inbox, 1));
    assert_true(inbox_is_empty(inbox, 3));
    assert_false(inbox_is_empty(inbox, 4));
    struct event_item *items = inbox_take(inbox, FOREVER);
    assert_int_equal(items->event.cluster, 1);
    assert_int_equal(items->next->event.cluster, 4);
    assert_null(items->next->next);
    assert_true(inbox_is_empty(inbox, 1) && inbox_is_empty(inbox, 4));
    event_items_free(items);
    inbox_free(inbox);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flood_of_one_cluster_delays_no_other),
        cmocka_unit_test(a_cluster_that_uses_more_of_the_engine_waits_for_others),
        cmocka_unit_test(a_cluster_rests_after_a_costly_object),
        cmocka_unit_test(the_depth_of_a_cluster_and_the_age_of_its_oldest_event_are_known),
        cmocka_unit_test(what_one_cluster_posts_comes_out_in_its_order),
        cmocka_unit_test(a_cluster_that_runs_ahead_waits_for_room),
        cmocka_unit_test(what_is_larger_than_the_room_is_let_in_alone),
        cmocka_unit_test(a_cluster_that_is_added_has_a_line_of_its_own),
        cmocka_unit_test(strings_are_copied_and_a_closed_inbox_drops_what_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
