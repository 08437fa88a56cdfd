// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include "tests/unit/kube/net_world.h"

static bool refuse_more(struct answer *answer) {
    (void)answer;
    return false;
}

static void a_handler_ends_a_stream_by_refusing_more(void **state) {
    struct world *world = *state;
    struct answer answer;
    answer_init(&answer, world);
    answer.on_data = refuse_more;
    submit(&answer, &(struct http_request){.path = "/silent", .stream = true});
    poll_until(world, answer.done);
    assert_int_equal(answer.outcome, HTTP_BROKEN);
    poll_until(world, atomic_load(&world->released) == 1);
    answer_free(&answer);
}

static bool cancel_other_on_data(struct answer *answer) {
    struct transport *transport = answer->world->transport;
    transport->ops->cancel(transport, answer->other->id);
    return true;
}

static void cancel_other_on_done(struct answer *answer) {
    cancel_other_on_data(answer);
}

// The handlers of `other` must stay silent, and its connection must go.
static void check_cancelled(struct world *world, struct answer *other) {
    poll_until(world, atomic_load(&world->released) == 1);
    assert_false(other->done);
    answer_free(other);
}

static void cancelling_from_another_handler_is_silent(void **state) {
    struct world *world = *state;
    struct answer first, other;
    answer_init(&first, world);
    answer_init(&other, world);
    first.other = &other;
    first.on_done = cancel_other_on_done;
    submit(&other, &(struct http_request){.path = "/silent", .stream = true});
    poll_until(world, other.data.len > 0);
    submit(&first, &(struct http_request){.path = "/ok"});
    poll_until(world, first.done);
    check_cancelled(world, &other);
    answer_free(&first);
}

static void cancelling_oneself_while_being_told_is_silent(void **state) {
    struct world *world = *state;
    struct answer answer;
    answer_init(&answer, world);
    answer.other = &answer;
    answer.on_data = cancel_other_on_data;
    submit(&answer, &(struct http_request){.path = "/silent", .stream = true});
    poll_until(world, answer.data.len > 0);
    check_cancelled(world, &answer);
}

static void what_is_cancelled_before_it_started_is_never_sent(void **state) {
    struct world *world = *state;
    struct answer cancelled, after;
    answer_init(&cancelled, world);
    submit(&cancelled, &(struct http_request){.path = "/ok"});
    world->transport->ops->cancel(world->transport, cancelled.id);
    world->transport->ops->cancel(world->transport, cancelled.id);
    world->transport->ops->cancel(world->transport, 0);
    world->transport->ops->cancel(world->transport, UINT64_MAX);
    ask(&after, world, &(struct http_request){.path = "/ok"});
    assert_int_equal(atomic_load(&world->asked), 1);
    assert_false(cancelled.done);
    answer_free(&cancelled);
    answer_free(&after);
}

static void an_old_id_does_not_cancel_what_came_later(void **state) {
    struct world *world = *state;
    struct answer old, fresh;
    ask(&old, world, &(struct http_request){.path = "/ok"});
    answer_init(&fresh, world);
    submit(&fresh, &(struct http_request){.path = "/ok"});
    world->transport->ops->cancel(world->transport, old.id);
    poll_until(world, fresh.done);
    assert_true(old.id != fresh.id);
    answer_free(&old);
    answer_free(&fresh);
}

static void freeing_with_exchanges_under_way_calls_nobody(void **state) {
    struct world *world = *state;
    struct answer running, waiting;
    answer_init(&running, world);
    answer_init(&waiting, world);
    submit(&running, &(struct http_request){.path = "/silent", .stream = true, .stall_ns = CLOCK_MINUTE});
    poll_until(world, running.data.len > 0);
    submit(&waiting, &(struct http_request){.path = "/ok"});
    world->transport->ops->free(world->transport);
    world->transport = NULL;
    assert_false(running.done || waiting.done);
    answer_free(&running);
    answer_free(&waiting);
}

static void submit_again_on_done(struct answer *answer) {
    submit(answer->other, &(struct http_request){.path = "/ok"});
}

static void a_handler_may_submit(void **state) {
    struct world *world = *state;
    struct answer first, second;
    answer_init(&first, world);
    answer_init(&second, world);
    first.other = &second;
    first.on_done = submit_again_on_done;
    submit(&first, &(struct http_request){.path = "/ok"});
    poll_until(world, second.done);
    assert_int_equal(second.outcome, HTTP_ANSWERED);
    assert_int_equal(server_connections(world->server), 1);
    answer_free(&first);
    answer_free(&second);
}

static void *wake_later(void *arg) {
    struct world *world = arg;
    sem_wait(&world->gate);
    curl_transport_wakeup(world->transport);
    return NULL;
}

static void a_wakeup_from_another_thread_ends_a_poll(void **state) {
    struct world *world = *state;
    pthread_t thread;
    int64_t begin_ns = clock_now().mono_ns;
    curl_transport_wakeup(world->transport); // also one before the poll
    curl_transport_poll(world->transport, PATIENCE);
    assert_int_equal(pthread_create(&thread, NULL, wake_later, world), 0);
    sem_post(&world->gate);
    curl_transport_poll(world->transport, PATIENCE);
    pthread_join(thread, NULL);
    assert_true(clock_now().mono_ns - begin_ns < PATIENCE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        with_transport(a_handler_ends_a_stream_by_refusing_more),
        with_transport(cancelling_from_another_handler_is_silent),
        with_transport(cancelling_oneself_while_being_told_is_silent),
        with_transport(what_is_cancelled_before_it_started_is_never_sent),
        with_transport(an_old_id_does_not_cancel_what_came_later),
        with_transport(freeing_with_exchanges_under_way_calls_nobody),
        with_transport(a_handler_may_submit),
        with_transport(a_wakeup_from_another_thread_ends_a_poll),
    };
    return world_ready() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
