// SPDX-License-Identifier: Apache-2.0
// What is not certain is asked for before anything follows from it: that a mirror is gone, that a workload is the same
// one as before; and a host that stops begins nothing.
#include "tests/unit/engine/stage.h"
#include "tests/unit/quoted.h"

static void start_one(struct stage *stage) {
    stage_init(stage);
    stage_start(stage);
    stage_submit(stage, "a", "");
    stage_run(stage, 2 * CLOCK_SECOND);
    stage_runs(stage, 1, "a");
    stage_run(stage, CLOCK_SECOND);
    assert_non_null(stage_job(stage, 1, "a"));
}

static int fail_reads_of_w1(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->cluster == 1 && command->request.verb == VERB_GET ? 500 : STAGE_PASS;
}

// A watch with a label selector reports an object that has lost its label as deleted.
static void a_mirror_that_left_the_watch_is_read_before_it_counts_as_gone(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    stage.meddle = fail_reads_of_w1;
    assert_int_equal(
        stage_patch(&stage, 1, "a", NULL, "{'metadata':{'labels':{'wharf.dev/origin':null,'wharf.dev/uid':null}}}"),
        200);
    stage_run(&stage, 2 * CLOCK_MINUTE);
    assert_true(stage.sent[1][VERB_GET] > 1);
    assert_int_equal(stage.sent[1][VERB_CREATE] + stage.sent[2][VERB_CREATE], 1);
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    stage.meddle = NULL;
    stage_run(&stage, CLOCK_MINUTE); // it is found, and gets its marks again
    assert_string_equal(object_label(stage_job(&stage, 1, "a"), MARK_ORIGIN), "here");
    assert_int_equal(stage.sent[2][VERB_CREATE], 0);
    stage_end(&stage);
}

// A list that lacks it may be older than the mirror.
static void a_mirror_that_a_list_lacks_is_read_before_it_counts_as_gone(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    stage_disconnect(&stage, 1);
    stage_patch(&stage, 1, "a", NULL, "{'metadata':{'labels':{'wharf.dev/origin':null}}}");
    stage.meddle = fail_reads_of_w1;
    stage_connect(&stage, 1);
    stage_run(&stage, 2 * CLOCK_MINUTE);
    assert_int_equal(stage.sent[2][VERB_CREATE], 0);
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    stage_end(&stage);
}

static int lose_answers_to_placements(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->cluster == 0 && command->request.verb == VERB_MERGE_PATCH ? STAGE_UNHEARD : STAGE_PASS;
}

// The write had the resourceVersion as a precondition, so a newer version has the outcome.
static void a_placement_that_the_watch_shows_needs_no_answer(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage.meddle = lose_answers_to_placements;
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    stage_run(&stage, 2 * CLOCK_MINUTE);
    assert_non_null(stage_job(&stage, 1, "a"));
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    assert_int_equal(stage.sent[0][VERB_MERGE_PATCH], 1);
    assert_int_equal(stage_told(&stage, "Rescheduled"), 0);
    stage_end(&stage);
}

static int lose_the_second_placement(struct stage *stage, const struct command *command) {
    bool second = lose_answers_to_placements(stage, command) && stage->sent[0][VERB_MERGE_PATCH] == 2;
    if (second)
        stage->connected[0] = false; // no watch shows it either
    return second ? STAGE_UNHEARD : STAGE_PASS;
}

static void a_placement_that_nothing_shows_is_not_the_former_one(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage.meddle = lose_the_second_placement;
    stage.latency_ns = CLOCK_SECOND;
    stage_start(&stage);
    stage_submit(&stage, "a", "");
    while (stage_where(&stage, "a") != 1)
        stage_run(&stage, CLOCK_MS);
    stage_disconnect(&stage, 1); // before the create
    while (stage_where(&stage, "a") != 2)
        stage_run(&stage, CLOCK_MS);
    stage_connect(&stage, 1);
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage.sent[1][VERB_CREATE], 0);
    assert_non_null(stage_job(&stage, 2, "a"));
    assert_int_equal(stage_attempt(&stage, "a"), 2);
    stage_end(&stage);
}

static void a_workload_made_anew_under_its_name_has_nothing_of_the_earlier_one(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    AUTO_TEXT before = strdup(object_uid(stage_job(&stage, 0, "a")));
    stage_disconnect(&stage, 0);
    stage_completes(&stage, 1, "a");
    stage_run(&stage, CLOCK_SECOND);
    assert_int_equal(stage_delete(&stage, 0, "a"), 200);
    stage_submit(&stage, "a", "");
    const char *uid = object_uid(stage_job(&stage, 0, "a"));
    assert_string_not_equal(uid, before);
    stage_connect(&stage, 0);
    stage_run(&stage, CLOCK_MINUTE);
    assert_false(stage_finished(&stage, "a"));
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    size_t where = stage_where(&stage, "a");
    assert_true(where > 0);
    assert_string_equal(object_label(stage_job(&stage, where, "a"), MARK_UID), object_uid(stage_job(&stage, 0, "a")));
    stage_end(&stage);
}

// As a watch that lags behind a read or an answer.
static void tell_again(struct stage *stage, const struct json *value) {
    struct object *object = NULL;
    assert_null(object_new(json_copy(value), "batch/v1", "Job", &object));
    stage_step(stage, &(struct engine_event){.type = EVENT_SEEN, .cluster = 0, .object = object});
    stage_run(stage, CLOCK_MINUTE);
}

static void an_older_version_of_the_name_ends_no_workload(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    AUTO_JSON of_another_uid = json_copy(stage_job(&stage, 0, "a"));
    assert_int_equal(stage_delete(&stage, 0, "a"), 200);
    stage_run(&stage, CLOCK_SECOND);
    stage_submit(&stage, "a", "");
    AUTO_JSON not_delegated = json_copy(stage_job(&stage, 0, "a"));
    assert_true(pointer_remove(not_delegated, "/spec/managedBy"));
    stage_run(&stage, CLOCK_SECOND);
    size_t where = stage_where(&stage, "a");
    AUTO_TEXT uid = strdup(object_uid(stage_job(&stage, where, "a")));
    unsigned deletes = stage.sent[where][VERB_DELETE];
    tell_again(&stage, of_another_uid);
    tell_again(&stage, not_delegated);
    assert_string_equal(object_uid(stage_job(&stage, where, "a")), uid);
    assert_null(stage_job(&stage, 3 - where, "a"));
    assert_int_equal(stage.sent[where][VERB_DELETE], deletes);
    assert_int_equal(stage_told(&stage, "NotDelegated"), 0);
    stage_end(&stage);
}

static void a_host_that_stops_places_nothing_and_creates_nothing_that_can_wait(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    engine_drain(stage.engine);
    stage_submit(&stage, "b", "");
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage_attempt(&stage, "b"), 0);
    assert_int_equal(stage_delete(&stage, 1, "a"), 200); // neither is one that has to be placed again
    stage_run(&stage, CLOCK_MINUTE);
    assert_int_equal(stage_attempt(&stage, "a"), 1);
    assert_int_equal(stage.sent[1][VERB_CREATE] + stage.sent[2][VERB_CREATE], 1);
    stage_end(&stage);
}

static int refuse_creates(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->request.verb == VERB_CREATE ? 403 : STAGE_PASS;
}

static void the_same_event_is_not_repeated(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage_start(&stage);
    stage_disconnect(&stage, 2);
    stage.meddle = refuse_creates;
    stage_submit(&stage, "a", "");
    stage_run(&stage, 30 * CLOCK_MINUTE);
    assert_true(stage.sent[1][VERB_CREATE] > 4);
    assert_in_range(stage_told(&stage, "cluster w1 rejected the mirror"), 1, 2); // itself, and as what is waited for
    stage_end(&stage);
}

static int ask_for_time(struct stage *stage, const struct command *command) {
    stage->retry_after_ns = 100 * CLOCK_SECOND;
    return command->request.verb == VERB_CREATE ? 429 : STAGE_PASS;
}

static void a_server_that_asks_for_time_gets_it(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage_start(&stage);
    stage_disconnect(&stage, 2);
    stage.meddle = ask_for_time;
    stage_submit(&stage, "a", "");
    stage_run(&stage, 95 * CLOCK_SECOND);
    assert_int_equal(stage.sent[1][VERB_CREATE], 1);
    stage_run(&stage, 10 * CLOCK_SECOND);
    assert_int_equal(stage.sent[1][VERB_CREATE], 2);
    stage_end(&stage);
}

// Of two workloads the restored management cluster has one: the mirror of the other may still be needed.
static void a_workload_that_a_restored_cluster_lacks_keeps_its_mirror(void **state) {
    (void)state;
    struct stage stage;
    stage_init(&stage);
    stage.options.settings.mass_deletion_max = 20;
    stage.options.settings.mass_deletion_percent = 90;
    stage.options.settings.orphan_grace_ns = 30 * CLOCK_MINUTE;
    stage_start(&stage);
    stage_run(&stage, 40 * CLOCK_MINUTE); // an empty management cluster is another reason to wait
    stage_submit(&stage, "a", "");
    stage_run(&stage, CLOCK_SECOND);
    struct world_copy *copy = world_copy(stage.clusters[0]);
    stage_submit(&stage, "b", "");
    stage_run(&stage, CLOCK_SECOND);
    size_t where = stage_where(&stage, "b");
    stage_back(&stage, 0, copy);
    stage_run(&stage, 29 * CLOCK_MINUTE);
    assert_non_null(stage_job(&stage, where, "b"));
    stage_run(&stage, 2 * CLOCK_MINUTE);
    assert_null(stage_job(&stage, where, "b"));
    world_copy_free(copy);
    stage_end(&stage);
}

static int conflict_at_first(struct stage *stage, const struct command *command) {
    bool place = command->cluster == ENGINE_MANAGEMENT && command->request.verb == VERB_MERGE_PATCH;
    return place && stage->sent[0][VERB_MERGE_PATCH] < 9 ? 409 : STAGE_PASS;
}

// As while the watch lags behind somebody else's write.
static void a_placement_that_conflicts_is_one_placement(void **state) {
    (void)state;
    struct stage stage;
    start_one(&stage);
    stage.meddle = conflict_at_first;
    assert_int_equal(stage_delete(&stage, 1, "a"), 200);
    stage_run(&stage, 10 * CLOCK_SECOND);
    assert_int_equal(stage_attempt(&stage, "a"), 2);
    assert_int_equal(stage_told(&stage, "Rescheduled: "), 1);
    assert_int_equal(stage_told(&stage, "PlacedTooOften"), 0);
    assert_int_equal(engine_stats(stage.engine)->replacements, 1);
    stage_end(&stage);
}

static wharf_result phase_of_train(const wharf_call *call, const wharf_value *object, wharf_phase *out) {
    (void)call;
    bool done = json_bool(json_path((const struct json *)object, "status", "done", NULL), false);
    out->phase = done ? WHARF_SUCCEEDED : WHARF_ACTIVE;
    return WHARF_OK;
}

static const wharf_kind train = {
    WHARF_KIND_SIZES,        .group = "example.com", .versions = (const char *const[]){"v1", NULL},
    .kind = "Train",         .plural = "trains",     .managed_by = "/spec/managedBy",
    .phase = phase_of_train,
};

// A mirror that runs again, as after a restore of its worker; of a kind whose adapter does not look at that itself.
static void what_has_finished_keeps_the_status_it_has(void **state) {
    (void)state;
    struct kind *kind = NULL;
    assert_null(kind_check(&train, NULL, "wharf.dev/host", &kind));
    AUTO_JSON workload = parsed("{'apiVersion':'example.com/v1','kind':'Train','metadata':{'name':'t','namespace':'n',"
                                "'uid':'u','resourceVersion':'7'},'status':{'done':true,'stops':9}}");
    AUTO_JSON mirror = parsed("{'apiVersion':'example.com/v1','kind':'Train','metadata':{'name':'t','namespace':'n',"
                              "'uid':'m','resourceVersion':'3'},'status':{'stops':4}}");
    struct adapter_call call;
    adapter_call_begin(&call, &(struct call_context){.kind = &kind->abi,
                                                     .given = kind->given,
                                                     .cluster = "w1",
                                                     .attempt = 1,
                                                     .version = "v1",
                                                     .object = "",
                                                     .mirror_state = WHARF_MIRROR_PRESENT});
    struct mirror_context context = {
        .kind = kind, .origin = "here", .call = &call, .workload = workload, .mirror = mirror, .attempt = 1};
    AUTO_JSON patch = NULL;
    uint64_t wanted = 0;
    assert_int_equal(mirror_status(&context, &patch, &wanted), WHARF_OK);
    assert_null(patch);
    adapter_call_end(&call);
    kind_free(kind);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mirror_that_left_the_watch_is_read_before_it_counts_as_gone),
        cmocka_unit_test(a_mirror_that_a_list_lacks_is_read_before_it_counts_as_gone),
        cmocka_unit_test(a_placement_that_the_watch_shows_needs_no_answer),
        cmocka_unit_test(a_placement_that_nothing_shows_is_not_the_former_one),
        cmocka_unit_test(a_workload_made_anew_under_its_name_has_nothing_of_the_earlier_one),
        cmocka_unit_test(an_older_version_of_the_name_ends_no_workload),
        cmocka_unit_test(a_host_that_stops_places_nothing_and_creates_nothing_that_can_wait),
        cmocka_unit_test(the_same_event_is_not_repeated),
        cmocka_unit_test(a_server_that_asks_for_time_gets_it),
        cmocka_unit_test(a_workload_that_a_restored_cluster_lacks_keeps_its_mirror),
        cmocka_unit_test(a_placement_that_conflicts_is_one_placement),
        cmocka_unit_test(what_has_finished_keeps_the_status_it_has),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
