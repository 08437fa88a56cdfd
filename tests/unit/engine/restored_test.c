// SPDX-License-Identifier: Apache-2.0
// The management cluster is restored from a copy of its etcd while the host is down: a host that starts has no memory
// of what was there, only the mirrors.
#include "tests/unit/engine/stage.h"

#include <string.h>

static struct seal_keys *keys;

static void open_stage(struct stage *stage) {
    static const unsigned char key[] = "0123456789abcdef0123456789abcdef";
    const void *list[] = {key};
    size_t lens[] = {32};
    assert_null(seal_keys_new(list, lens, 1, &keys));
    stage_init(stage);
    stage->options.seals = keys;
    stage->options.settings.mirror_retention_ns = 10 * CLOCK_MINUTE;
    stage->options.settings.mass_deletion_max = 20;
    stage->options.settings.mass_deletion_percent = 30;
    stage->options.settings.orphan_grace_ns = 60 * CLOCK_MINUTE;
    stage_start(stage);
}

static void close_stage(struct stage *stage, struct world_copy *copy) {
    world_copy_free(copy);
    stage_end(stage);
    seal_keys_free(keys);
}

static unsigned sent(const struct stage *stage, enum verb verb) {
    return stage->sent[1][verb] + stage->sent[2][verb];
}

static struct world_copy *copy_of(struct stage *stage) {
    struct world_copy *copy = world_copy(stage->clusters[0]);
    assert_non_null(copy);
    return copy;
}

static void restore_while_down(struct stage *stage, const struct world_copy *copy) {
    stage->user = true;
    world_restore(stage->clusters[0], copy, stage->now.wall_ns);
    stage->user = false;
    stage_restart(stage);
}

static void start_one(struct stage *stage, const char *name) {
    stage_submit(stage, name, "");
    stage_run(stage, 2 * CLOCK_SECOND);
    stage_runs(stage, stage_where(stage, name), name);
    stage_run(stage, CLOCK_SECOND);
}

static void a_mirror_that_is_newer_than_the_annotations_is_adopted(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage);
    stage_submit(&stage, "a", "");
    struct world_copy *copy = copy_of(&stage); // without annotations
    stage_run(&stage, 2 * CLOCK_SECOND);
    size_t first = stage_where(&stage, "a");
    assert_int_equal(stage_delete(&stage, first, "a"), 200);
    stage_run(&stage, 20 * CLOCK_SECOND);
    assert_int_equal(stage_attempt(&stage, "a"), 2);
    size_t where = stage_where(&stage, "a");
    unsigned creates = sent(&stage, VERB_CREATE);
    restore_while_down(&stage, copy);
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage_attempt(&stage, "a"), 2);
    assert_int_equal(stage_where(&stage, "a"), where);
    assert_int_equal(sent(&stage, VERB_CREATE), creates);
    stage_runs(&stage, where, "a");
    stage_run(&stage, CLOCK_SECOND);
    stage_completes(&stage, where, "a");
    stage_run(&stage, CLOCK_MINUTE);
    assert_true(stage_finished(&stage, "a"));
    close_stage(&stage, copy);
}

// One alone, which is not many.
static void a_mirror_of_an_unknown_workload_is_held_for_orphan_grace(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage);
    start_one(&stage, "older");
    struct world_copy *copy = copy_of(&stage);
    start_one(&stage, "a");
    size_t where = stage_where(&stage, "a");
    restore_while_down(&stage, copy);
    assert_null(stage_job(&stage, 0, "a"));
    stage_run(&stage, 50 * CLOCK_MINUTE);
    assert_non_null(stage_job(&stage, where, "a"));
    assert_int_equal(engine_stats(stage.engine)->clusters[where].orphans_held, 1);
    stage_run(&stage, 20 * CLOCK_MINUTE); // orphanGrace has passed
    assert_null(stage_job(&stage, where, "a"));
    close_stage(&stage, copy);
}

static void what_was_deleted_while_the_host_was_down_is_no_backup(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage);
    start_one(&stage, "older");
    start_one(&stage, "a");
    size_t where = stage_where(&stage, "a");
    stage_disconnect(&stage, 0);
    assert_int_equal(stage_delete(&stage, 0, "a"), 200);
    stage_restart(&stage);
    stage_run(&stage, 5 * CLOCK_SECOND);
    assert_null(stage_job(&stage, where, "a"));
    assert_int_equal(engine_stats(stage.engine)->clusters[where].orphans_held, 0);
    close_stage(&stage, NULL);
}

static void check_finished(bool placed, bool finished_before) {
    struct stage stage;
    struct world_copy *copy = NULL;
    open_stage(&stage);
    stage_submit(&stage, "a", "");
    if (!placed)
        copy = copy_of(&stage);
    stage_run(&stage, 2 * CLOCK_SECOND);
    size_t where = stage_where(&stage, "a");
    if (placed)
        copy = copy_of(&stage);
    stage_runs(&stage, where, "a");
    stage_run(&stage, CLOCK_SECOND);
    stage_completes(&stage, where, "a");
    if (finished_before) {
        stage_run(&stage, CLOCK_MINUTE);
        assert_true(stage_finished(&stage, "a"));
    }
    restore_while_down(&stage, copy);
    stage_run(&stage, CLOCK_MINUTE);
    assert_true(stage_finished(&stage, "a"));
    assert_int_equal(sent(&stage, VERB_CREATE), 1);
    close_stage(&stage, copy);
}

static void a_finished_mirror_gives_its_status_instead_of_running_again(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++)
        check_finished(i & 1, i & 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mirror_that_is_newer_than_the_annotations_is_adopted),
        cmocka_unit_test(a_mirror_of_an_unknown_workload_is_held_for_orphan_grace),
        cmocka_unit_test(what_was_deleted_while_the_host_was_down_is_no_backup),
        cmocka_unit_test(a_finished_mirror_gives_its_status_instead_of_running_again),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
