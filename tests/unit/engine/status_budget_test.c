// SPDX-License-Identifier: Apache-2.0
// What a worker's mirrors cause to be written to the management cluster is bounded: for each workload in number, for
// each worker in bytes.
#include "core/engine/status/status.h"

#include "tests/unit/engine/stage.h"

static void start_one(struct stage *stage) {
    stage_init(stage);
    stage_start(stage);
    stage_submit(stage, "a", "");
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_non_null(stage_job(stage, 1, "a"));
}

#define OFTEN_NS (200 * CLOCK_MS)

// For this long, the worker does this again and again.
static void often(struct stage *stage, int64_t ns, void (*act)(struct stage *stage)) {
    for (int64_t end_ns = stage->now.mono_ns + ns; stage->now.mono_ns < end_ns;) {
        act(stage);
        stage_run(stage, OFTEN_NS);
    }
}

static unsigned writes(const struct stage *stage) {
    return stage->sent[0][VERB_STATUS_PATCH] + stage->sent[0][VERB_MERGE_PATCH];
}

static int64_t active(struct stage *stage, size_t cluster, const char *name) {
    return json_int64(pointer_find(stage_job(stage, cluster, name), "/status/active"), -1);
}

static void set_active(struct stage *stage, const char *name, int count) {
    AUTO_TEXT patch = text_format("{'status':{'active':%d,'startTime':'2026-03-01T12:00:01Z'}}", count);
    stage_patch(stage, 1, name, "status", patch);
}

static void change_status(struct stage *stage) {
    set_active(stage, "a", (int)(stage->now.mono_ns / OFTEN_NS));
}

static void statuses_that_change_all_the_time_are_copied_ever_more_slowly(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    unsigned before = writes(&stage);
    often(&stage, 5 * CLOCK_SECOND, change_status);
    assert_in_range(writes(&stage) - before, 20, 26);
    often(&stage, 55 * CLOCK_SECOND, change_status);
    assert_in_range(writes(&stage) - before, 70, 81);
    often(&stage, 9 * CLOCK_MINUTE, change_status);
    assert_in_range(writes(&stage) - before, 150, 205);
    before = writes(&stage);
    often(&stage, 10 * CLOCK_MINUTE, change_status);
    before = writes(&stage);
    often(&stage, 10 * CLOCK_MINUTE, change_status);
    assert_in_range(writes(&stage) - before, 19, 21);
    stage_end(&stage);
}

static void the_newest_status_is_copied_once_it_may_be(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    often(&stage, 30 * CLOCK_MINUTE, change_status);
    assert_int_not_equal(active(&stage, 0, "a"), active(&stage, 1, "a"));
    stage_run(&stage, 31 * CLOCK_SECOND);
    assert_int_equal(active(&stage, 0, "a"), active(&stage, 1, "a"));
    assert_int_equal(stage_told(&stage, "StatusDelayed"), 1);
    unsigned before = writes(&stage);
    stage_run(&stage, 10 * CLOCK_MINUTE);
    assert_int_equal(writes(&stage), before);
    stage_end(&stage);
}

static void a_final_status_waits_for_nothing(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    often(&stage, 30 * CLOCK_MINUTE, change_status);
    stage_completes(&stage, 1, "a");
    stage_run(&stage, 20 * CLOCK_MS);
    assert_true(stage_finished(&stage, "a"));
    stage_end(&stage);
}

static bool passes(const struct engine *engine, const struct entry *entry, struct mirror *mirror) {
    struct worker_facts workers[2] = {[1] = {.connected = true}};
    struct decide_facts facts = {.workload = &entry->workload->facts, .mirrors = &mirror->facts, .workers = workers};
    status_budget_facts(engine, entry, &facts);
    return facts.status_passes;
}

// A worker may say again and again that it is over, of a kind whose workload does not end then.
static void a_status_is_final_only_once(void **state) {
    (void)state;
    struct engine engine = {.now = {.mono_ns = CLOCK_MINUTE}};
    struct mirror mirror = {.facts = {.cluster = 1, .attempt = 1, .present = true, .of_workload = true}};
    struct workload workload = {.facts = {.cluster = 1, .attempt = 1, .exists = true, .status_due = true}};
    struct entry entry = {.workload = &workload};
    assert_true(passes(&engine, &entry, &mirror));
    status_budget_copied(&entry, 1, false);
    assert_false(passes(&engine, &entry, &mirror));
    mirror.facts.finished = true;
    assert_true(passes(&engine, &entry, &mirror));
    status_budget_copied(&entry, 1, true);
    assert_false(passes(&engine, &entry, &mirror));
    workload.facts.attempt = mirror.facts.attempt = 2;
    assert_true(passes(&engine, &entry, &mirror));
}

static void after_a_rest_statuses_are_copied_at_once_again(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    often(&stage, 2 * CLOCK_MINUTE, change_status);
    stage_run(&stage, 2 * CLOCK_MINUTE);
    for (int i = 0; i < 20; i++) {
        set_active(&stage, "a", 1000 + i);
        stage_run(&stage, 10 * CLOCK_MS);
        assert_int_equal(active(&stage, 0, "a"), 1000 + i);
    }
    stage_end(&stage);
}

// A Job's controller writes its status at most once a second.
static void an_honest_worker_waits_for_nothing(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    for (int i = 0; i < 75; i++) {
        set_active(&stage, "a", 1000 + i);
        stage_run(&stage, 10 * CLOCK_MS);
        assert_int_equal(active(&stage, 0, "a"), 1000 + i);
        stage_run(&stage, CLOCK_SECOND);
    }
    stage_end(&stage);
}

static void flip(struct stage *stage) {
    bool suspended = stage->now.mono_ns / OFTEN_NS % 2;
    AUTO_TEXT status = text_format("{'status':{'active':%d,'conditions':[{'type':'Suspended','status':'%s'}]}}",
                                   !suspended, suspended ? "True" : "False");
    stage_patch(stage, 1, "a", NULL, suspended ? "{'spec':{'suspend':true}}" : "{'spec':{'suspend':false}}");
    stage_patch(stage, 1, "a", "status", status);
}

static void a_mirror_that_is_suspended_and_resumed_all_the_time_causes_few_writes(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    unsigned before = writes(&stage), there = stage.sent[1][VERB_MERGE_PATCH];
    often(&stage, 10 * CLOCK_MINUTE, flip);
    assert_in_range(writes(&stage) - before, 20, 205);
    assert_in_range(stage.sent[1][VERB_MERGE_PATCH] - there, 0, 30);
    stage_end(&stage);
}

// The mirror is gone again and again, between statuses.
static void a_further_attempt_counts_and_waits(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    often(&stage, 2 * CLOCK_MINUTE, change_status);
    for (unsigned before = writes(&stage); writes(&stage) == before;)
        often(&stage, OFTEN_NS, change_status);
    stage_delete(&stage, 1, "a");
    stage_run(&stage, 20 * CLOCK_MS);
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    stage_run(&stage, 6 * CLOCK_SECOND);
    assert_int_equal(stage_attempt(&stage, "a"), 2);
    assert_non_null(stage_job(&stage, stage_where(&stage, "a"), "a"));
    stage_end(&stage);
}

#define BYTES ((size_t)16 << 10) // a second, and 4 MiB at once
#define LIARS 10

static void count_bytes(struct stage *stage, size_t cluster, const struct world_write *write) {
    size_t len = 0;
    AUTO_TEXT text = cluster == 0 && write->old ? json_text(write->now, &len) : NULL;
    const char *worker = text ? object_annotation(write->now, MARK_CLUSTER) : NULL;
    if (text_equal(worker, "w1"))
        *(size_t *)stage->ctx += len;
}

static void set_heavy(struct stage *stage, const char *name, int count, int size) {
    AUTO_TEXT patch = text_format("{'status':{'active':%d,'startTime':'2026-03-01T12:00:01Z','conditions':[{'type':"
                                  "'Note','status':'True','message':'%0*d'}]}}",
                                  count, size, count);
    assert_int_equal(stage_patch(stage, 1, name, "status", patch), 200);
}

static void name_liar(char name[24], int i) {
    snprintf(name, 24, "liar-%d", i);
}

static void lie(struct stage *stage) {
    char name[24];
    for (int i = 0; i < LIARS; i++) {
        name_liar(name, i);
        set_heavy(stage, name, (int)(stage->now.mono_ns / OFTEN_NS), 20000);
    }
    stage_run(stage, 3 * OFTEN_NS);
}

static void submit_to(struct stage *stage, const char *name, size_t worker) {
    AUTO_TEXT names = text_format("'wharf.dev/cluster-names':'w%zu'", worker);
    stage_submit(stage, name, names);
    stage_run(stage, CLOCK_SECOND);
    assert_int_equal(stage_where(stage, name), worker);
}

// Workloads in w1, all of which change heavy statuses all the time, for a minute; *bytes are those that were written.
static void start_liars(struct stage *stage, size_t *bytes) {
    char name[24];
    *bytes = 0;
    stage_init(stage);
    stage->options.settings.status_bytes = BYTES;
    stage_start(stage);
    for (int i = 0; i < LIARS; i++) {
        name_liar(name, i);
        submit_to(stage, name, 1);
    }
    submit_to(stage, "b", 1);
    submit_to(stage, "c", 2);
    stage->ctx = bytes;
    stage->wrote = count_bytes;
    often(stage, CLOCK_MINUTE, lie);
}

static void a_worker_fills_no_more_of_the_management_cluster_than_it_may(void **state) {
    (void)state;
    struct stage stage;
    size_t bytes;
    start_liars(&stage, &bytes);
    size_t burst = 256 * BYTES, slack = 3 * 25000 + 5 * BYTES;
    assert_in_range(bytes, burst, burst + 60 * BYTES + slack);
    often(&stage, 9 * CLOCK_MINUTE, lie);
    assert_in_range(bytes, burst + 580 * BYTES, burst + 600 * BYTES + slack);
    const struct stats_cluster *stats = engine_stats(stage.engine)->clusters;
    assert_true(stats[1].statuses_wait);
    assert_false(stats[2].statuses_wait);
    assert_in_range(stats[1].status_bytes, bytes * 9 / 10, bytes * 11 / 10);
    stage_end(&stage);
}

static void its_other_workloads_and_other_workers_go_on(void **state) {
    (void)state;
    struct stage stage;
    size_t bytes;
    start_liars(&stage, &bytes);
    // The first status of a workload, and one of another worker.
    lie(&stage);
    set_active(&stage, "b", 1);
    stage_runs(&stage, 2, "c");
    stage_run(&stage, 20 * CLOCK_MS);
    assert_int_equal(active(&stage, 0, "b"), 1);
    assert_int_equal(active(&stage, 0, "c"), 1);
    // One that is not the first gets its turn among those that change all the time.
    set_active(&stage, "b", 7);
    often(&stage, 10 * CLOCK_SECOND, lie);
    assert_int_equal(active(&stage, 0, "b"), 7);
    // The final one.
    stage_completes(&stage, 1, "b");
    stage_run(&stage, 20 * CLOCK_MS);
    assert_true(stage_finished(&stage, "b"));
    stage_end(&stage);
}

// Each of many workloads has a first status.
static void first_statuses_are_bounded_as_well(void **state) {
    (void)state;
    struct stage stage;
    size_t bytes, copied = 0;
    char name[24];
    start_liars(&stage, &bytes);
    size_t before = bytes;
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "new-%d", i);
        submit_to(&stage, name, 1);
        set_heavy(&stage, name, 7, 200000);
        stage_run(&stage, 20 * CLOCK_MS);
        copied += active(&stage, 0, name) == 7;
    }
    assert_in_range(copied, 15, 30);
    assert_in_range(bytes - before, 200 * BYTES, 340 * BYTES);
    stage_run(&stage, 20 * CLOCK_MINUTE);
    assert_int_equal(active(&stage, 0, name), 7);
    stage_end(&stage);
}

static void it_is_reported_once_and_the_newest_statuses_are_copied_later(void **state) {
    (void)state;
    struct stage stage;
    size_t bytes;
    char name[24];
    start_liars(&stage, &bytes);
    often(&stage, 2 * CLOCK_MINUTE, lie);
    assert_int_equal(stage.warnings, 1);
    stage_run(&stage, 5 * CLOCK_MINUTE);
    for (int i = 0; i < LIARS; i++) {
        name_liar(name, i);
        assert_int_equal(active(&stage, 0, name), active(&stage, 1, name));
    }
    stage_step(&stage, &(struct engine_event){.type = EVENT_TIME});
    assert_false(engine_stats(stage.engine)->clusters[1].statuses_wait);
    often(&stage, 2 * CLOCK_MINUTE, lie);
    assert_int_equal(stage.warnings, 2);
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses_that_change_all_the_time_are_copied_ever_more_slowly),
        cmocka_unit_test(the_newest_status_is_copied_once_it_may_be),
        cmocka_unit_test(a_final_status_waits_for_nothing),
        cmocka_unit_test(a_status_is_final_only_once),
        cmocka_unit_test(after_a_rest_statuses_are_copied_at_once_again),
        cmocka_unit_test(an_honest_worker_waits_for_nothing),
        cmocka_unit_test(a_mirror_that_is_suspended_and_resumed_all_the_time_causes_few_writes),
        cmocka_unit_test(a_further_attempt_counts_and_waits),
        cmocka_unit_test(a_worker_fills_no_more_of_the_management_cluster_than_it_may),
        cmocka_unit_test(its_other_workloads_and_other_workers_go_on),
        cmocka_unit_test(first_statuses_are_bounded_as_well),
        cmocka_unit_test(it_is_reported_once_and_the_newest_statuses_are_copied_later),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
