// SPDX-License-Identifier: Apache-2.0
#include "core/host/turn/turn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define S CLOCK_SECOND
#define NEVER CLOCK_NEVER

static void only_work_that_nobody_gets_to_counts(void **state) {
    (void)state;
    static const struct {
        const char *what;
        int64_t beat, due, inbox, now, stalled; // due 0: it works
    } cases[] = {
        {"it has not begun", 0, 0, 5 * S, 500 * S, 0},
        {"it waits for nothing", 10 * S, NEVER, NEVER, 500 * S, 0},
        {"it waits for a time to come", 10 * S, 600 * S, NEVER, 500 * S, 0},
        {"it slept long, and something has just come", 10 * S, NEVER, 500 * S, 500 * S, 0},
        {"something came and nobody looks", 10 * S, NEVER, 100 * S, 140 * S, 40 * S},
        {"its time came and nobody looks", 10 * S, 110 * S, NEVER, 140 * S, 30 * S},
        {"both", 10 * S, 110 * S, 100 * S, 140 * S, 40 * S},
        {"it is at work", 139 * S, 0, NEVER, 140 * S, 1 * S},
        {"it is at work, and the next things wait already", 139 * S, 0, 20 * S, 140 * S, 1 * S},
        {"it hangs in its work", 60 * S, 0, NEVER, 140 * S, 80 * S},
        {"what waits came before the last thing was done", 130 * S, NEVER, 100 * S, 140 * S, 10 * S},
        {"a clock read by another thread a moment before", 140 * S, 0, NEVER, 139 * S, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct heartbeat heart = {0};
        if (cases[i].beat && cases[i].due)
            heartbeat_wait(&heart, cases[i].beat, cases[i].due);
        else if (cases[i].beat)
            heartbeat_work(&heart, cases[i].beat);
        int64_t found = heartbeat_stalled_ns(&heart, cases[i].inbox, cases[i].now);
        if (found != cases[i].stalled)
            fail_msg("%s: found %lld", cases[i].what, (long long)found);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_work_that_nobody_gets_to_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
