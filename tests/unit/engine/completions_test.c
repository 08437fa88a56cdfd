// SPDX-License-Identifier: Apache-2.0
// How fast workers finish what they get: the policies count it, and a worker that is far faster than the others is
// reported and gets no more than they do.
#include "core/engine/store/throttle.h"
#include "tests/unit/engine/stage.h"

#define JOBS_MAX 2000

static struct job_life {
    bool begun, done;
    int64_t since_ns;
} lives[JOBS_MAX];
static unsigned n_jobs, first_open;

struct pace_case {
    int64_t takes_ns[STAGE_CLUSTERS]; // from when the mirror is there; 0: it says Complete at once
    int64_t starts_ns[STAGE_CLUSTERS];
};

static void begin(struct stage *stage, const char *w1_labels) {
    stage_init(stage);
    stage->options.settings.mirror_retention_ns = CLOCK_SECOND;
    stage_start(stage);
    for (size_t c = 1; c <= 2; c++)
        stage_step(stage, &(struct engine_event){.type = EVENT_WORKER,
                                                 .cluster = c,
                                                 .worker = {.name = c == 1 ? "w1" : "w2",
                                                            .policy = WORKER_ACTIVE,
                                                            .labels = c == 1 ? w1_labels : "size=big"}});
    n_jobs = first_open = 0;
    memset(lives, 0, sizeof lives);
}

static void advance(struct stage *stage, const struct pace_case *pace) {
    while (first_open < n_jobs && lives[first_open].done)
        first_open++;
    for (unsigned i = first_open; i < n_jobs; i++) {
        AUTO_TEXT name = text_format("j%u", i);
        struct job_life *life = &lives[i];
        size_t where = life->done ? 0 : stage_where(stage, name);
        if (where == 0 || !stage_job(stage, where, name))
            continue;
        life->since_ns = life->since_ns ? life->since_ns : stage->now.mono_ns;
        int64_t age_ns = stage->now.mono_ns - life->since_ns;
        if (!life->begun && age_ns >= pace->starts_ns[where]) {
            stage_runs(stage, where, name);
            life->begun = true;
        }
        if (life->begun && age_ns >= pace->starts_ns[where] + pace->takes_ns[where]) {
            stage_completes(stage, where, name);
            life->done = true;
        }
    }
}

// One Job after the other; how many w1 got.
static unsigned run(struct stage *stage, const struct pace_case *pace, unsigned jobs, int64_t apart_ns,
                    const char *annotations) {
    unsigned in_w1 = 0;
    for (unsigned n = 0; n < jobs; n++) {
        AUTO_TEXT name = text_format("j%u", n_jobs++);
        stage_submit(stage, name, annotations);
        for (int64_t waited_ns = 0; waited_ns < apart_ns; waited_ns += CLOCK_SECOND) {
            stage_run(stage, CLOCK_SECOND / 2);
            advance(stage, pace);
            stage_run(stage, CLOCK_SECOND / 2);
        }
        in_w1 += stage_where(stage, name) == 1;
    }
    return in_w1;
}

static uint64_t suspect(struct stage *stage, size_t cluster) {
    return engine_stats(stage->engine)->clusters[cluster].suspect;
}

static void a_worker_that_says_complete_at_once_does_not_get_all(void **state) {
    (void)state;
    static const struct pace_case pace = {.takes_ns = {0, 0, 10 * CLOCK_MINUTE}};
    struct stage stage;
    begin(&stage, "size=big");
    assert_in_range(run(&stage, &pace, 60, CLOCK_SECOND, ""), 25, 36);
    stage_end(&stage);
}

static void it_is_reported_once_others_have_finished_some_and_gets_its_share(void **state) {
    (void)state;
    static const struct pace_case pace = {.takes_ns = {0, 0, 5 * CLOCK_MINUTE}};
    struct stage stage;
    begin(&stage, "size=big");
    (void)run(&stage, &pace, 200, 5 * CLOCK_SECOND, "");
    assert_int_equal(suspect(&stage, 1), 1);
    assert_int_equal(suspect(&stage, 2), 0);
    assert_int_equal(stage_told(&stage, "WorkerSuspect: cluster w1 finishes workloads of this kind and namespace"), 1);
    (void)run(&stage, &pace, 100, 5 * CLOCK_SECOND, "");
    assert_in_range(run(&stage, &pace, 200, 5 * CLOCK_SECOND, ""), 80, 115);
    assert_int_equal(stage_told(&stage, "WorkerSuspect: "), 1);
    // It is as fast as the others from now on.
    static const struct pace_case honest = {.takes_ns = {0, 5 * CLOCK_MINUTE, 5 * CLOCK_MINUTE}};
    (void)run(&stage, &honest, 120, 5 * CLOCK_SECOND, "");
    assert_int_equal(suspect(&stage, 1), 0);
    assert_int_equal(stage_told(&stage, "WorkerTrusted: cluster w1 is no longer far faster than other workers\n"), 1);
    stage_end(&stage);
}

static void workers_that_are_equally_fast_share_and_none_is_suspect(void **state) {
    (void)state;
    static const int64_t takes[] = {0, 1 * CLOCK_SECOND, 30 * CLOCK_SECOND};
    for (size_t i = 0; i < sizeof takes / sizeof takes[0]; i++) {
        struct pace_case pace = {.takes_ns = {0, takes[i], takes[i]}};
        struct stage stage;
        begin(&stage, "size=big");
        assert_in_range(run(&stage, &pace, 200, CLOCK_SECOND, ""), 90, 110);
        assert_int_equal(suspect(&stage, 1) + suspect(&stage, 2), 0);
        stage_end(&stage);
    }
}

static void a_worker_that_is_twice_as_fast_gets_more_and_is_not_suspect(void **state) {
    (void)state;
    static const struct pace_case pace = {.takes_ns = {0, CLOCK_MINUTE, 2 * CLOCK_MINUTE}};
    struct stage stage;
    begin(&stage, "size=big");
    (void)run(&stage, &pace, 300, CLOCK_SECOND, "");
    assert_in_range(run(&stage, &pace, 300, CLOCK_SECOND, ""), 165, 230);
    assert_int_equal(suspect(&stage, 1) + suspect(&stage, 2), 0);
    stage_end(&stage);
}

// What may go to one worker only says nothing about that worker: others get other workloads.
static void workloads_without_a_choice_are_not_compared(void **state) {
    (void)state;
    static const struct pace_case pace = {.takes_ns = {0, 1 * CLOCK_SECOND, CLOCK_MINUTE}};
    struct stage stage;
    begin(&stage, "size=small");
    for (unsigned i = 0; i < 100; i++) {
        (void)run(&stage, &pace, 1, CLOCK_SECOND, "'wharf.dev/cluster-selector':'size=small'");
        (void)run(&stage, &pace, 1, CLOCK_SECOND, "'wharf.dev/cluster-selector':'size=big'");
    }
    assert_int_equal(suspect(&stage, 1) + suspect(&stage, 2), 0);
    stage_end(&stage);
}

// In w2 they wait in a queue.
static void time_before_the_start_does_not_count(void **state) {
    (void)state;
    static const struct pace_case pace = {.takes_ns = {0, 2 * CLOCK_SECOND, 2 * CLOCK_SECOND},
                                          .starts_ns = {0, 0, 3 * CLOCK_MINUTE}};
    struct stage stage;
    begin(&stage, "size=big");
    (void)run(&stage, &pace, 300, 2 * CLOCK_SECOND, "");
    assert_int_equal(suspect(&stage, 1) + suspect(&stage, 2), 0);
    stage_end(&stage);
}

static void add(struct recent *recent, int64_t began_ns, int64_t now_ns, unsigned count) {
    while (count-- > 0)
        recent_add(recent, began_ns, now_ns);
}

static void what_is_over_counts_for_a_minute_from_its_beginning(void **state) {
    (void)state;
    struct recent r = {.window_ns = 60 * CLOCK_SECOND};
    int64_t now_ns = 1000 * CLOCK_SECOND;
    assert_int_equal(recent_thousandths(&r, now_ns), 0);
    add(&r, now_ns, now_ns, 30);
    assert_int_equal(recent_thousandths(&r, now_ns + 59 * CLOCK_SECOND), 30000);
    assert_int_equal(recent_thousandths(&r, now_ns + 90 * CLOCK_SECOND), 15000);
    assert_int_equal(recent_thousandths(&r, now_ns + 119 * CLOCK_SECOND), 500);
    assert_int_equal(recent_thousandths(&r, now_ns + 120 * CLOCK_SECOND), 0);
    add(&r, now_ns + 80 * CLOCK_SECOND, now_ns + 90 * CLOCK_SECOND, 1);
    assert_int_equal(recent_thousandths(&r, now_ns + 90 * CLOCK_SECOND), 16000);
    add(&r, now_ns + 40 * CLOCK_SECOND, now_ns + 90 * CLOCK_SECOND, 1); // in the window before
    assert_int_equal(recent_thousandths(&r, now_ns + 90 * CLOCK_SECOND), 16500);
    add(&r, now_ns - 10 * CLOCK_SECOND, now_ns + 90 * CLOCK_SECOND, 5); // it took longer than that
    assert_int_equal(recent_thousandths(&r, now_ns + 90 * CLOCK_SECOND), 16500);
    add(&r, now_ns + 500 * CLOCK_SECOND, now_ns + 500 * CLOCK_SECOND, 1);
    assert_int_equal(recent_thousandths(&r, now_ns + 500 * CLOCK_SECOND), 1000);
}

// A worker that is idle after many short ones that had to go there is not passed over.
static void workloads_without_a_choice_do_not_count(void **state) {
    (void)state;
    static const struct pace_case pace = {.takes_ns = {0, 0, CLOCK_MINUTE}};
    struct stage stage;
    begin(&stage, "size=small");
    (void)run(&stage, &pace, 20, CLOCK_SECOND, "'wharf.dev/cluster-selector':'size=small'");
    assert_int_equal(run(&stage, &pace, 1, CLOCK_SECOND, ""), 1);
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_over_counts_for_a_minute_from_its_beginning),
        cmocka_unit_test(workloads_without_a_choice_do_not_count),
        cmocka_unit_test(a_worker_that_says_complete_at_once_does_not_get_all),
        cmocka_unit_test(it_is_reported_once_others_have_finished_some_and_gets_its_share),
        cmocka_unit_test(workers_that_are_equally_fast_share_and_none_is_suspect),
        cmocka_unit_test(a_worker_that_is_twice_as_fast_gets_more_and_is_not_suspect),
        cmocka_unit_test(workloads_without_a_choice_are_not_compared),
        cmocka_unit_test(time_before_the_start_does_not_count),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
