// SPDX-License-Identifier: Apache-2.0
// The life of an adapter's process: answers that come late, its limits and ends, its next starts, and its log lines.
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/isolate/sandbox_parts.h"
#include "tests/unit/adapter/process_stage.h"
#include "tests/unit/quoted.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RETRIES_NS (2 * CLOCK_MS)

static wharf_result ask(const struct stage *stage, const char *text, enum call_trouble *trouble, char *reason) {
    AUTO_JSON workload = parsed(text);
    struct adapter_call call;
    wharf_phase phase;
    stage_call(stage, &call);
    wharf_result result = adapter_phase(&call, workload, &phase);
    *trouble = call.trouble;
    text_copy(reason, CALL_TROUBLE_MAX, call.trouble != CALL_FINE ? call.trouble_text : "");
    adapter_call_end(&call);
    return result;
}

// Repeats the call until it no longer waits. Returns how often it waited.
static size_t ask_again(const struct stage *stage, const char *text, enum call_trouble *trouble, char *reason) {
    int64_t until_ns = clock_ticks() + PATIENCE_NS;
    for (size_t waits = 0;; waits++) {
        (void)ask(stage, text, trouble, reason);
        if (*trouble != CALL_WAITS)
            return waits;
        assert_true(clock_ticks() < until_ns);
        nanosleep(&(struct timespec){.tv_nsec = RETRIES_NS}, NULL);
    }
}

static void a_slow_answer_is_used_by_the_repetition(void **state) {
    (void)state;
    struct stage stage;
    enum call_trouble trouble;
    char reason[CALL_TROUBLE_MAX];
    stage_begin(&stage, "bad_adapters/acts.so", false);
    assert_in_range(ask_again(&stage, "{\"spec\":{\"act\":\"slow\"}}", &trouble, reason), 1, 100000);
    assert_int_equal(trouble, CALL_FINE);
    assert_int_equal(stage_state(&stage).ends, 0);
    stage_end(&stage);
}

// More than fits into the channel.
static void a_process_that_does_not_read_delays_the_caller_a_little(void **state) {
    (void)state;
    struct stage stage;
    enum call_trouble trouble;
    char reason[CALL_TROUBLE_MAX];
    stage_begin(&stage, "bad_adapters/acts.so", false);
    AUTO_TEXT text = text_format("{\"spec\":{\"act\":\"%02097152d\"}}", 1);
    ask_again(&stage, "{\"spec\":{}}", &trouble, reason); // it has started
    kill(stage_state(&stage).pid, SIGSTOP);
    int64_t begun_ns = clock_ticks();
    assert_int_equal(ask(&stage, text, &trouble, reason), WHARF_RETRY);
    assert_int_equal(trouble, CALL_WAITS);
    assert_true(clock_ticks() - begun_ns < PROCESS_WALL_NS / 2);
    kill(stage_state(&stage).pid, SIGCONT);
    ask_again(&stage, text, &trouble, reason);
    assert_int_equal(trouble, CALL_FINE);
    struct adapter_news news;
    assert_true(adapter_process_news(stage.adapters->list[0], &news));
    assert_true(news.ready);
    assert_string_equal(news.failed, "");
    assert_false(adapter_process_news(stage.adapters->list[0], &news));
    stage_end(&stage);
}

static void the_reason_of_an_end_is_told_to_the_repetition(void **state) {
    static const struct {
        const char *act, *reason;
        enum call_trouble trouble;
    } cases[] = {{"loop", "more than 100 ms of processor time", CALL_LIMIT},
                 {"crash", "signal 11 (Segmentation fault)", CALL_BROKEN}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct stage stage;
        enum call_trouble trouble;
        char reason[CALL_TROUBLE_MAX];
        stage_begin(&stage, "bad_adapters/acts.so", false);
        AUTO_TEXT text = text_format("{\"spec\":{\"act\":\"%s\"}}", cases[i].act);
        ask_again(&stage, text, &trouble, reason);
        assert_int_equal(trouble, cases[i].trouble);
        if (!SANDBOX_SANITIZED)
            assert_string_equal(reason, cases[i].reason);
        ask_again(&stage, "{\"spec\":{}}", &trouble, reason); // the others go on
        assert_int_equal(trouble, CALL_FINE);
        stage_end(&stage);
    }
}

// A stopped process answers nothing.
static void what_the_function_did_not_look_at_needs_no_exchange(void **state) {
    (void)state;
    struct stage stage;
    enum call_trouble trouble;
    char reason[CALL_TROUBLE_MAX];
    stage_begin(&stage, "bad_adapters/acts.so", true);
    static const char first[] = "{\"metadata\":{\"resourceVersion\":\"1\"},\"spec\":{\"n\":1}}";
    assert_int_equal(ask(&stage, first, &trouble, reason), WHARF_OK);
    kill(stage_state(&stage).pid, SIGSTOP);
    static const char other[] = "{\"metadata\":{\"resourceVersion\":\"2\",\"labels\":{}},\"spec\":{\"n\":1}}";
    assert_int_equal(ask(&stage, other, &trouble, reason), WHARF_OK);
    static const char changed[] = "{\"metadata\":{\"resourceVersion\":\"2\"},\"spec\":{\"act\":\"none\"}}";
    assert_int_equal(ask(&stage, changed, &trouble, reason), WHARF_RETRY);
    assert_int_equal(trouble, CALL_LIMIT);
    assert_string_equal(reason, "no answer within 1000 ms");
    stage_end(&stage);
}

static void the_delay_before_a_start_grows(void **state) {
    static const int64_t least_ns[] = {0, 0, CLOCK_SECOND}, most_ns[] = {0, CLOCK_SECOND, 2 * CLOCK_SECOND};
    (void)state;
    struct stage stage;
    enum call_trouble trouble;
    char reason[CALL_TROUBLE_MAX];
    stage_begin(&stage, "bad_adapters/acts.so", true);
    for (size_t i = 0; i < COUNT(least_ns); i++) {
        stage_await_run(&stage, i + 1);
        assert_int_equal(ask(&stage, "{\"spec\":{\"act\":\"abort\"}}", &trouble, reason), WHARF_RETRY);
        struct adapter_state now = stage_state(&stage);
        int64_t delay_ns = now.next_start_ns - clock_now().mono_ns;
        assert_int_equal(now.ends, i + 1);
        assert_string_equal(now.last, "signal 6 (Aborted)");
        if (most_ns[i] == 0)
            continue; // it may run again
        assert_int_equal(now.state, ADAPTER_WAITS);
        assert_int_equal(now.pid, 0);
        assert_in_range(delay_ns, 1, most_ns[i]);
        assert_int_equal(ask(&stage, "{\"spec\":{}}", &trouble, reason), WHARF_RETRY); // at once
        assert_int_equal(trouble, CALL_WAITS);
        assert_string_equal(reason, "the adapter's process starts again after its end: signal 6 (Aborted)");
    }
    stage_end(&stage);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void an_answer_has_a_limit(void **state) {
    (void)state;
    struct stage stage;
    stage_begin_limited(&stage, "bad_adapters/acts.so", true, (struct adapter_limits){.answer = (size_t)256 << 10});
    AUTO_JSON workload = parsed("{\"spec\":{\"act\":\"fill\"}}");
    AUTO_JSON mirror = json_copy(workload);
    struct adapter_call call;
    stage_call(&stage, &call);
    assert_int_equal(adapter_mirror(&call, workload, mirror), WHARF_RETRY);
    assert_int_equal(call.trouble, CALL_LIMIT);
    assert_string_equal(call.trouble_text, "an answer of more than 262144 bytes");
    assert_true(json_equal(mirror, workload));
    adapter_call_end(&call);
    stage_end(&stage);
}

static void memory_has_a_limit(void **state) {
    (void)state;
    struct stage stage;
    if (SANDBOX_SANITIZED)
        skip();
    enum call_trouble trouble;
    char reason[CALL_TROUBLE_MAX];
    stage_begin(&stage, "bad_adapters/acts.so", true);
    assert_int_equal(ask(&stage, "{\"spec\":{\"act\":\"hog\"}}", &trouble, reason), WHARF_RETRY);
    assert_int_equal(trouble, CALL_LIMIT);
    assert_string_equal(reason, "more than 256 MiB of memory");
    stage_await_run(&stage, 2);
    assert_int_equal(ask(&stage, "{\"spec\":{}}", &trouble, reason), WHARF_OK);
    stage_end(&stage);
}

static void log_lines_of_a_call_have_a_bound(void **state) {
    (void)state;
    struct stage stage;
    enum call_trouble trouble;
    char reason[CALL_TROUBLE_MAX];
    AUTO_TEXT path = in(folder, "log");
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    log_to(fd);
    stage_begin(&stage, "bad_adapters/acts.so", true);
    assert_int_equal(ask(&stage, "{\"spec\":{\"act\":\"chat\"}}", &trouble, reason), WHARF_OK);
    stage_end(&stage);
    log_to(2);
    AUTO_BUFFER(text, 1 << 20);
    assert_null(text_read_file(path, text.max, &text));
    close(fd);
    size_t lines = 0;
    for (const char *at = text.data; (at = strstr(at, "a line")); at++)
        lines++;
    assert_int_equal(lines, 32);
    assert_non_null(strstr(text.data, "further log lines of this call were dropped"));
    assert_non_null(strstr(text.data, "object=default/one"));
    assert_non_null(strstr(text.data, "acts has started adapter=tested")); // and those of `start`
}

static void note_ready(void *ctx) {
    atomic_fetch_add((atomic_int *)ctx, 1);
}

static void await_told(atomic_int *told, int count) {
    int64_t until_ns = clock_ticks() + PATIENCE_NS;
    while (atomic_load(told) < count) {
        assert_true(clock_ticks() < until_ns);
        nanosleep(&(struct timespec){.tv_nsec = RETRIES_NS}, NULL);
    }
}

static void who_waits_is_told(void **state) {
    (void)state;
    struct stage stage;
    enum call_trouble trouble;
    char reason[CALL_TROUBLE_MAX];
    atomic_int told = 0;
    adapter_process_on_ready(note_ready, &told);
    stage_begin(&stage, "bad_adapters/acts.so", false);
    await_told(&told, 1); // it has started
    assert_int_equal(ask(&stage, "{\"spec\":{\"act\":\"slow\"}}", &trouble, reason), WHARF_RETRY);
    await_told(&told, 2);
    assert_int_equal(ask(&stage, "{\"spec\":{\"act\":\"slow\"}}", &trouble, reason), WHARF_OK);
    adapter_process_on_ready(NULL, NULL);
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_answer_is_used_by_the_repetition),
        cmocka_unit_test(a_process_that_does_not_read_delays_the_caller_a_little),
        cmocka_unit_test(the_reason_of_an_end_is_told_to_the_repetition),
        cmocka_unit_test(what_the_function_did_not_look_at_needs_no_exchange),
        cmocka_unit_test(the_delay_before_a_start_grows),
        cmocka_unit_test(an_answer_has_a_limit),
        cmocka_unit_test(memory_has_a_limit),
        cmocka_unit_test(log_lines_of_a_call_have_a_bound),
        cmocka_unit_test(who_waits_is_told),
    };
    return cmocka_run_group_tests(tests, adapters_set_up, adapters_tear_down);
}
