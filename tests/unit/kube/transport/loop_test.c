// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/kube/transport/curl_transport.h"
#include "tests/unit/kube/tls_server.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { THREADS = 4, POSTS = 2000 };

struct world {
    struct server *server;
    struct endpoint endpoint;
    struct transport *transport;
    struct loop *loop;
    int64_t tick_every_ns; // 0: only when something happened
    atomic_int ticks, answers, ticks_after_answer;
    atomic_int ran[THREADS];
    atomic_bool out_of_order, elsewhere;
    atomic_uintptr_t thread;
    sem_t gate, done;
};

static bool serve(void *ctx, struct peer *peer, const char *request) {
    (void)ctx, (void)request;
    peer_send(peer, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
    return true;
}

static int64_t tick(void *ctx, struct moment now) {
    struct world *world = ctx;
    atomic_store(&world->thread, (uintptr_t)pthread_self());
    atomic_fetch_add(&world->ticks, 1);
    if (atomic_load(&world->answers) > 0)
        atomic_fetch_add(&world->ticks_after_answer, 1);
    return world->tick_every_ns > 0 ? now.mono_ns + world->tick_every_ns : CLOCK_NEVER;
}

static int setup(void **state) {
    struct world *world = calloc(1, sizeof *world);
    sem_init(&world->gate, 0, 0);
    sem_init(&world->done, 0, 0);
    world->server = server_start(&(struct server_options){.serve = serve, .ctx = world});
    world->endpoint.server = text_format("http://127.0.0.1:%u", server_port(world->server));
    assert_null(curl_transport_new(&world->endpoint, "wharf-test/1", &world->transport));
    *state = world;
    return 0;
}

static int teardown(void **state) {
    struct world *world = *state;
    world->transport->ops->free(world->transport);
    server_stop(world->server);
    free(world->endpoint.server);
    sem_destroy(&world->gate);
    sem_destroy(&world->done);
    free(world);
    return 0;
}

static void start(struct world *world) {
    assert_null(loop_start("a name that is too long", world->transport, tick, world, &world->loop));
}

static void wait_for(atomic_int *value, int least) {
    while (atomic_load(value) < least)
        usleep(100);
}

struct note {
    struct world *world;
    int writer, number;
};

static void run_note(void *arg) {
    struct note *note = arg;
    struct world *world = note->world;
    if (atomic_load(&world->thread) != (uintptr_t)pthread_self())
        atomic_store(&world->elsewhere, true);
    if (atomic_fetch_add(&world->ran[note->writer], 1) != note->number)
        atomic_store(&world->out_of_order, true);
    free(note);
}

struct writer {
    struct world *world;
    int index;
};

static void *write_notes(void *arg) {
    const struct writer *writer = arg;
    for (int i = 0; i < POSTS; i++) {
        struct note *note = malloc(sizeof *note);
        *note = (struct note){.world = writer->world, .writer = writer->index, .number = i};
        assert_true(loop_post(writer->world->loop, run_note, note));
    }
    return NULL;
}

static void what_threads_post_runs_in_their_order_on_the_loops_thread(void **state) {
    struct world *world = *state;
    start(world);
    wait_for(&world->ticks, 1);
    pthread_t threads[THREADS];
    struct writer writers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        writers[i] = (struct writer){.world = world, .index = i};
        assert_int_equal(pthread_create(&threads[i], NULL, write_notes, &writers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    loop_stop(world->loop);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(atomic_load(&world->ran[i]), POSTS);
    assert_false(atomic_load(&world->out_of_order));
    assert_false(atomic_load(&world->elsewhere));
}

static void post_done(void *arg) {
    struct world *world = arg;
    sem_post(&world->done);
}

static void a_sleeping_loop_runs_what_is_posted_at_once_and_ticks(void **state) {
    struct world *world = *state;
    start(world);
    for (int i = 0; i < 100; i++) {
        int before = atomic_load(&world->ticks);
        assert_true(loop_post(world->loop, post_done, world));
        sem_wait(&world->done);
        wait_for(&world->ticks, before + 1);
    }
    loop_stop(world->loop);
}

static void it_ticks_again_at_the_time_that_the_tick_returned(void **state) {
    struct world *world = *state;
    world->tick_every_ns = 2 * CLOCK_MS;
    int64_t begin_ns = clock_now().mono_ns;
    start(world);
    wait_for(&world->ticks, 6);
    assert_true(clock_now().mono_ns - begin_ns >= 5 * world->tick_every_ns);
    loop_stop(world->loop);
}

static void on_done(void *ctx, const struct http_result *result) {
    struct world *world = ctx;
    assert_int_equal(result->outcome, HTTP_ANSWERED);
    atomic_fetch_add(&world->answers, 1);
}

static void submit(void *arg) {
    struct world *world = arg;
    const struct http_request request = {.path = "/", .max_body = 100};
    const struct http_handler handler = {.done = on_done, .ctx = world};
    assert_true(world->transport->ops->submit(world->transport, &request, &handler) != 0);
}

static void it_drives_the_transport_and_ticks_after_its_handlers(void **state) {
    struct world *world = *state;
    start(world);
    assert_true(loop_post(world->loop, submit, world));
    wait_for(&world->ticks_after_answer, 1);
    assert_int_equal(atomic_load(&world->answers), 1);
    loop_stop(world->loop);
}

static void post_until_refused(void *arg) {
    struct world *world = arg;
    sem_wait(&world->gate);
    while (loop_post(world->loop, post_done, world))
        usleep(100);
    atomic_store(&world->answers, 1);
}

static void *stop(void *arg) {
    struct world *world = arg;
    loop_stop(world->loop);
    return NULL;
}

static void stopping_runs_what_was_posted_before_and_takes_nothing_more(void **state) {
    struct world *world = *state;
    start(world);
    assert_true(loop_post(world->loop, post_until_refused, world));
    assert_true(loop_post(world->loop, post_done, world));
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, stop, world), 0);
    sem_post(&world->gate);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&world->answers), 1);
    assert_int_equal(sem_trywait(&world->done), 0);
}

#define with_world(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        with_world(what_threads_post_runs_in_their_order_on_the_loops_thread),
        with_world(a_sleeping_loop_runs_what_is_posted_at_once_and_ticks),
        with_world(it_ticks_again_at_the_time_that_the_tick_returned),
        with_world(it_drives_the_transport_and_ticks_after_its_handlers),
        with_world(stopping_runs_what_was_posted_before_and_takes_nothing_more),
    };
    struct error *error = curl_transport_setup();
    if (error) {
        fprintf(stderr, "%s\n", error_text(error));
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
