// SPDX-License-Identifier: Apache-2.0
// What people are shown of a workload: its attempts, the reason of each worker, and what changed since they last asked.
#include "core/engine/history/inspect.h"

#include "tests/unit/engine/stage.h"

#include <string.h>

// An explanation, in a form that tests compare.
struct story_text {
    struct explain_view view;
    bool known;
    char attempts[2048]; // the oldest first: "1 w1 Rejected(text);2 w2 -;"
    char workers[1024];  // "w1 text;w2 text;"
    int64_t until_ns[STAGE_CLUSTERS];
    enum worker_obstacle obstacles[STAGE_CLUSTERS];
    char brief[STAGE_CLUSTERS][64];
    struct attempt attempt[ATTEMPTS_MAX + 1]; // copies, the newest first; without texts
    size_t n_attempts, n_workers;
};

static void add_worker(void *ctx, const char *name, const struct worker_reason *reason, int64_t until_wall_ns,
                       int64_t since_wall_ns) {
    (void)since_wall_ns;
    struct story_text *text = ctx;
    size_t c = ++text->n_workers, len = strlen(text->workers);
    snprintf(text->workers + len, sizeof text->workers - len, "%s %s;", name, reason->text);
    text->until_ns[c] = until_wall_ns;
    text->obstacles[c] = reason->obstacle;
    text_copy(text->brief[c], sizeof text->brief[c], reason->brief);
}

static void write_attempts(struct story_text *text, const struct attempt *attempt) {
    if (!attempt)
        return;
    memcpy(&text->attempt[text->n_attempts++], attempt, sizeof *attempt);
    write_attempts(text, attempt->older);
    size_t len = strlen(text->attempts);
    const char *outcome = outcome_name((enum outcome)attempt->outcome);
    snprintf(text->attempts + len, sizeof text->attempts - len, "%u %s %s%s%s%s;", attempt->number, attempt->cluster,
             outcome ? outcome : "-", attempt->message ? "(" : "", attempt->message ? attempt->message : "",
             attempt->message ? ")" : "");
}

static void explain(struct stage *stage, const char *name, struct story_text *text) {
    *text = (struct story_text){.known = false};
    text->known =
        inspect_explain(stage->engine, stage->now, stage->kind, "default", name, &text->view, add_worker, text);
    if (text->known)
        write_attempts(text, text->view.attempts);
}

static void begin(struct stage *stage) {
    stage_init(stage);
    stage_start(stage);
    stage_submit(stage, "a", "");
    stage_run(stage, CLOCK_SECOND);
}

static void assert_no_words(struct stage *stage, const char *begin) {
    const char *why = inspect_no_words(stage->engine, stage->kind, "default", "a");
    if (strncmp(why, begin, strlen(begin)) != 0)
        fail_msg("found \"%s\", expected \"%s\"", why, begin);
}

static void the_reason_why_nothing_is_kept_is_told_where_it_is_known(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage.options.settings.last_words = LAST_WORDS_LOGS;
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_SECOND);
    size_t where = stage_where(&stage, "a");
    stage_runs(&stage, where, "a");
    stage_run(&stage, CLOCK_SECOND);
    assert_string_equal(inspect_no_words(stage.engine, stage.kind, "default", "a"), "no attempt has failed");
    assert_int_equal(stage_delete(&stage, where, "a"), 200);
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage_attempt(&stage, "a"), 2);
    assert_string_equal(inspect_no_words(stage.engine, stage.kind, "default", "a"), "no attempt has failed");
    stage_restart(&stage); // knows nothing of the first attempt
    stage_run(&stage, CLOCK_SECOND);
    assert_no_words(&stage, "no attempt has failed, or its pods were gone or could not be read");
    assert_int_equal(stage_patch(&stage, stage_where(&stage, "a"), "a", "status",
                                 "{'status':{'failed':1,'startTime':'2026-03-01T12:00:01Z','conditions':["
                                 "{'type':'FailureTarget','status':'True'},{'type':'Failed','status':'True'}]}}"),
                     200);
    stage_run(&stage, CLOCK_SECOND);
    assert_no_words(&stage, "an attempt has failed, but its pods were gone or could not be read");
    stage_end(&stage);
    stage_init(&stage);
    stage.options.settings.last_words = LAST_WORDS_NONE;
    stage_start(&stage);
    assert_string_equal(inspect_no_words(stage.engine, stage.kind, "default", "a"),
                        "the host's configuration has lastWords: none");
    stage_end(&stage);
}

static void an_attempt_has_its_times_and_its_outcome(void **state) {
    (void)state;
    struct stage stage;
    struct story_text text;
    begin(&stage);
    int64_t begun_ns = stage.now.wall_ns - CLOCK_SECOND;
    size_t where = stage_where(&stage, "a");
    stage_runs(&stage, where, "a");
    stage_run(&stage, CLOCK_SECOND);
    explain(&stage, "a", &text);
    assert_true(text.known);
    assert_string_equal(text.attempts, where == 1 ? "1 w1 -;" : "1 w2 -;");
    assert_int_equal(text.view.workload.phase, WHARF_ACTIVE);
    assert_true(text.view.has_mirror);
    assert_int_equal(text.view.mirror.cluster, where);
    assert_int_equal(text.view.mirror.phase, WHARF_ACTIVE);
    assert_string_equal(text.view.mirror.version, "v1");
    assert_in_range(text.attempt[0].placed_ns, begun_ns, begun_ns + CLOCK_SECOND);
    assert_true(text.attempt[0].created_ns > 0);
    int64_t start_ns = 0;
    assert_true(clock_parse_rfc3339("2026-03-01T12:00:01Z", &start_ns));
    assert_int_equal(text.attempt[0].started_ns, start_ns);
    assert_int_equal(text.attempt[0].ended_ns, 0);
    stage_completes(&stage, where, "a");
    stage_run(&stage, CLOCK_SECOND);
    explain(&stage, "a", &text);
    assert_non_null(strstr(text.attempts, " Succeeded"));
    assert_int_equal(text.attempt[0].ended_ns, start_ns + CLOCK_SECOND);
    stage_end(&stage);
}

static void after_a_restart_the_times_come_from_the_objects(void **state) {
    (void)state;
    struct stage stage;
    struct story_text before, after;
    begin(&stage);
    size_t where = stage_where(&stage, "a");
    stage_runs(&stage, where, "a");
    stage_run(&stage, CLOCK_SECOND);
    explain(&stage, "a", &before);
    stage_run(&stage, CLOCK_MINUTE);
    stage_restart(&stage);
    stage_run(&stage, 2 * CLOCK_SECOND);
    explain(&stage, "a", &after);
    assert_string_equal(after.attempts, before.attempts);
    assert_int_equal(after.attempt[0].created_ns, before.attempt[0].created_ns);
    assert_int_equal(after.attempt[0].started_ns, before.attempt[0].started_ns);
    assert_int_equal(after.attempt[0].placed_ns, after.attempt[0].created_ns);
    stage_end(&stage);
}

static int reject_in_w1(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->request.verb == VERB_CREATE && command->cluster == 1 ? 403 : STAGE_PASS;
}

static int reject_everywhere(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->request.verb == VERB_CREATE && command->cluster > 0 ? 403 : STAGE_PASS;
}

static void a_rejection_is_kept_with_what_the_worker_said(void **state) {
    (void)state;
    struct stage stage;
    struct story_text text;
    stage_init(&stage);
    stage.meddle = reject_in_w1;
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_SECOND);
    explain(&stage, "a", &text);
    assert_string_equal(text.attempts, "1 w1 Rejected(meddled);2 w2 -;");
    assert_string_equal(text.workers, "w1 rejected the mirror: meddled;w2 has the workload;");
    assert_int_equal(text.obstacles[1], OBSTACLE_REJECTED);
    assert_string_equal(text.brief[1], "forbidden");
    assert_true(text.until_ns[1] > stage.now.wall_ns);
    assert_int_equal(text.obstacles[2], OBSTACLE_NONE);
    stage_end(&stage);
}

static void what_is_kept_of_a_workload_is_bounded(void **state) {
    (void)state;
    struct stage stage;
    struct story_text text;
    stage_init(&stage);
    stage.meddle = reject_everywhere;
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 4 * 60 * CLOCK_MINUTE);
    assert_true(stage_attempt(&stage, "a") > ATTEMPTS_MAX + 5);
    explain(&stage, "a", &text);
    assert_int_equal(text.n_attempts, ATTEMPTS_MAX);
    assert_int_equal(text.attempt[0].number, stage_attempt(&stage, "a"));
    stage.meddle = NULL;
    stage_run(&stage, 20 * CLOCK_MINUTE);
    explain(&stage, "a", &text);
    assert_int_equal(text.attempt[0].outcome, OUTCOME_NONE);
    assert_true(text.view.has_mirror);
    stage_end(&stage);
}

static void a_lost_worker_ends_its_attempt_and_is_named(void **state) {
    (void)state;
    struct stage stage;
    struct story_text text;
    begin(&stage);
    size_t where = stage_where(&stage, "a"), other = 3 - where;
    stage_disconnect(&stage, where);
    stage_run(&stage, CLOCK_MINUTE);
    explain(&stage, "a", &text);
    assert_int_equal(text.obstacles[where], OBSTACLE_UNREACHABLE);
    assert_int_equal(text.obstacles[other], OBSTACLE_NONE);
    assert_int_equal(text.view.workload.waiting, WAITING_WORKER);
    assert_string_equal(text.view.workload.waits_for, where == 1 ? "w1" : "w2");
    assert_in_range(text.view.workload.waiting_until_ns, stage.now.wall_ns + 3 * CLOCK_MINUTE,
                    stage.now.wall_ns + 4 * CLOCK_MINUTE);
    stage_run(&stage, 5 * CLOCK_MINUTE);
    explain(&stage, "a", &text);
    assert_string_equal(text.attempts, where == 1 ? "1 w1 Lost;2 w2 -;" : "1 w2 Lost;2 w1 -;");
    stage_end(&stage);
}

static void a_mirror_deleted_by_somebody_else_ends_its_attempt(void **state) {
    (void)state;
    struct stage stage;
    struct story_text text;
    begin(&stage);
    size_t where = stage_where(&stage, "a");
    assert_int_equal(stage_delete(&stage, where, "a"), 200);
    stage_run(&stage, 5 * CLOCK_SECOND);
    explain(&stage, "a", &text);
    assert_non_null(strstr(text.attempts, " Deleted;2 w"));
    assert_true(text.attempt[1].ended_ns > 0);
    stage_end(&stage);
}

static void a_workload_that_is_not_delegated_is_not_known(void **state) {
    (void)state;
    struct stage stage;
    struct story_text text;
    begin(&stage);
    explain(&stage, "b", &text);
    assert_false(text.known);
    assert_string_equal(inspect_version(stage.engine, stage.kind), "v1");
    assert_string_equal(inspect_problem(stage.engine, stage.kind), "");
    stage_disconnect(&stage, 0);
    stage_run(&stage, CLOCK_SECOND);
    assert_string_not_equal(inspect_problem(stage.engine, stage.kind), "");
    stage_end(&stage);
}

struct seen {
    char names[512]; // "a,b,"
    uint64_t last;
};

static bool see(void *ctx, const struct workload_view *view) {
    struct seen *seen = ctx;
    size_t len = strlen(seen->names);
    assert_true(view->sequence > seen->last);
    seen->last = view->sequence;
    snprintf(seen->names + len, sizeof seen->names - len, "%s,", view->name);
    return true;
}

static void see_gone(void *ctx, size_t kind, const char *namespace_, const char *name) {
    struct seen *seen = ctx;
    size_t len = strlen(seen->names);
    assert_int_equal(kind, 0);
    snprintf(seen->names + len, sizeof seen->names - len, "%s/%s,", namespace_, name);
}

static void assert_changed(struct stage *stage, uint64_t since, const char *names) {
    struct seen seen = {.last = since};
    uint64_t after = since;
    assert_true(inspect_knows_since(stage->engine, since));
    while (inspect_changes(stage->engine, stage->now, &after, 2, see, &seen))
        ;
    assert_string_equal(seen.names, names);
}

static void assert_gone(struct stage *stage, uint64_t since, const char *names) {
    struct seen seen = {.last = 0};
    inspect_gone(stage->engine, since, see_gone, &seen);
    assert_string_equal(seen.names, names);
}

static void who_asks_again_is_told_what_changed_since(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    stage_submit(&stage, "b", "");
    stage_submit(&stage, "c", "");
    stage_run(&stage, CLOCK_SECOND);
    struct seen all = {.last = 0};
    uint64_t after = 0, then = inspect_sequence(stage.engine);
    while (inspect_changes(stage.engine, stage.now, &after, 2, see, &all))
        ;
    assert_int_equal(strlen(all.names), strlen("a,b,c,"));
    assert_int_equal(all.last, then);
    assert_changed(&stage, then, "");
    stage_runs(&stage, stage_where(&stage, "b"), "b");
    stage_run(&stage, CLOCK_SECOND);
    assert_changed(&stage, then, "b,");
    assert_int_equal(stage_delete(&stage, 0, "c"), 200);
    stage_run(&stage, 5 * CLOCK_SECOND);
    assert_gone(&stage, then, "default/c,");
    assert_changed(&stage, then, "b,");
    stage_submit(&stage, "c", "");
    stage_run(&stage, CLOCK_SECOND);
    assert_gone(&stage, then, "");
    assert_changed(&stage, then, "b,c,");
    assert_gone(&stage, inspect_sequence(stage.engine), "");
    stage_end(&stage);
}

static void what_an_earlier_process_said_is_not_continued(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    uint64_t then = inspect_sequence(stage.engine);
    assert_false(inspect_knows_since(stage.engine, 0));
    assert_false(inspect_knows_since(stage.engine, then + 1));
    stage_run(&stage, CLOCK_MINUTE);
    stage_restart(&stage);
    stage_run(&stage, CLOCK_SECOND);
    assert_false(inspect_knows_since(stage.engine, then));
    assert_true(inspect_sequence(stage.engine) > then);
    assert_true(inspect_sequence(stage.engine) < UINT64_C(1) << 53); // a number in JSON
    stage_end(&stage);
}

static void deletions_that_were_forgotten_are_not_passed_over(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage);
    uint64_t then = inspect_sequence(stage.engine);
    for (int i = 0; i < 1100; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        stage_submit(&stage, name, "");
        stage_run(&stage, 50 * CLOCK_MS);
        assert_int_equal(stage_delete(&stage, 0, name), 200);
        stage_run(&stage, 50 * CLOCK_MS);
    }
    assert_false(inspect_knows_since(stage.engine, then));
    assert_true(inspect_knows_since(stage.engine, inspect_sequence(stage.engine) - 5));
    stage_end(&stage);
}

// Slices with changes in between: what did not change is seen exactly once, what changed at least once.
static void slices_miss_nothing_while_workloads_change(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage_start(&stage);
    char name[16];
    for (int i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "x%02d", i);
        stage_submit(&stage, name, "");
    }
    stage_run(&stage, 2 * CLOCK_SECOND);
    struct seen seen = {.last = 0};
    uint64_t after = 0;
    struct random random = {7};
    bool more = true;
    for (int i = 0; more; i++) {
        more = inspect_changes(stage.engine, stage.now, &after, 5, see, &seen);
        uint64_t other = random_below(&random, 2) ? after - 1 : 0; // another reader in between
        struct seen theirs = {.last = 0};
        (void)inspect_changes(stage.engine, stage.now, &other, 1, see, &theirs);
        snprintf(name, sizeof name, "x%02d", (int)random_below(&random, 60));
        if (i < 8 && stage_where(&stage, name))
            stage_runs(&stage, stage_where(&stage, name), name);
        stage_run(&stage, 100 * CLOCK_MS);
    }
    for (int i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "x%02d,", i);
        assert_non_null(strstr(seen.names, name));
    }
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_attempt_has_its_times_and_its_outcome),
        cmocka_unit_test(the_reason_why_nothing_is_kept_is_told_where_it_is_known),
        cmocka_unit_test(after_a_restart_the_times_come_from_the_objects),
        cmocka_unit_test(a_rejection_is_kept_with_what_the_worker_said),
        cmocka_unit_test(what_is_kept_of_a_workload_is_bounded),
        cmocka_unit_test(a_lost_worker_ends_its_attempt_and_is_named),
        cmocka_unit_test(a_mirror_deleted_by_somebody_else_ends_its_attempt),
        cmocka_unit_test(a_workload_that_is_not_delegated_is_not_known),
        cmocka_unit_test(who_asks_again_is_told_what_changed_since),
        cmocka_unit_test(what_an_earlier_process_said_is_not_continued),
        cmocka_unit_test(deletions_that_were_forgotten_are_not_passed_over),
        cmocka_unit_test(slices_miss_nothing_while_workloads_change),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
