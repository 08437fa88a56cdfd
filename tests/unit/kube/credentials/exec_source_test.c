// SPDX-License-Identifier: Apache-2.0
// When a credential plugin runs.
#include "core/base/log.h"
#include "core/kube/credentials/credentials.h"
#include "tests/unit/kube/plugin_kit.h"

#include <sys/eventfd.h>
#include <unistd.h>

#define WALL_NS (INT64_C(1767323045) * CLOCK_SECOND) // 2026-01-02T03:04:05Z

struct bench {
    struct plugin_kit *kit;
    struct exec_plugin *plugin;
    struct exec_source source;
    struct moment now;
    int over; // an eventfd, readable after each run
};

// A plugin that counts its runs in the file `runs` and prints what is in the file `answer`.
static int setup(void **state) {
    struct bench *bench = calloc(1, sizeof *bench);
    plugin_kit_setup((void **)&bench->kit);
    bench->plugin = plugin_kit_make(bench->kit, "echo run >> runs; [ -e answer ] || exit 9; cat answer");
    bench->now = (struct moment){.mono_ns = 5 * CLOCK_SECOND, .wall_ns = WALL_NS};
    bench->over = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    exec_source_open(&bench->source, bench->plugin, bench->over, bench->now);
    *state = bench;
    return 0;
}

static int teardown(void **state) {
    struct bench *bench = *state;
    exec_source_close(&bench->source);
    exec_plugin_free(bench->plugin);
    plugin_kit_teardown((void **)&bench->kit);
    close(bench->over);
    free(bench);
    return 0;
}

static void answer(struct bench *bench, const char *token, int life_s) {
    char expiry[CLOCK_RFC3339_MAX];
    clock_rfc3339(bench->now.wall_ns + life_s * CLOCK_SECOND, expiry);
    AUTO_TEXT text =
        life_s == 0 ? text_format(PLUGIN_OUTPUT("{\"token\":\"%s\"}"), token)
                    : text_format(PLUGIN_OUTPUT("{\"token\":\"%s\",\"expirationTimestamp\":\"%s\"}"), token, expiry);
    plugin_kit_write(bench->kit, "answer", text, 0600);
}

static void wait_for_run(struct bench *bench) {
    eventfd_t count;
    assert_int_equal(eventfd_read(bench->over, &count), 0);
}

static size_t runs(const struct bench *bench) {
    AUTO_TEXT text = plugin_kit_read(bench->kit, "runs");
    size_t count = 0;
    for (const char *c = text; *c; c++)
        count += *c == '\n';
    return count;
}

static void pass(struct bench *bench, int64_t ns) {
    bench->now.mono_ns += ns;
    bench->now.wall_ns += ns;
}

// Updates; a run that is started is finished. False: none was.
static bool runs_now(struct bench *bench) {
    assert_false(exec_source_update(&bench->source, bench->now));
    if (!bench->source.running)
        return false;
    wait_for_run(bench);
    bool changed = exec_source_update(&bench->source, bench->now);
    assert_false(bench->source.running);
    assert_true(changed == !bench->source.problem);
    return true;
}

static void a_credential_is_renewed_before_it_expires(void **state) {
    struct bench *bench = *state;
    static const struct { int life_s, due_s; } cases[] = {{600, 570}, {91, 61}, {60, 40}, {9, 6}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        answer(bench, "one", cases[i].life_s);
        assert_true(runs_now(bench));
        assert_int_equal(runs(bench), i + 1);
        pass(bench, cases[i].due_s * CLOCK_SECOND - 1);
        assert_false(runs_now(bench));
        pass(bench, 1);
    }
}

static void a_credential_without_an_expiry_stays(void **state) {
    struct bench *bench = *state;
    answer(bench, "one", 0);
    assert_true(runs_now(bench));
    pass(bench, 1000 * 3600 * CLOCK_SECOND);
    assert_false(runs_now(bench));
    assert_null(exec_source_problem(&bench->source, bench->now.mono_ns));
    assert_true(bench->source.due_ns == CLOCK_NEVER);
}

static void requests_wait_only_where_there_is_no_credential(void **state) {
    struct bench *bench = *state;
    answer(bench, "one", 600);
    assert_false(exec_source_is_waiting(&bench->source, bench->now.mono_ns));
    exec_source_update(&bench->source, bench->now);
    assert_true(exec_source_is_waiting(&bench->source, bench->now.mono_ns));
    pthread_t first = bench->source.thread;
    exec_source_update(&bench->source, bench->now); // one run at a time
    assert_true(!bench->source.running || pthread_equal(bench->source.thread, first));
    if (bench->source.running) {
        wait_for_run(bench);
        exec_source_update(&bench->source, bench->now);
    }
    assert_int_equal(runs(bench), 1);
    pass(bench, 575 * CLOCK_SECOND); // in the leeway: the old one is still good
    exec_source_update(&bench->source, bench->now);
    assert_true(bench->source.running);
    assert_false(exec_source_is_waiting(&bench->source, bench->now.mono_ns));
    assert_true(exec_source_is_waiting(&bench->source, bench->now.mono_ns + 25 * CLOCK_SECOND));
}

static void a_failed_run_is_repeated_with_growing_waits(void **state) {
    struct bench *bench = *state;
    static const int waits_s[] = {2, 4, 8, 16, 32, 60, 60};
    for (size_t i = 0; i < sizeof waits_s / sizeof waits_s[0]; i++) {
        assert_true(runs_now(bench));
        const struct error *problem = exec_source_problem(&bench->source, bench->now.mono_ns);
        assert_non_null(strstr(error_text(problem), "it exited with 9"));
        assert_false(exec_source_renew(&bench->source, bench->now.mono_ns));
        pass(bench, waits_s[i] * CLOCK_SECOND - 1);
        assert_false(runs_now(bench));
        pass(bench, 1);
    }
    answer(bench, "one", 0);
    assert_true(runs_now(bench));
    assert_null(exec_source_problem(&bench->source, bench->now.mono_ns));
}

static void while_renewing_fails_the_old_credential_is_used_until_it_expires(void **state) {
    struct bench *bench = *state;
    answer(bench, "one", 600);
    assert_true(runs_now(bench));
    AUTO_TEXT path = plugin_kit_path(bench->kit, "answer");
    unlink(path);
    pass(bench, 590 * CLOCK_SECOND);
    assert_true(runs_now(bench));
    assert_null(exec_source_problem(&bench->source, bench->now.mono_ns));
    assert_non_null(exec_source_problem(&bench->source, bench->now.mono_ns + 10 * CLOCK_SECOND));
}

static void a_rejected_credential_is_renewed_but_not_without_end(void **state) {
    struct bench *bench = *state;
    struct exec_source *source = &bench->source;
    answer(bench, "one", 0);
    assert_true(runs_now(bench));
    assert_int_equal(source->generation, 1);
    exec_source_answered(source, 1, 200);
    pass(bench, CLOCK_MINUTE);
    exec_source_answered(source, 1, 401);
    assert_true(exec_source_renew(source, bench->now.mono_ns)); // it was accepted before
    assert_true(runs_now(bench));
    assert_int_equal(runs(bench), 2);

    exec_source_answered(source, 1, 401); // of a request with the former one
    assert_true(exec_source_renew(source, bench->now.mono_ns));
    assert_false(runs_now(bench)); // already rotated

    exec_source_answered(source, 2, 401); // never accepted
    assert_false(exec_source_renew(source, bench->now.mono_ns));
    assert_false(runs_now(bench));
    pass(bench, 10 * CLOCK_SECOND);
    assert_true(exec_source_renew(source, bench->now.mono_ns));
    assert_true(runs_now(bench));

    exec_source_answered(source, 3, 403); // known, though not permitted
    exec_source_answered(source, 3, 401);
    assert_false(exec_source_renew(source, bench->now.mono_ns)); // within the second
    pass(bench, CLOCK_SECOND);
    assert_true(runs_now(bench));
    assert_int_equal(runs(bench), 4);
}

static void a_credential_that_has_expired_by_this_clock_is_left_to_the_server(void **state) {
    struct bench *bench = *state;
    answer(bench, "one", -5);
    assert_true(runs_now(bench));
    assert_null(exec_source_problem(&bench->source, bench->now.mono_ns));
    assert_false(exec_source_is_waiting(&bench->source, bench->now.mono_ns));
    pass(bench, 10 * CLOCK_SECOND - 1);
    assert_false(runs_now(bench));
    pass(bench, 1);
    assert_true(runs_now(bench));
}

static void transports_of_one_endpoint_share_what_the_plugin_gave(void **state) {
    struct bench *bench = *state;
    struct exec_source *source = &bench->source, other;
    bench->plugin->cache = exec_cache_new();
    answer(bench, "one", 600);
    assert_true(runs_now(bench));
    exec_source_open(&other, bench->plugin, bench->over, bench->now);
    assert_true(exec_source_update(&other, bench->now));
    assert_false(other.running);
    assert_string_equal(other.held.token, "one");
    assert_true(other.due_ns == source->due_ns);
    assert_int_equal(runs(bench), 1);
    // The server rejects it: whoever is told first runs the plugin, and the other one has its token too.
    answer(bench, "two", 600);
    exec_source_answered(source, 1, 200);
    pass(bench, CLOCK_MINUTE);
    exec_source_answered(source, 1, 401);
    exec_source_answered(&other, 1, 401);
    assert_true(exec_source_renew(source, bench->now.mono_ns));
    assert_true(runs_now(bench));
    assert_true(exec_source_renew(&other, bench->now.mono_ns));
    assert_true(exec_source_update(&other, bench->now));
    assert_false(other.running);
    assert_string_equal(other.held.token, "two");
    assert_int_equal(runs(bench), 2);
    exec_source_close(&other);
    // One that is about to expire is not shared.
    pass(bench, 575 * CLOCK_SECOND);
    exec_source_open(&other, bench->plugin, bench->over, bench->now);
    assert_false(exec_source_update(&other, bench->now));
    assert_true(other.running);
    exec_source_close(&other);
}

#define with_bench(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    log_setup(LOG_TEXT, LOG_ERROR);
    const struct CMUnitTest tests[] = {
        with_bench(a_credential_is_renewed_before_it_expires),
        with_bench(a_credential_without_an_expiry_stays),
        with_bench(requests_wait_only_where_there_is_no_credential),
        with_bench(a_failed_run_is_repeated_with_growing_waits),
        with_bench(while_renewing_fails_the_old_credential_is_used_until_it_expires),
        with_bench(a_rejected_credential_is_renewed_but_not_without_end),
        with_bench(transports_of_one_endpoint_share_what_the_plugin_gave),
        with_bench(a_credential_that_has_expired_by_this_clock_is_left_to_the_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
