// SPDX-License-Identifier: Apache-2.0
// Values of the status over the attempts of a workload, and the writes that they take.
#include "tests/unit/engine/stage.h"

#include "core/kube/object/object.h"

#define PREVIOUS "wharf.dev/previous"

// Any text of a Job's status serves as an application's value.
static const wharf_continuity values[] = {
    {"/status/startTime", "START"}, {"/status/active", "ACTIVE"}, {.pointer = NULL}};

static void begin(struct stage *stage, const char *annotations) {
    stage_init(stage);
    stage->kind->abi.continuity = values;
    stage_start(stage);
    stage_submit(stage, "a", annotations);
    stage_run(stage, CLOCK_SECOND);
    assert_int_equal(stage_where(stage, "a"), 1);
}

static const char *variable(struct stage *stage, const char *name) {
    const struct json *job = stage_job(stage, stage_where(stage, "a"), "a");
    const struct json *env = pointer_find(job, "/spec/template/spec/containers/0/env");
    return json_string(json_get(json_find_item(env, "name", name), "value"));
}

static void next_attempt(struct stage *stage, unsigned attempt) {
    assert_int_equal(stage_delete(stage, stage_where(stage, "a"), "a"), 200);
    stage_run(stage, 5 * CLOCK_SECOND);
    assert_int_equal(stage_attempt(stage, "a"), attempt);
}

static void assert_variable(struct stage *stage, const char *name, const char *expected) {
    const char *found = variable(stage, name);
    if (!found != !expected || (found && strcmp(found, expected) != 0))
        fail_msg("%s is %s, expected %s", name, found ? found : "absent", expected ? expected : "absent");
}

static void values_come_from_the_last_status_and_stay_without_one(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, "");
    assert_variable(&stage, "WHARF_ATTEMPT", "1");
    assert_variable(&stage, "WHARF_PREVIOUS_START", NULL);
    stage_runs(&stage, 1, "a");
    stage_run(&stage, CLOCK_SECOND);
    const struct json *job = stage_job(&stage, ENGINE_MANAGEMENT, "a");
    AUTO_TEXT start = strdup(json_string_or(pointer_find(job, "/status/startTime"), "none"));
    assert_string_not_equal(start, "none");
    assert_null(object_annotation(job, PREVIOUS));
    next_attempt(&stage, 2);
    assert_variable(&stage, "WHARF_ATTEMPT", "2");
    assert_variable(&stage, "WHARF_PREVIOUS_START", start);
    assert_variable(&stage, "WHARF_PREVIOUS_ACTIVE", "1");
    next_attempt(&stage, 3); // before it ran
    assert_variable(&stage, "WHARF_ATTEMPT", "3");
    assert_variable(&stage, "WHARF_PREVIOUS_START", start);
    stage_restart(&stage);
    stage_run(&stage, CLOCK_SECOND);
    next_attempt(&stage, 4);
    assert_variable(&stage, "WHARF_PREVIOUS_START", start);
    stage_end(&stage);
}

// As with kubectl get -o yaml | kubectl create.
static void a_copy_of_a_workload_gets_no_values_of_the_other_one(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, "");
    stage_runs(&stage, 1, "a");
    stage_run(&stage, CLOCK_SECOND);
    next_attempt(&stage, 2);
    assert_non_null(variable(&stage, "WHARF_PREVIOUS_START"));
    AUTO_JSON copy = json_copy(stage_job(&stage, ENGINE_MANAGEMENT, "a"));
    assert_non_null(object_annotation(copy, PREVIOUS));
    assert_int_equal(stage_delete(&stage, ENGINE_MANAGEMENT, "a"), 200);
    stage_run(&stage, CLOCK_MINUTE);
    static const char *const own[] = {
        "/metadata/uid",  "/metadata/resourceVersion", "/metadata/creationTimestamp", "/status",
        "/spec/selector", "/spec/template/metadata"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        pointer_remove(copy, own[i]);
    AUTO_TEXT text = json_text(copy, NULL);
    assert_int_equal(stage_apply(&stage, ENGINE_MANAGEMENT, "batch", "jobs", text), 201);
    stage_run(&stage, CLOCK_MINUTE);
    assert_variable(&stage, "WHARF_ATTEMPT", "2"); // by the annotation
    assert_variable(&stage, "WHARF_PREVIOUS_START", NULL);
    next_attempt(&stage, 3);
    assert_variable(&stage, "WHARF_PREVIOUS_START", NULL);
    assert_null(object_annotation(stage_job(&stage, ENGINE_MANAGEMENT, "a"), PREVIOUS));
    stage_end(&stage);
}

struct count {
    unsigned management, with_values;
};

static void wrote(struct stage *stage, size_t cluster, const struct world_write *write) {
    struct count *count = stage->ctx;
    if (cluster != ENGINE_MANAGEMENT || !write->old || !write->now)
        return;
    count->management++;
    count->with_values += !text_equal(object_annotation(write->old, PREVIOUS), object_annotation(write->now, PREVIOUS));
}

static unsigned writes_of(const wharf_continuity *list, struct count *count) {
    struct stage stage;
    begin(&stage, "");
    stage.kind->abi.continuity = list;
    stage.ctx = count;
    stage.wrote = wrote;
    stage_runs(&stage, 1, "a");
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(count->with_values, 0);
    next_attempt(&stage, 2);
    stage_end(&stage);
    return count->management;
}

static void they_take_no_write_of_their_own(void **state) {
    (void)state;
    struct count with = {0}, without = {0};
    assert_int_equal(writes_of(values, &with), writes_of(NULL, &without));
    assert_int_equal(with.with_values, 1);
    assert_int_equal(without.with_values, 0);
}

static void a_kind_without_values_has_the_attempt_by_annotation(void **state) {
    (void)state;
    static const char *const annotations[] = {"'wharf.dev/attempt-env':'true'", "'wharf.dev/attempt-env':'yes'"};
    for (size_t i = 0; i < 2; i++) {
        struct stage stage;
        stage_init(&stage);
        stage_start(&stage);
        stage_submit(&stage, "a", annotations[i]);
        stage_run(&stage, CLOCK_SECOND);
        assert_variable(&stage, "WHARF_ATTEMPT", i == 0 ? "1" : NULL);
        next_attempt(&stage, 2);
        assert_variable(&stage, "WHARF_ATTEMPT", i == 0 ? "2" : NULL);
        assert_int_equal(stage.noops, 0);
        stage_end(&stage);
    }
}

// What no variable can have is told, and the rest is given.
static void a_value_that_is_left_out_is_told(void **state) {
    (void)state;
    static const wharf_continuity odd[] = {
        {"/status/startTime", "START"}, {"/status/conditions", "ALL"}, {.pointer = NULL}};
    struct stage stage;
    begin(&stage, "");
    stage.kind->abi.continuity = odd;
    stage_runs(&stage, 1, "a");
    assert_int_equal(stage_patch(&stage, 1, "a", "status",
                                 "{'status':{'conditions':[{'type':'Noted','status':'True','lastTransitionTime':"
                                 "'2026-03-01T12:00:01Z'}]}}"),
                     200);
    stage_run(&stage, CLOCK_SECOND);
    unsigned before = stage.warnings;
    next_attempt(&stage, 2);
    assert_int_equal(stage.warnings, before + 1);
    assert_non_null(variable(&stage, "WHARF_PREVIOUS_START"));
    assert_variable(&stage, "WHARF_PREVIOUS_ALL", NULL);
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_come_from_the_last_status_and_stay_without_one),
        cmocka_unit_test(a_copy_of_a_workload_gets_no_values_of_the_other_one),
        cmocka_unit_test(they_take_no_write_of_their_own),
        cmocka_unit_test(a_kind_without_values_has_the_attempt_by_annotation),
        cmocka_unit_test(a_value_that_is_left_out_is_told),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
