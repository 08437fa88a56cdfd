// SPDX-License-Identifier: Apache-2.0
#include "core/base/thread.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include <cmocka.h>

static void *policy_of(void *policies) {
    int *policy = policies;
    policy[0] = sched_getscheduler(0);
    thread_set_background(false); // nothing to undo
    policy[1] = sched_getscheduler(0);
    thread_set_background(true);
    policy[2] = sched_getscheduler(0);
    thread_set_background(true);
    thread_set_background(false);
    policy[3] = sched_getscheduler(0);
    policy[4] = getpriority(PRIO_PROCESS, 0);
    return NULL;
}

struct started {
    sigset_t blocked;
    char name[16];
    size_t stack;
};

static void *describe_itself(void *arg) {
    struct started *started = arg;
    pthread_attr_t attributes;
    pthread_sigmask(SIG_SETMASK, NULL, &started->blocked);
    pthread_getname_np(pthread_self(), started->name, sizeof started->name);
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstacksize(&attributes, &started->stack);
    pthread_attr_destroy(&attributes);
    return NULL;
}

static void a_crash_in_a_thread_reaches_its_handler_and_other_signals_are_for_other_threads(void **state) {
    (void)state;
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    static const int others[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGCHLD, SIGPIPE};
    struct started started;
    sigset_t own;
    pthread_t thread;
    assert_int_equal(thread_start("a name of some length", 256 * 1024, describe_itself, &started, &thread), 0);
    pthread_join(thread, NULL);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        assert_false(sigismember(&started.blocked, faults[i]));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_true(sigismember(&started.blocked, others[i]));
    assert_string_equal(started.name, "a name of some ");
    assert_int_equal(started.stack, 256 * 1024);
    pthread_sigmask(SIG_SETMASK, NULL, &own);
    assert_false(sigismember(&own, SIGTERM));
}

static void run(int policies[5]) {
    pthread_t thread;
    assert_int_equal(thread_start("policy", 0, policy_of, policies, &thread), 0);
    pthread_join(thread, NULL);
}

static void a_thread_is_in_the_background_and_back_and_keeps_its_nice_value(void **state) {
    (void)state;
    int policies[5];
    int nice = getpriority(PRIO_PROCESS, 0) + 1 < 19 ? getpriority(PRIO_PROCESS, 0) + 1 : 19;
    assert_int_equal(setpriority(PRIO_PROCESS, 0, nice), 0);
    run(policies);
    assert_int_equal(policies[0], SCHED_OTHER);
    assert_int_equal(policies[1], SCHED_OTHER);
    assert_int_equal(policies[2], SCHED_BATCH);
    assert_int_equal(policies[3], SCHED_OTHER);
    assert_int_equal(policies[4], nice);
    assert_int_equal(sched_getscheduler(0), SCHED_OTHER); // this thread is another one
}

static void what_somebody_else_chose_stays(void **state) {
    (void)state;
    int policies[5];
    struct sched_param none = {0};
    assert_int_equal(sched_setscheduler(0, SCHED_IDLE, &none), 0); // its threads inherit it
    run(policies);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(policies[i], SCHED_IDLE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crash_in_a_thread_reaches_its_handler_and_other_signals_are_for_other_threads),
        cmocka_unit_test(a_thread_is_in_the_background_and_back_and_keeps_its_nice_value),
        cmocka_unit_test(what_somebody_else_chose_stays), // the last one
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
