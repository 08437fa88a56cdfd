// SPDX-License-Identifier: Apache-2.0
#include "core/base/background.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include <cmocka.h>

static void *policy_of(void *policies) {
    int *policy = policies;
    policy[0] = sched_getscheduler(0);
    background_set(false); // nothing to undo
    policy[1] = sched_getscheduler(0);
    background_set(true);
    policy[2] = sched_getscheduler(0);
    background_set(true);
    background_set(false);
    policy[3] = sched_getscheduler(0);
    policy[4] = getpriority(PRIO_PROCESS, 0);
    return NULL;
}

static void run(int policies[5]) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, policy_of, policies), 0);
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
        cmocka_unit_test(a_thread_is_in_the_background_and_back_and_keeps_its_nice_value),
        cmocka_unit_test(what_somebody_else_chose_stays), // the last one
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
