// SPDX-License-Identifier: Apache-2.0
#include "core/host/turn/query.h"

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define ASKERS 8
#define QUESTIONS 50

struct desk {
    struct queries *queries;
    pthread_mutex_t mutex;
    pthread_cond_t poked;
    bool is_poked;
    atomic_bool over;
    pthread_t engine;
    unsigned count; // on the engine's thread
};

static void poke(void *ctx) {
    struct desk *desk = ctx;
    pthread_mutex_lock(&desk->mutex);
    desk->is_poked = true;
    pthread_cond_signal(&desk->poked);
    pthread_mutex_unlock(&desk->mutex);
}

// Sleeps unless it is poked, as the host does.
static void *turns(void *arg) {
    struct desk *desk = arg;
    while (!atomic_load(&desk->over)) {
        pthread_mutex_lock(&desk->mutex);
        while (!desk->is_poked)
            pthread_cond_wait(&desk->poked, &desk->mutex);
        desk->is_poked = false;
        pthread_mutex_unlock(&desk->mutex);
        queries_run(desk->queries, NULL);
    }
    return NULL;
}

static void begin(struct desk *desk) {
    *desk = (struct desk){.mutex = PTHREAD_MUTEX_INITIALIZER, .poked = PTHREAD_COND_INITIALIZER};
    assert_null(queries_new(&desk->queries));
}

static void count(void *arg, struct engine *engine, struct moment now) {
    struct desk *desk = arg;
    assert_null(engine);
    assert_true(now.mono_ns > 0);
    assert_true(pthread_equal(pthread_self(), desk->engine));
    desk->count++;
}

static void *ask_often(void *arg) {
    struct desk *desk = arg;
    for (int i = 0; i < QUESTIONS; i++)
        assert_null(queries_ask(desk->queries, count, desk));
    return NULL;
}

static void every_question_is_answered_on_the_thread_that_runs_them(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    queries_open(desk.queries, poke, &desk);
    assert_int_equal(pthread_create(&desk.engine, NULL, turns, &desk), 0);
    pthread_t askers[ASKERS];
    for (int i = 0; i < ASKERS; i++)
        assert_int_equal(pthread_create(&askers[i], NULL, ask_often, &desk), 0);
    for (int i = 0; i < ASKERS; i++)
        pthread_join(askers[i], NULL);
    atomic_store(&desk.over, true);
    poke(&desk);
    pthread_join(desk.engine, NULL);
    assert_int_equal(desk.count, ASKERS * QUESTIONS);
    queries_free(desk.queries);
}

static void assert_fails(struct desk *desk, enum error_code code, const char *text) {
    struct error *error = queries_ask(desk->queries, count, desk);
    assert_non_null(error);
    assert_int_equal(error->code, code);
    if (!strstr(error_text(error), text))
        fail_msg("%s", error_text(error));
    error_free(error);
    assert_int_equal(desk->count, 0);
}

static void before_the_start_and_after_the_end_the_answer_is_a_sentence(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    assert_fails(&desk, ERROR_STOPPED, "not started yet");
    queries_open(desk.queries, poke, &desk);
    queries_close(desk.queries);
    assert_fails(&desk, ERROR_STOPPED, "stopping");
    queries_open(desk.queries, poke, &desk); // too late
    assert_fails(&desk, ERROR_STOPPED, "stopping");
    queries_free(desk.queries);
}

static void an_engine_that_is_busy_is_not_waited_for_forever_and_the_question_is_withdrawn(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    queries_open(desk.queries, poke, &desk);
    assert_fails(&desk, ERROR_LIMIT, "busy or stalled");
    queries_run(desk.queries, NULL); // its memory is gone: it must not run now
    assert_int_equal(desk.count, 0);
    queries_free(desk.queries);
}

static void *ask_once(void *arg) {
    struct desk *desk = arg;
    return queries_ask(desk->queries, count, desk);
}

static void who_waits_when_it_stops_is_told(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    queries_open(desk.queries, poke, &desk);
    pthread_t asker;
    assert_int_equal(pthread_create(&asker, NULL, ask_once, &desk), 0);
    pthread_mutex_lock(&desk.mutex);
    while (!desk.is_poked)
        pthread_cond_wait(&desk.poked, &desk.mutex);
    pthread_mutex_unlock(&desk.mutex);
    queries_close(desk.queries);
    void *error = NULL;
    pthread_join(asker, &error);
    assert_non_null(error);
    assert_int_equal(((struct error *)error)->code, ERROR_STOPPED);
    error_free(error);
    assert_int_equal(desk.count, 0);
    queries_free(desk.queries);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_question_is_answered_on_the_thread_that_runs_them),
        cmocka_unit_test(before_the_start_and_after_the_end_the_answer_is_a_sentence),
        cmocka_unit_test(an_engine_that_is_busy_is_not_waited_for_forever_and_the_question_is_withdrawn),
        cmocka_unit_test(who_waits_when_it_stops_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
