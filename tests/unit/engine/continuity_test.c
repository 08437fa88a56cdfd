// SPDX-License-Identifier: Apache-2.0
// A further attempt goes on where the former one was: each step, each end of the host between two steps, each answer
// that is lost, and each refusal. core/engine/continuity/, rules P1 to P5 of docs/lifecycle.md.
#include "tests/unit/engine/continuity_play.h"

#define LONG (5 * CLOCK_MINUTE)
#define RESUME "{'spec':{'suspend':false}}"

static void a_further_attempt_gets_the_progress_before_it_runs(void **state) {
    (void)state;
    struct stage stage;
    play_init(&stage);
    play_first(&stage, "");
    unsigned before = stage.sent[2][VERB_STATUS_PATCH];
    play_move(&stage, LONG);
    play_assert_goes_on(&stage);
    assert_int_equal(stage.sent[2][VERB_CREATE], 1);
    assert_int_equal(stage.sent[2][VERB_STATUS_PATCH] - before, 1);
    assert_int_equal(stage.sent[2][VERB_MERGE_PATCH], 1);
    assert_int_equal(seen.writes, 5); // the deletion, the placement, and these three
    assert_string_equal(play_text(&stage, 0, INDEXES), "0-2");
    play_does(&stage, 2, 5, "0-4");
    stage_run(&stage, CLOCK_SECOND);
    assert_string_equal(play_text(&stage, 0, INDEXES), "0-4");
    play_assert(&stage, 2, "given", "0-4");
    stage_end(&stage);
}

static void a_life_with_one_attempt_costs_nothing(void **state) {
    (void)state;
    struct stage stage;
    play_init(&stage);
    play_first(&stage, "");
    stage_run(&stage, LONG);
    assert_int_equal(stage.sent[1][VERB_CREATE], 1);
    assert_int_equal(stage.sent[1][VERB_MERGE_PATCH] + stage.sent[1][VERB_STATUS_PATCH] + stage.sent[1][VERB_GET], 0);
    assert_int_equal(stage.sent[0][VERB_MERGE_PATCH], 1);
    assert_int_equal(stage.sent[0][VERB_STATUS_PATCH], 1);
    assert_string_equal(play_text(&stage, 1, PROGRESS), "");
    stage_end(&stage);
}

static void a_value_of_an_annotation_that_is_ignored_is_told_once(void **state) {
    (void)state;
    struct stage stage;
    play_init(&stage);
    play_first(&stage, "'wharf.dev/continue':'no','wharf.dev/attempt-env':'true'");
    assert_int_equal(stage_told(&stage,
                                "InvalidAnnotation: annotation wharf.dev/continue is ignored: found \"no\", expected "
                                "\"false\"\n"),
                     1);
    play_does(&stage, 1, 4, "0-3");
    assert_int_equal(stage_patch(&stage, 0, "a", NULL, "{'metadata':{'annotations':{'wharf.dev/attempt-env':'yes'}}}"),
                     200);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_told(&stage,
                                "InvalidAnnotation: annotation wharf.dev/attempt-env is ignored: found \"yes\", "
                                "expected \"true\"\n"),
                     1);
    size_t told = stage_told(&stage, "InvalidAnnotation: ");
    assert_int_equal(
        stage_patch(&stage, 0, "a", NULL,
                    "{'metadata':{'annotations':{'wharf.dev/attempt-env':'false','wharf.dev/continue':'true'}}}"),
        200);
    stage_run(&stage, LONG);
    assert_int_equal(stage_told(&stage, "InvalidAnnotation: "), told);
    stage_end(&stage);
}

static void nothing_achieved_is_nothing_owed(void **state) {
    (void)state;
    struct stage stage;
    play_init(&stage);
    seen.indexes = NULL;
    stage_start(&stage);
    play_submit(&stage, "");
    stage_runs(&stage, 1, "a");
    stage_run(&stage, CLOCK_SECOND);
    play_move(&stage, LONG);
    play_assert_starts_anew(&stage, 0);
    assert_int_equal(stage.sent[2][VERB_MERGE_PATCH] + stage.sent[2][VERB_STATUS_PATCH], 0);
    stage_end(&stage);
}

// Rule P3: the host ends after its first, second, ... write, whose answer it never hears.
static void a_host_that_ends_at_any_point_goes_on(void **state) {
    (void)state;
    unsigned points = 0;
    for (unsigned writes = 1; writes < 20; writes++) {
        struct stage stage;
        play_init(&stage);
        play_first(&stage, "");
        play_drain(&stage);
        int64_t end_ns = stage.now.mono_ns + 10 * CLOCK_SECOND;
        while (seen.writes < writes && stage.now.mono_ns < end_ns)
            stage_run(&stage, CLOCK_MS / 2);
        bool ended = seen.writes >= writes;
        if (ended)
            play_restart(&stage);
        points += ended;
        stage_run(&stage, LONG);
        play_assert_goes_on(&stage);
        stage_end(&stage);
    }
    assert_int_equal(points, 5);
}

// The first request of this kind to w2 has this answer.
static struct {
    enum verb verb;
    int answer;
    unsigned times; // so many, not only the first
} spoilt;

static int spoil(struct stage *stage, const struct command *command) {
    (void)stage;
    if (command->cluster != 2 || command->request.verb != spoilt.verb || spoilt.times == 0)
        return STAGE_PASS;
    spoilt.times--;
    return spoilt.answer;
}

static void an_answer_that_is_lost_or_fails_changes_nothing(void **state) {
    (void)state;
    static const enum verb verbs[] = {VERB_CREATE, VERB_STATUS_PATCH, VERB_MERGE_PATCH};
    static const int answers[] = {STAGE_LOST, STAGE_UNHEARD, 409, 429, 500, 503};
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
        for (size_t j = 0; j < sizeof answers / sizeof answers[0]; j++)
            for (unsigned times = 1; times <= 3; times++) {
                struct stage stage;
                play_init(&stage);
                play_first(&stage, "");
                spoilt.verb = verbs[i];
                spoilt.answer = answers[j];
                spoilt.times = times;
                stage.meddle = spoil;
                play_move(&stage, LONG);
                assert_int_equal(spoilt.times, answers[j] == STAGE_UNHEARD ? times - 1 : 0);
                play_assert_goes_on(&stage);
                stage_end(&stage);
            }
}

// The same, and the host ends before it knows.
static void a_lost_answer_and_the_end_of_the_host(void **state) {
    (void)state;
    static const enum verb verbs[] = {VERB_CREATE, VERB_STATUS_PATCH, VERB_MERGE_PATCH};
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
        for (int answer = STAGE_UNHEARD; answer < STAGE_PASS; answer++) {
            struct stage stage;
            play_init(&stage);
            play_first(&stage, "");
            spoilt.verb = verbs[i];
            spoilt.answer = answer;
            spoilt.times = 1;
            stage.meddle = spoil;
            play_move(&stage, 5 * CLOCK_SECOND);
            assert_int_equal(spoilt.times, 0);
            play_restart(&stage);
            stage_run(&stage, 2 * LONG);
            play_assert_goes_on(&stage);
            stage_end(&stage);
        }
}

static void a_refusal_is_told_once_and_the_attempt_starts_from_nothing(void **state) {
    (void)state;
    static const int answers[] = {400, 403, 404, 405, 422};
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        struct stage stage;
        play_init(&stage);
        play_first(&stage, "");
        seen.indexes = NULL;
        spoilt.verb = VERB_STATUS_PATCH;
        spoilt.answer = answers[i];
        spoilt.times = 1000;
        stage.meddle = spoil;
        play_move(&stage, LONG);
        play_assert_starts_anew(&stage, 1);
        assert_int_equal(stage_told(&stage, "wharf join"), answers[i] == 403);
        assert_int_equal(spoilt.times, answers[i] == 404 ? 998 : 999);
        assert_int_equal(stage_patch(&stage, 2, "a", NULL, "{'spec':{'suspend':true}}"), 200); // another Event
        stage_run(&stage, CLOCK_MINUTE);
        assert_int_equal(stage_told(&stage, "SuspendedInWorker"), 1);
        assert_int_equal(stage_told(&stage, "ProgressRefused"), 1);
        assert_int_equal(stage_patch(&stage, 2, "a", NULL, RESUME), 200);
        play_restart(&stage);
        stage_run(&stage, LONG);
        play_assert_starts_anew(&stage, 1);
        assert_string_equal(play_text(&stage, 0, INDEXES), "0-2"); // rule P8
        stage_end(&stage);
    }
}

// The mirror's spec says what is left.
static void without_indexes_no_status_is_needed(void **state) {
    (void)state;
    struct stage stage;
    play_init(&stage);
    seen.indexes = NULL;
    stage_start(&stage);
    assert_int_equal(stage_apply(&stage, 0, "batch", "jobs",
                                 "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'a','namespace':'default'},"
                                 "'spec':{'managedBy':'wharf.dev/host','completions':6,'backoffLimit':4,'template':{"
                                 "'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'i'}]}}}}"),
                     201);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_patch(&stage, 1, "a", "status",
                                 "{'status':{'startTime':'" HARNESS_NOW "','active':1,'succeeded':4,'failed':1}}"),
                     200);
    stage_run(&stage, CLOCK_SECOND);
    play_move(&stage, LONG);
    play_assert_starts_anew(&stage, 0);
    assert_int_equal(stage.sent[2][VERB_STATUS_PATCH] + stage.sent[2][VERB_MERGE_PATCH], 0);
    assert_int_equal(json_int64(pointer_find(stage_job(&stage, 2, "a"), "/spec/completions"), 0), 2);
    assert_int_equal(json_int64(pointer_find(stage_job(&stage, 2, "a"), "/spec/backoffLimit"), 0), 3);
    assert_int_equal(
        stage_patch(&stage, 2, "a", "status", "{'status':{'startTime':'" HARNESS_NOW "','active':1,'succeeded':1}}"),
        200);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(json_int64(pointer_find(stage_job(&stage, 0, "a"), "/status/succeeded"), 0), 5);
    assert_int_equal(json_int64(pointer_find(stage_job(&stage, 0, "a"), "/status/failed"), 0), 1);
    stage_end(&stage);
}

static void a_worker_that_always_fails_does_not_keep_the_workload(void **state) {
    (void)state;
    struct stage stage;
    play_init(&stage);
    play_first(&stage, "");
    seen.indexes = NULL;
    spoilt.verb = VERB_STATUS_PATCH;
    spoilt.answer = 500;
    spoilt.times = 1000;
    stage.meddle = spoil;
    play_move(&stage, CLOCK_SECOND);
    play_assert(&stage, 2, "owed", "");
    struct explain_view view;
    stage_explain(&stage, "a", &view);
    assert_string_equal(view.mirror.progress, "owed");
    stage_run(&stage, LONG);
    play_assert_starts_anew(&stage, 1);
    stage_explain(&stage, "a", &view);
    assert_string_equal(view.mirror.progress, "refused");
    stage_end(&stage);
}

// The patch has nothing for the server, which accepts it.
static int drop(struct stage *stage, const struct command *command) {
    (void)stage;
    if (command->cluster == 2 && command->request.verb == VERB_STATUS_PATCH && spoilt.times > 0) {
        char *status = strstr((char *)(uintptr_t)command->request.body, "\"status\":");
        assert_non_null(status);
        status[1] = 'x';
        spoilt.times--;
    }
    return STAGE_PASS;
}

static void a_status_that_the_worker_does_not_keep(void **state) {
    (void)state;
    for (unsigned times = 1; times <= 2; times++) {
        struct stage stage;
        play_init(&stage);
        play_first(&stage, "");
        seen.indexes = times == 1 ? "0-2" : NULL;
        spoilt.times = times;
        stage.meddle = drop;
        play_move(&stage, LONG);
        if (times == 1)
            play_assert_goes_on(&stage);
        else
            play_assert_starts_anew(&stage, 1);
        assert_int_equal(stage_told(&stage, "does not keep it"), times - 1);
        stage_end(&stage);
    }
}

static unsigned resets;

// A controller in the worker takes the status back between the host's patches of the status and of the mirror.
static int reset(struct stage *stage, const struct command *command) {
    if (command->cluster != 2 || command->request.verb != VERB_MERGE_PATCH || !*play_text(stage, 2, INDEXES))
        return STAGE_PASS;
    resets++;
    assert_int_equal(
        stage_patch(stage, 2, "a", "status", "{'status':{'succeeded':null,'completedIndexes':null,'ready':0}}"), 200);
    return STAGE_PASS;
}

static void a_status_that_a_controller_takes_back_before_the_resume(void **state) {
    (void)state;
    struct stage stage;
    play_init(&stage);
    play_first(&stage, "");
    seen.indexes = NULL;
    resets = 0;
    stage.meddle = reset;
    assert_int_equal(stage_patch(&stage, 0, "a", NULL, "{'spec':{'parallelism':6}}"), 200); // successes may fall
    stage_run(&stage, CLOCK_SECOND);
    play_move(&stage, LONG);
    play_assert_starts_anew(&stage, 1);
    assert_int_equal(resets, 2);
    assert_int_equal(stage_told(&stage, "does not keep it"), 1);
    stage_end(&stage);
}

static char late[4096]; // the patch of the status, which was not served

static int hold(struct stage *stage, const struct command *command) {
    if (command->cluster == 2 && command->request.verb == VERB_STATUS_PATCH && !*late)
        text_copy(late, sizeof late, command->request.body);
    (void)stage;
    return command->cluster == 2 && command->request.verb == VERB_STATUS_PATCH && spoilt.times-- == 1 ? STAGE_LOST
                                                                                                      : STAGE_PASS;
}

static void a_late_patch_never_lands_after_the_resume(void **state) {
    (void)state;
    struct stage stage;
    play_init(&stage);
    play_first(&stage, "");
    *late = '\0';
    spoilt.times = 1;
    stage.meddle = hold;
    play_move(&stage, LONG);
    play_assert_goes_on(&stage);
    play_does(&stage, 2, 4, "0-3");
    assert_int_equal(stage_patch(&stage, 2, "a", "status", late), 409);
    stage_end(&stage);
}

// The first patch of the status, or of the mirror, takes effect nowhere for half a minute.
static void begin_owed(struct stage *stage, enum verb verb, int answer) {
    play_init(stage);
    play_first(stage, "");
    spoilt.verb = verb;
    spoilt.answer = answer;
    spoilt.times = 1;
    stage->meddle = spoil;
    play_move(stage, CLOCK_SECOND);
    assert_int_equal(spoilt.times, 0);
    assert_string_equal(play_text(stage, 2, PROGRESS), "owed");
    assert_true(play_is_suspended(stage, 2));
}

static void another_writer_resumes_the_mirror_first(void **state) {
    (void)state;
    for (int with = 0; with < 3; with++) { // 2: and suspends it again
        struct stage stage;
        begin_owed(&stage, with == 1 ? VERB_MERGE_PATCH : VERB_STATUS_PATCH, STAGE_LOST);
        assert_int_equal(stage_patch(&stage, 2, "a", NULL, RESUME), 200);
        if (with == 2)
            assert_int_equal(stage_patch(&stage, 2, "a", NULL, "{'spec':{'suspend':true}}"), 200);
        seen.indexes = NULL;
        stage_run(&stage, LONG);
        play_assert(&stage, 2, with == 1 ? "given" : "refused", with == 1 ? "0-2" : "");
        assert_int_equal(stage_told(&stage, "ProgressRefused"), with != 1);
        assert_false(play_is_suspended(&stage, 2));
        stage_end(&stage);
    }
}

static void a_mark_that_another_writer_takes_back_is_written_again(void **state) {
    (void)state;
    struct stage stage;
    play_init(&stage);
    play_first(&stage, "");
    play_move(&stage, CLOCK_SECOND);
    play_does(&stage, 2, 4, "0-3");
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_patch(&stage, 2, "a", NULL, "{'metadata':{'annotations':{'wharf.dev/progress':'owed'}}}"),
                     200);
    stage_run(&stage, CLOCK_MINUTE);
    play_assert(&stage, 2, "given", "0-3");
    assert_int_equal(stage_told(&stage, "Progress"), 0);
    stage_end(&stage);
}

static void a_mark_that_another_writer_removes_is_known(void **state) {
    (void)state;
    struct stage stage;
    begin_owed(&stage, VERB_STATUS_PATCH, STAGE_LOST);
    assert_int_equal(stage_patch(&stage, 2, "a", NULL, "{'metadata':{'annotations':{'wharf.dev/progress':null}}}"),
                     200);
    stage_run(&stage, LONG);
    play_assert_goes_on(&stage);
    stage_end(&stage);
}

static void a_suspended_workload_gets_its_progress_and_does_not_run(void **state) {
    (void)state;
    struct stage stage;
    begin_owed(&stage, VERB_STATUS_PATCH, STAGE_LOST);
    assert_int_equal(stage_patch(&stage, 0, "a", NULL, "{'spec':{'suspend':true}}"), 200);
    stage_run(&stage, LONG);
    play_assert(&stage, 2, "given", "0-2");
    assert_int_equal(seen.resumed, 0);
    assert_string_equal(play_text(&stage, 0, INDEXES), "0-2");
    assert_int_equal(stage_patch(&stage, 0, "a", NULL, RESUME), 200);
    stage_run(&stage, LONG);
    play_assert_goes_on(&stage);
    stage_end(&stage);
}

static void nothing_is_copied_from_a_mirror_that_is_owed_progress(void **state) {
    (void)state;
    struct stage stage;
    begin_owed(&stage, VERB_STATUS_PATCH, STAGE_LOST);
    unsigned copied = stage.sent[0][VERB_STATUS_PATCH];
    assert_int_equal(stage_patch(&stage, 2, "a", "status",
                                 "{'status':{'conditions':[{'type':'Suspended','status':'True'}],'ready':0}}"),
                     200);
    stage_run(&stage, 5 * CLOCK_SECOND);
    assert_int_equal(stage.sent[0][VERB_STATUS_PATCH], copied);
    assert_string_equal(play_text(&stage, 0, INDEXES), "0-2");
    stage_run(&stage, LONG);
    play_assert_goes_on(&stage);
    stage_end(&stage);
}

static void off_by_the_workload_and_by_the_configuration(void **state) {
    (void)state;
    for (int way = 0; way < 2; way++) {
        struct stage stage;
        play_init(&stage);
        stage.kind->starts_anew = way == 1;
        play_first(&stage, way == 0 ? "'wharf.dev/continue':'false'" : "");
        seen.indexes = NULL;
        struct explain_view view;
        stage_explain(&stage, "a", &view);
        assert_string_equal(view.progress_off, way == 0 ? "annotation wharf.dev/continue: \"false\""
                                                        : "continue: false of the adapter in the host's configuration");
        play_move(&stage, LONG);
        play_assert_starts_anew(&stage, 0);
        assert_int_equal(stage.sent[2][VERB_STATUS_PATCH] + stage.sent[2][VERB_MERGE_PATCH], 0);
        stage_end(&stage);
    }
}

static void turned_off_while_a_mirror_is_owed_progress(void **state) {
    (void)state;
    struct stage stage;
    begin_owed(&stage, VERB_STATUS_PATCH, STAGE_LOST);
    seen.indexes = NULL;
    assert_int_equal(stage_patch(&stage, 0, "a", NULL, "{'metadata':{'annotations':{'wharf.dev/continue':'false'}}}"),
                     200);
    stage_run(&stage, LONG);
    play_assert(&stage, 2, "refused", "");
    assert_int_equal(stage_told(&stage, "ProgressRefused"), 0); // as asked
    assert_false(play_is_suspended(&stage, 2));
    stage_end(&stage);
}

// Of a kind whose controller may count from zero: here, a mirror with another number of ready pods has nothing.
static wharf_result forgets(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                            wharf_value *object) {
    const wharf_host *host = services_table();
    wharf_result result = play_progress(call, workload, mirror, object);
    if (host->integer(host->find(mirror, "/status/ready"), 0) == 2)
        host->set_integer(call, object, "/status/succeeded", 3);
    return result;
}

static void progress_that_the_controller_resets_is_told_once(void **state) {
    (void)state;
    struct stage stage;
    play_init(&stage);
    stage.kind->abi.progress = forgets;
    play_first(&stage, "");
    play_move(&stage, CLOCK_SECOND);
    play_assert_goes_on(&stage);
    for (int i = 0; i < 3; i++) {
        AUTO_TEXT status =
            text_format("{'status':{'active':2,'ready':2,'terminating':%d,'startTime':'" HARNESS_NOW "'}}", i);
        assert_int_equal(stage_patch(&stage, 2, "a", "status", status), 200);
        stage_run(&stage, CLOCK_SECOND);
        assert_int_equal(stage_told(&stage, "ProgressLost"), 1);
    }
    stage_end(&stage);
}

static unsigned calls;
static const wharf_kind *whole;

// The adapter has no result for the patch that resumes the mirror, the first time.
static wharf_result later(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                          wharf_value *desired) {
    if (calls++ == 0)
        return WHARF_RETRY;
    return whole->update ? whole->update(call, workload, mirror, desired) : WHARF_OK;
}

static void an_adapter_without_a_result_is_asked_again(void **state) {
    (void)state;
    struct stage stage;
    play_init(&stage);
    wharf_kind copy = stage.kind->abi;
    play_first(&stage, "");
    whole = &copy;
    calls = 0;
    stage.kind->abi.update = later;
    play_move(&stage, LONG);
    assert_true(calls > 1);
    play_assert_goes_on(&stage);
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_further_attempt_gets_the_progress_before_it_runs),
        cmocka_unit_test(a_life_with_one_attempt_costs_nothing),
        cmocka_unit_test(a_value_of_an_annotation_that_is_ignored_is_told_once),
        cmocka_unit_test(nothing_achieved_is_nothing_owed),
        cmocka_unit_test(a_host_that_ends_at_any_point_goes_on),
        cmocka_unit_test(an_answer_that_is_lost_or_fails_changes_nothing),
        cmocka_unit_test(a_lost_answer_and_the_end_of_the_host),
        cmocka_unit_test(a_refusal_is_told_once_and_the_attempt_starts_from_nothing),
        cmocka_unit_test(without_indexes_no_status_is_needed),
        cmocka_unit_test(a_worker_that_always_fails_does_not_keep_the_workload),
        cmocka_unit_test(a_status_that_the_worker_does_not_keep),
        cmocka_unit_test(a_status_that_a_controller_takes_back_before_the_resume),
        cmocka_unit_test(a_late_patch_never_lands_after_the_resume),
        cmocka_unit_test(another_writer_resumes_the_mirror_first),
        cmocka_unit_test(a_mark_that_another_writer_takes_back_is_written_again),
        cmocka_unit_test(a_mark_that_another_writer_removes_is_known),
        cmocka_unit_test(a_suspended_workload_gets_its_progress_and_does_not_run),
        cmocka_unit_test(nothing_is_copied_from_a_mirror_that_is_owed_progress),
        cmocka_unit_test(off_by_the_workload_and_by_the_configuration),
        cmocka_unit_test(turned_off_while_a_mirror_is_owed_progress),
        cmocka_unit_test(progress_that_the_controller_resets_is_told_once),
        cmocka_unit_test(an_adapter_without_a_result_is_asked_again),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
