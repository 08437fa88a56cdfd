// SPDX-License-Identifier: Apache-2.0
#include "core/base/usage.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void a_process_that_runs_uses_something(void **state) {
    (void)state;
    assert_true(usage_cpu_ns(getpid()) > 0);
    assert_true(usage_memory(getpid()) > 4096);
    assert_int_equal(usage_state(getpid()), 'R');
}

static void a_process_that_waits_is_told_from_one_that_has_ended(void **state) {
    (void)state;
    pid_t pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    while (usage_state(pid) != 'S') // it begins
        usleep(1000);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(usage_cpu_ns(pid), -1);
    assert_int_equal(usage_memory(pid), 0);
    assert_int_equal(usage_state(pid), '\0');
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_that_runs_uses_something),
        cmocka_unit_test(a_process_that_waits_is_told_from_one_that_has_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
