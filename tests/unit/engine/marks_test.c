// SPDX-License-Identifier: Apache-2.0
// Policies in a worker that strip or change the marks of created objects.
#include "tests/unit/engine/stage.h"

static const char *taken; // what the policy in w1 sets: a pointer, and the value (NULL: removed)
static const char *value;
static bool on_create, on_update;

static int policy(void *ctx, enum world_verb verb, const char *plural, struct json *object, char message[256]) {
    (void)ctx, (void)plural, (void)message;
    if (verb == WORLD_CREATE ? !on_create : !on_update)
        return 0;
    pointer_remove(object, taken);
    if (value)
        assert_true(pointer_set(object, taken, json_new_string(value)));
    return 0;
}

static void start_one(struct stage *stage, size_t cluster) {
    stage_init(stage);
    world_set_admission(stage->clusters[cluster], policy, NULL);
    stage_start(stage);
    stage_submit(stage, "a", "");
}

static const struct {
    const char *taken, *value;
} policies[] = {{"/metadata/labels/wharf.dev~1origin", NULL},       {"/metadata/labels/wharf.dev~1origin", "there"},
                {"/metadata/labels/wharf.dev~1uid", NULL},          {"/metadata/labels/wharf.dev~1uid", "another"},
                {"/metadata/labels/wharf.dev~1kind", NULL},         {"/metadata/annotations/wharf.dev~1attempt", NULL},
                {"/metadata/annotations/wharf.dev~1attempt", "77"}, {"/metadata/labels", NULL}};
#define POLICIES (sizeof policies / sizeof policies[0])

static void a_worker_that_strips_the_marks_is_not_used(void **state) {
    (void)state;
    for (size_t i = 0; i < POLICIES; i++) {
        struct stage stage;
        taken = policies[i].taken;
        value = policies[i].value;
        on_create = on_update = true;
        start_one(&stage, 1);
        stage_run(&stage, 20 * CLOCK_SECOND);
        if (stage_where(&stage, "a") != 2)
            fail_msg("policy %zu: it is in %zu, attempt %u, and told: %s", i, stage_where(&stage, "a"),
                     stage_attempt(&stage, "a"), stage.notes);
        assert_non_null(stage_job(&stage, 2, "a"));
        assert_null(stage_job(&stage, 1, "a"));
        assert_int_equal(stage.sent[1][VERB_CREATE], 1);
        assert_int_equal(stage.sent[1][VERB_DELETE], 1);
        assert_int_equal(stage_told(&stage, "cluster w1 rejected the mirror: a policy there"), 1);
        stage_runs(&stage, 2, "a");
        stage_completes(&stage, 2, "a");
        stage_run(&stage, CLOCK_SECOND);
        assert_true(stage_finished(&stage, "a"));
        stage_end(&stage);
    }
}

static void where_no_worker_keeps_the_marks_it_is_told_and_tried_slowly(void **state) {
    (void)state;
    struct stage stage;
    taken = policies[0].taken;
    value = policies[0].value;
    on_create = on_update = true;
    start_one(&stage, 1);
    world_set_admission(stage.clusters[2], policy, NULL);
    stage_run(&stage, 60 * CLOCK_MINUTE);
    assert_in_range(stage.sent[1][VERB_CREATE] + stage.sent[2][VERB_CREATE], 5, 40);
    assert_true(stage_told(&stage, "MarksTaken") >= 2);
    on_create = on_update = false;
    stage_run(&stage, 20 * CLOCK_MINUTE);
    assert_non_null(stage_job(&stage, stage_where(&stage, "a"), "a"));
    stage_end(&stage);
}

// The attempt is changed back while the create of the next one is in flight.
static void a_stripped_mirror_of_another_attempt_than_the_recorded_is_not_followed_blindly(void **state) {
    (void)state;
    struct stage stage;
    taken = policies[0].taken;
    value = policies[0].value;
    on_create = on_update = true;
    start_one(&stage, 1);
    stage_disconnect(&stage, 2);
    while (stage.sent[1][VERB_CREATE] < 2) {
        if (stage_attempt(&stage, "a") == 2)
            stage.latency_ns = 2 * CLOCK_SECOND;
        stage_run(&stage, CLOCK_MS);
    }
    assert_int_equal(stage_told(&stage, "MarksTaken"), 1);
    stage_patch(&stage, 0, "a", NULL, "{'metadata':{'annotations':{'wharf.dev/attempt':'1'}}}");
    stage_run(&stage, CLOCK_SECOND);
    stage.latency_ns = CLOCK_MS;
    stage_run(&stage, CLOCK_MINUTE);
    assert_true(stage_told(&stage, "MarksTaken") >= 2);
    on_create = on_update = false;
    stage_run(&stage, 20 * CLOCK_MINUTE);
    assert_non_null(pointer_find(stage_job(&stage, 1, "a"), taken));
    stage_end(&stage);
}

// A workload is made anew while a create of the former one is in flight.
static void a_stripped_mirror_of_a_former_workload_is_not_that_of_the_new_one(void **state) {
    (void)state;
    struct stage stage;
    taken = policies[0].taken;
    value = policies[0].value;
    on_create = on_update = true;
    stage_init(&stage);
    world_set_admission(stage.clusters[1], policy, NULL);
    stage_start(&stage);
    stage_disconnect(&stage, 2);
    stage_submit(&stage, "a", "'wharf.dev/cluster':'w1','wharf.dev/attempt':'3'");
    stage.latency_ns = 2 * CLOCK_SECOND;
    while (stage.sent[1][VERB_CREATE] == 0)
        stage_run(&stage, CLOCK_MS);
    stage.latency_ns = CLOCK_MS;
    AUTO_TEXT former = text_format("%s", object_uid(stage_job(&stage, 1, "a")));
    on_create = on_update = false;
    stage_delete(&stage, 0, "a");
    stage_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_MINUTE);
    const struct json *mirror = stage_job(&stage, 1, "a");
    assert_non_null(mirror);
    assert_string_not_equal(object_uid(mirror), former);
    assert_string_equal(object_label(mirror, "wharf.dev/uid"), object_uid(stage_job(&stage, 0, "a")));
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    assert_int_equal(stage_told(&stage, "MarksTaken"), 0);
    stage_end(&stage);
}

static void set_worker(struct stage *stage, size_t cluster, const char *name, enum worker_policy policy) {
    stage_step(stage, &(struct engine_event){
                          .type = EVENT_WORKER, .cluster = cluster, .worker = {.name = name, .policy = policy}});
}

static void label(struct stage *stage, const char *origin) {
    AUTO_TEXT patch = text_format("{'metadata':{'labels':{'wharf.dev/origin':%s}}}", origin);
    assert_int_equal(stage_patch(stage, 2, "a", NULL, patch), 200);
    stage_run(stage, CLOCK_MINUTE);
}

// Without a key. No watch would show that the object is gone.
static void a_held_mirror_without_its_marks_is_a_foreign_object(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage_start(&stage);
    set_worker(&stage, 1, "w1", WORKER_CORDONED);
    assert_int_equal(stage_apply(&stage, 2, "batch", "jobs",
                                 "{'metadata':{'name':'a','namespace':'default','annotations':{'wharf.dev/attempt':"
                                 "'1008'}},'spec':{'template':{'spec':{'restartPolicy':'Never','containers':[{'name':"
                                 "'c','image':'i'}]}}}}"),
                     201);
    stage_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_MINUTE);
    AUTO_TEXT marks = text_format("{'metadata':{'labels':{'wharf.dev/kind':'jobs.batch','wharf.dev/uid':'%s'}}}",
                                  object_uid(stage_job(&stage, 0, "a")));
    assert_int_equal(stage_patch(&stage, 2, "a", NULL, marks), 200);
    label(&stage, "'here'");
    assert_int_equal(stage_told(&stage, "MirrorHeld: cluster w2"), 1);
    label(&stage, "null");
    set_worker(&stage, 1, "w1", WORKER_ACTIVE);
    stage_run(&stage, 15 * CLOCK_MINUTE);
    assert_int_equal(stage_where(&stage, "a"), 1);
    assert_non_null(stage_job(&stage, 1, "a"));
    stage_end(&stage);
}

// A mirror whose marks were taken off, and that has a finalizer.
static void start_stripped(struct stage *stage) {
    taken = "/metadata/labels";
    value = NULL;
    on_create = on_update = true;
    start_one(stage, 1);
    while (!stage_job(stage, 1, "a"))
        stage_run(stage, CLOCK_MS);
    stage_patch(stage, 1, "a", NULL, "{'metadata':{'finalizers':['example.com/stays']}}");
}

// The object may have a finalizer; nothing is created elsewhere before it is gone.
static void nothing_is_made_elsewhere_before_it_is_gone(void **state) {
    (void)state;
    struct stage stage;
    start_stripped(&stage);
    stage_run(&stage, 5 * CLOCK_MINUTE);
    assert_null(stage_job(&stage, 2, "a"));
    assert_int_equal(
        stage_told(&stage, "the mirror has a deletionTimestamp but still exists; check the finalizers (cluster w1)"),
        1);
    stage_patch(&stage, 1, "a", NULL, "{'metadata':{'finalizers':null}}");
    stage_run(&stage, CLOCK_MINUTE);
    assert_non_null(stage_job(&stage, 2, "a"));
    stage_end(&stage);
}

// Nothing but the uid shows that it is another object.
static void a_stripped_mirror_is_gone_when_another_object_has_its_name(void **state) {
    (void)state;
    struct stage stage;
    start_stripped(&stage);
    stage_run(&stage, CLOCK_MINUTE);
    stage_patch(&stage, 1, "a", NULL, "{'metadata':{'finalizers':null}}");
    assert_null(stage_job(&stage, 1, "a"));
    const char *foreign = "{'metadata':{'name':'a','namespace':'default'},'spec':{'template':{'spec':{"
                          "'restartPolicy':'Never','containers':[{'name':'c','image':'i'}]}}}}";
    assert_int_equal(stage_apply(&stage, 1, "batch", "jobs", foreign), 201);
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage_told(&stage, "a foreign object of the same name exists"), 1);
    assert_non_null(stage_job(&stage, 2, "a"));
    assert_int_equal(stage.sent[1][VERB_DELETE], 1);
    stage_end(&stage);
}

static void marks_that_somebody_takes_off_are_put_back(void **state) {
    (void)state;
    struct stage stage;
    on_create = on_update = false;
    start_one(&stage, 1);
    stage_run(&stage, 2 * CLOCK_SECOND);
    stage_patch(&stage, 1, "a", NULL, "{'metadata':{'labels':{'wharf.dev/origin':null}}}");
    stage_run(&stage, 2 * CLOCK_SECOND);
    assert_non_null(pointer_find(stage_job(&stage, 1, "a"), policies[0].taken));
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    // Repeated with delays.
    for (int i = 0; i < 1000; i++) {
        stage_patch(&stage, 1, "a", NULL, "{'metadata':{'labels':{'wharf.dev/origin':null}}}");
        stage_run(&stage, 20 * CLOCK_MS);
    }
    assert_in_range(stage.sent[1][VERB_MERGE_PATCH], 5, 12);
    assert_int_equal(stage_told(&stage, "MirrorRewritten"), 1);
    stage_run(&stage, 10 * CLOCK_MINUTE);
    assert_non_null(pointer_find(stage_job(&stage, 1, "a"), policies[0].taken));
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    stage_end(&stage);
}

static void a_later_policy_is_reported(void **state) {
    (void)state;
    struct stage stage;
    taken = policies[0].taken;
    value = NULL;
    on_create = on_update = false;
    start_one(&stage, 1);
    stage_run(&stage, 2 * CLOCK_SECOND);
    on_update = true;
    stage_patch(&stage, 1, "a", NULL, "{'metadata':{'labels':{'example.com/x':'y'}}}");
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage_where(&stage, "a"), 2);
    assert_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage_told(&stage, "MarksTaken"), 1);
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_that_strips_the_marks_is_not_used),
        cmocka_unit_test(where_no_worker_keeps_the_marks_it_is_told_and_tried_slowly),
        cmocka_unit_test(a_stripped_mirror_of_another_attempt_than_the_recorded_is_not_followed_blindly),
        cmocka_unit_test(a_stripped_mirror_of_a_former_workload_is_not_that_of_the_new_one),
        cmocka_unit_test(nothing_is_made_elsewhere_before_it_is_gone),
        cmocka_unit_test(a_held_mirror_without_its_marks_is_a_foreign_object),
        cmocka_unit_test(a_stripped_mirror_is_gone_when_another_object_has_its_name),
        cmocka_unit_test(marks_that_somebody_takes_off_are_put_back),
        cmocka_unit_test(a_later_policy_is_reported),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
