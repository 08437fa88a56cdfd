// SPDX-License-Identifier: Apache-2.0
// Lines that a thread writes, while whoever reads them goes on, stalls, or is gone.
#include "core/base/clock.h"
#include "core/base/log.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE_NS (10 * CLOCK_SECOND)

static int ends[2];

static int open_pipe(void **state) {
    (void)state;
    log_setup(LOG_TEXT, LOG_INFO);
    if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[1], F_SETPIPE_SZ, 4096) < 0)
        return -1;
    log_to(ends[1]);
    return 0;
}

static int begin(void **state) {
    return open_pipe(state) == 0 && log_start() ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    close(ends[0]);
    (void)log_stop(PATIENCE_NS);
    log_to(STDERR_FILENO);
    close(ends[1]);
    return 0;
}

// The next line, without its time and level.
static const char *next_line(void) {
    static char line[65536];
    size_t len = 0;
    while (len + 1 < sizeof line && read(ends[0], line + len, 1) == 1 && line[len] != '\n')
        len++;
    line[len] = '\0';
    return len > 34 ? line + 34 : "";
}

static void log_number(int number) {
    char text[2048];
    snprintf(text, sizeof text, "%d %01000d", number, 0);
    log_plain(LOG_INFO, text);
}

static void lines_come_in_their_order(void **state) {
    (void)state;
    for (int i = 0; i < 20; i++) {
        log_number(2 * i);
        log_number(2 * i + 1);
        assert_int_equal(strtol(next_line(), NULL, 10), 2 * i);
        assert_int_equal(strtol(next_line(), NULL, 10), 2 * i + 1);
    }
    assert_true(log_flush(PATIENCE_NS));
}

static void a_reader_who_stalls_costs_lines_that_are_counted_and_nobody_waits(void **state) {
    (void)state;
    uint64_t before = log_lost();
    for (int i = 0; i < 1000; i++) // a megabyte
        log_number(i);
    uint64_t lost = log_lost() - before;
    assert_in_range(lost, 500, 950);
    assert_false(log_flush(0));
    uint64_t kept = 0, told = 0;
    while (kept + told < 1000) {
        const char *line = next_line();
        uint64_t number = strtoull(line, NULL, 10);
        if (strstr(line, "lines were lost")) {
            told += number;
        } else {
            assert_int_equal(number, kept + told); // what is told stands where the lines would have stood
            kept++;
        }
    }
    assert_int_equal(told, lost);
    log_plain(LOG_INFO, "it goes on");
    assert_string_equal(next_line(), "it goes on");
}

static void the_loss_is_told_as_json_too(void **state) {
    (void)state;
    log_setup(LOG_JSON, LOG_INFO);
    for (int i = 0; i < 1000; i++)
        log_number(i);
    char text[4096];
    ssize_t len = 0;
    for (bool told = false; !told && (len = read(ends[0], text, sizeof text - 1)) > 0;) {
        text[len] = '\0';
        const char *found = strstr(text, " log lines were lost\"}\n");
        told = found;
    }
    assert_true(len > 0);
    log_setup(LOG_TEXT, LOG_INFO);
}

static void the_end_does_not_wait_for_a_reader_who_stalls(void **state) {
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        if (!log_start())
            _exit(2);
        for (int i = 0; i < 1000; i++)
            log_number(i);
        bool written = log_stop(50 * CLOCK_MS);
        log_number(1000); // nobody is waited for now either
        _exit(written ? 1 : 0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_come_in_their_order, begin, end),
        cmocka_unit_test_setup_teardown(a_reader_who_stalls_costs_lines_that_are_counted_and_nobody_waits, begin, end),
        cmocka_unit_test_setup_teardown(the_loss_is_told_as_json_too, begin, end),
        cmocka_unit_test_setup_teardown(the_end_does_not_wait_for_a_reader_who_stalls, open_pipe, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
