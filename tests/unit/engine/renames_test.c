// SPDX-License-Identifier: Apache-2.0
// Workers where namespaces have other names. The boundary (tests/unit/host/boundary_test.c) translates them; here, the
// clusters are behind the boundary.
#include "tests/unit/engine/stage.h"

#include "core/base/text.h"
#include "core/engine/fence/guard.h"
#include "core/engine/shard/shard_hash.h"

static void tell_worker(struct stage *stage, size_t cluster, const char *map) {
    struct engine_event event = {
        .type = EVENT_WORKER,
        .cluster = cluster,
        .worker = {.name = cluster == 1 ? "w1" : "w2", .policy = WORKER_ACTIVE, .namespace_map = map}};
    stage_step(stage, &event);
    stage_run(stage, CLOCK_SECOND);
}

static void begin(struct stage *stage, const char *first, const char *second) {
    stage_init(stage);
    stage_start(stage);
    tell_worker(stage, 1, first);
    tell_worker(stage, 2, second);
}

static void a_worker_without_a_name_for_the_namespace_is_excluded(void **state) {
    (void)state;
    static const char *const maps[] = {"other=x\n*=\n", "default=Invalid\n", "*=one\n", "x=default\n"};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        struct stage stage;
        begin(&stage, maps[i], NULL);
        stage_submit(&stage, "a", "");
        stage_submit(&stage, "b", "");
        stage_run(&stage, CLOCK_SECOND);
        assert_int_equal(stage_where(&stage, "a"), 2);
        assert_int_equal(stage_where(&stage, "b"), 2);
        tell_worker(&stage, 2, maps[i]);
        stage_submit(&stage, "c", "");
        stage_run(&stage, CLOCK_MINUTE);
        assert_int_equal(stage_where(&stage, "c"), 0);
        assert_int_equal(stage_told(&stage, "Unschedulable: 0/2 workers accept it: w1 no name for the namespace; w2 "
                                            "no name for the namespace"),
                         1);
        tell_worker(&stage, 1, "default=x\n");
        assert_int_equal(stage_where(&stage, "c"), 1);
        stage_end(&stage);
    }
}

static void a_mirror_under_another_name_has_the_workloads_namespace(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, "default={origin}-{namespace}\n", "other=x\n");
    stage_submit(&stage, "a", "");
    stage_submit(&stage, "b", "");
    stage_run(&stage, CLOCK_SECOND);
    const char *in[] = {stage_where(&stage, "a") == 1 ? "a" : "b", stage_where(&stage, "a") == 1 ? "b" : "a"};
    const struct json *mapped = stage_job(&stage, 1, in[0]), *same = stage_job(&stage, 2, in[1]);
    assert_non_null(mapped);
    assert_non_null(same);
    assert_string_equal(object_annotation(mapped, MARK_NAMESPACE), "default");
    assert_null(object_annotation(same, MARK_NAMESPACE));
    struct explain_view view;
    stage_explain(&stage, in[0], &view);
    AUTO_TEXT there = text_format("%s-default", stage.options.origin);
    assert_string_equal(view.mirror.namespace_, there);
    stage_explain(&stage, in[1], &view);
    assert_string_equal(view.mirror.namespace_, "default");
    // Of the guard's shards: by the workload's namespace.
    AUTO_JSON renamed = json_copy(mapped);
    assert_true(pointer_set(renamed, "/metadata/namespace", json_new_string(there)));
    assert_true(guard_hash(stage.kind, renamed) == shard_hash_of("jobs.batch", "default", in[0]));
    assert_true(guard_hash(stage.kind, same) == shard_hash_of("jobs.batch", "default", in[1]));
    // Another writer removes the annotation.
    assert_int_equal(stage_patch(&stage, 1, in[0], NULL, "{'metadata':{'annotations':{'wharf.dev/namespace':null}}}"),
                     200);
    stage_run(&stage, CLOCK_MINUTE);
    assert_string_equal(object_annotation(stage_job(&stage, 1, in[0]), MARK_NAMESPACE), "default");
    stage_end(&stage);
}

static void a_worker_is_unused_without_mirrors_and_placed_workloads(void **state) {
    (void)state;
    struct stage stage;
    begin(&stage, NULL, "*=\n");
    assert_true(engine_is_unused(stage.engine, 1));
    // A finished workload has its mirror for a while.
    stage_submit(&stage, "b", "");
    stage_run(&stage, CLOCK_SECOND);
    stage_runs(&stage, 1, "b");
    stage_completes(&stage, 1, "b");
    stage_run(&stage, CLOCK_SECOND);
    assert_true(stage_finished(&stage, "b"));
    assert_non_null(stage_job(&stage, 1, "b"));
    assert_false(engine_is_unused(stage.engine, 1));
    stage_run(&stage, CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "b"));
    assert_true(engine_is_unused(stage.engine, 1));
    stage_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "a"), 1);
    assert_false(engine_is_unused(stage.engine, 1));
    stage_disconnect(&stage, 1);
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_delete(&stage, 0, "a"), 200);
    stage_run(&stage, 365 * 24 * (int64_t)60 * CLOCK_MINUTE); // the mirror may still be there
    assert_false(engine_is_unused(stage.engine, 1));
    stage_connect(&stage, 1);
    stage_run(&stage, CLOCK_MINUTE);
    assert_null(stage_job(&stage, 1, "a"));
    assert_true(engine_is_unused(stage.engine, 1));
    // After a drain, a suspended workload has no mirror before it is resumed elsewhere.
    stage_submit(&stage, "c", "");
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_patch(&stage, 0, "c", NULL, "{'spec':{'suspend':true}}"), 200);
    stage_run(&stage, CLOCK_SECOND);
    assert_false(engine_is_unused(stage.engine, 1));
    stage_step(&stage, &(struct engine_event){
                           .type = EVENT_WORKER, .cluster = 1, .worker = {.name = "w1", .policy = WORKER_DRAIN_MOVE}});
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_where(&stage, "c"), 1);
    assert_true(engine_is_unused(stage.engine, 1));
    stage_end(&stage);
}

// A mirror in the management cluster whose field managedBy a policy has set.
static void a_mirror_is_no_workload(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage_start(&stage);
    AUTO_TEXT text = text_format(
        "{'apiVersion':'batch/v1','kind':'Job','metadata':{'namespace':'default','name':'m','labels':{'" MARK_ORIGIN
        "':'%s','" MARK_UID "':'u','" MARK_KIND "':'jobs.batch'},'annotations':{'" MARK_ATTEMPT
        "':'1'}},'spec':{'managedBy':'wharf.dev/host','template':{'spec':{'containers':[{'name':'c','image':'i'}],"
        "'restartPolicy':'Never'}}}}",
        stage.options.origin);
    AUTO_JSON object = harness_json(text);
    world_apply(stage.clusters[0], "batch", "jobs", object, stage.now.wall_ns);
    stage_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_not_equal(stage_where(&stage, "a"), 0);
    assert_int_equal(stage_where(&stage, "m"), 0);
    assert_null(stage_job(&stage, 1, "m"));
    assert_null(stage_job(&stage, 2, "m"));
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_without_a_name_for_the_namespace_is_excluded),
        cmocka_unit_test(a_mirror_under_another_name_has_the_workloads_namespace),
        cmocka_unit_test(a_worker_is_unused_without_mirrors_and_placed_workloads),
        cmocka_unit_test(a_mirror_is_no_workload),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
