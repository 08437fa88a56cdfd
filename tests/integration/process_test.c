// SPDX-License-Identifier: Apache-2.0
// The host as a process: adapters that hang or crash, signals, and a log that is not read.
#include "tests/integration/things.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int run(void **state) {
    *state = stage_run(1, true, "mirrorRetention: 0s\n");
    return 0;
}

static int end(void **state) {
    stage_close(*state);
    return 0;
}

static void an_engine_that_hangs_is_seen_and_does_not_outlive_sigterm(void **state) {
    struct scene *scene = *state;
    stage_start(scene);
    UNTIL(scene, 5, wharf_metric(scene, "wharf_engine_stalled_seconds") < 1);
    assert_int_equal(things_apply(scene, "t", "hang"), 201);
    UNTIL(scene, 10, wharf_metric(scene, "wharf_engine_stalled_seconds") > 1);
    assert_int_equal(http_ask(scene->serve_port, "GET", "/healthz", NULL), 200); // not for 30 s yet
    assert_true(wharf_end(scene, SIGTERM, STAGE_END_NS));                        // 12 s, then 1 s for the log
    assert_int_equal(wharf_exit_code(scene), 1);
    assert_int_equal(wharf_logged(scene, "not stopped in time"), 1);
}

static void a_second_signal_ends_a_host_that_hangs_at_once(void **state) {
    struct scene *scene = *state;
    stage_start(scene);
    assert_int_equal(things_apply(scene, "t", "hang"), 201);
    UNTIL(scene, 10, wharf_metric(scene, "wharf_engine_stalled_seconds") > 1);
    assert_false(wharf_end(scene, SIGTERM, CLOCK_SECOND));
    assert_true(wharf_end(scene, SIGINT, STAGE_END_NS)); // 11 s are left for SIGTERM
    assert_int_equal(wharf_exit_code(scene), 1);
    assert_int_equal(wharf_logged(scene, "not stopped in time"), 0);
}

static void what_was_logged_before_a_crash_is_written(void **state) {
    struct scene *scene = *state;
    stage_start(scene);
    assert_int_equal(things_apply(scene, "t", "abort"), 201);
    UNTIL(scene, 10, !wharf_runs(scene));
    assert_int_equal(wharf_exit_code(scene), -1);
    assert_int_equal(wharf_logged(scene, "the last message of an adapter"), 1);
}

// The signals that a thread blocks, as bits, bit 0 for signal 1. A thread that has ended blocks none.
static uint64_t blocked_by(pid_t process, const char *thread) {
    AUTO_TEXT path = text_format("/proc/%d/task/%s/status", (int)process, thread);
    AUTO_BUFFER(status, (size_t)64 << 10);
    struct error *ended = text_read_file(path, (size_t)64 << 10, &status);
    error_free(ended);
    if (ended)
        return 0;
    const char *line = strstr(status.data, "\nSigBlk:");
    assert_non_null(line);
    return strtoull(line + strlen("\nSigBlk:"), NULL, 16);
}

// glibc blocks all signals in a thread that begins, for a moment; ThreadSanitizer has a thread that blocks them always.
static void no_thread_blocks_the_signals_of_a_crash(void **state) {
#ifdef __SANITIZE_THREAD__
    skip();
#endif
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct scene *scene = *state;
    AUTO_TEXT folder = text_format("/proc/%d/task", (int)scene->child);
    DIR *threads = opendir(folder);
    uint64_t mask = 0;
    size_t count = 0;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        mask |= UINT64_C(1) << (faults[i] - 1);
    assert_non_null(threads);
    for (const struct dirent *thread; (thread = readdir(threads));) {
        if (*thread->d_name == '.')
            continue;
        UNTIL(scene, 5, (blocked_by(scene->child, thread->d_name) & mask) == 0);
        count++;
    }
    closedir(threads);
    assert_true(count >= 5); // the engine, two clusters, the log and signals
}

static void signals_without_a_meaning_are_told_and_change_nothing(void **state) {
    struct scene *scene = *state;
    static const struct {
        int number;
        const char *line;
    } signals[] = {{SIGUSR1, "signal ignored signal=SIGUSR1"}, {SIGUSR2, "signal ignored signal=SIGUSR2"}};
    for (size_t i = 0; i < 2; i++) {
        assert_false(wharf_end(scene, signals[i].number, 0));
        UNTIL(scene, 5, wharf_logged(scene, signals[i].line) == 1);
    }
    assert_false(wharf_end(scene, SIGXFSZ, 0));
    stage_submit(scene, "after");
    UNTIL(scene, 10, stage_is_complete(scene, "after"));
    assert_true(wharf_end(scene, SIGTERM, STAGE_END_NS));
    assert_int_equal(wharf_logged(scene, "stopping"), 1);
}

#define JOBS 200

// The value of the first "<number> log lines were lost" that can be read within some time; 0: none.
static unsigned long told_lost(struct scene *scene, int fd) {
    static char text[1 << 20];
    size_t len = 0;
    int64_t until_ns = stage_deadline_ns(10 * STAGE_PATIENCE);
    const char *found = NULL;
    while (!found && len + 1 < sizeof text) {
        int64_t looked_ns = clock_now().mono_ns;
        ssize_t got = read(fd, text + len, sizeof text - 1 - len);
        if (got <= 0)
            stage_wait(scene, looked_ns, until_ns, "lost lines are told", __FILE__, __LINE__);
        len += got > 0 ? (size_t)got : 0;
        text[len] = '\0';
        found = strstr(text, " log lines were lost\n");
    }
    while (found && found > text && found[-1] != ' ')
        found--;
    return found ? strtoul(found, NULL, 10) : 0;
}

static void a_log_that_nobody_reads_holds_up_no_job(void **state) {
    struct scene *scene = *state;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_true(fcntl(ends[1], F_SETPIPE_SZ, 4096) > 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    assert_null(wharf_start_with_log(scene, ends[1]));
    close(ends[1]);
    UNTIL(scene, 15, wharf_is_ready(scene));
    stage_submit_many(scene, "job", JOBS);
    UNTIL(scene, 60, stage_complete(scene, "job") == JOBS);
    for (int i = 0; wharf_metric(scene, "wharf_log_lines_lost_total") < 10; i++) { // the log never ends
        AUTO_TEXT name = text_format("more%d", i);
        stage_submit(scene, name);
        UNTIL(scene, 10, stage_is_complete(scene, name));
        for (int n = 0; n < 200; n++)
            assert_false(wharf_end(scene, SIGUSR1, 0));
    }
    assert_true(told_lost(scene, ends[0]) >= 10);
    UNTIL(scene, 5, read(ends[0], (char[4096]){0}, 4096) <= 0);
    assert_true(wharf_end(scene, SIGTERM, STAGE_END_NS));
    assert_int_equal(wharf_exit_code(scene), 0);
    close(ends[0]);
}

static int open_only(void **state) {
    *state = stage_open(1, true, "mirrorRetention: 0s\nlog: {level: debug}\n");
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_engine_that_hangs_is_seen_and_does_not_outlive_sigterm, things_open,
                                        things_drop),
        cmocka_unit_test_setup_teardown(a_second_signal_ends_a_host_that_hangs_at_once, things_open, things_drop),
        cmocka_unit_test_setup_teardown(what_was_logged_before_a_crash_is_written, things_open, things_drop),
        cmocka_unit_test_setup_teardown(no_thread_blocks_the_signals_of_a_crash, run, end),
        cmocka_unit_test_setup_teardown(signals_without_a_meaning_are_told_and_change_nothing, run, end),
        cmocka_unit_test_setup_teardown(a_log_that_nobody_reads_holds_up_no_job, open_only, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
