// SPDX-License-Identifier: Apache-2.0
// Objects that workloads refer to: other writers in the workers, other origins, and rejections.
#include "tests/unit/engine/needs_play.h"

static struct needs_play play;
static struct stage *const stage = &play.stage;

static void job_on(const char *name, const char *worker, const char *spec) {
    needs_job(stage, name, spec);
    AUTO_TEXT patch = text_format("{'metadata':{'annotations':{'wharf.dev/cluster-names':'%s'}}}", worker);
    stage_patch(stage, 0, name, NULL, patch);
}

// D7: equal content is used and never touched; after a change of the source it is a conflict.
static void test_equal(void **state) {
    (void)state;
    needs_begin(&play);
    needs_map(stage, 0, "settings", "1");
    needs_map(stage, 1, "settings", "1");
    AUTO_TEXT version = strdup(object_version(needs_object(stage, 1, "configmaps", "settings")));
    job_on("a", "w1", MAP_VOLUME("settings"));
    stage_run(stage, CLOCK_SECOND);
    assert_non_null(stage_job(stage, 1, "a"));
    assert_string_equal(object_version(needs_object(stage, 1, "configmaps", "settings")), version);
    assert_int_equal(play.sent[1][VERB_MERGE_PATCH] + play.sent[1][VERB_CREATE], 0);
    needs_map(stage, 0, "settings", "2");
    stage_run(stage, 3 * CLOCK_SECOND);
    assert_non_null(stage_job(stage, 1, "a")); // what runs stays
    assert_string_equal(object_version(needs_object(stage, 1, "configmaps", "settings")), version);
    job_on("b", "w1", MAP_VOLUME("settings"));
    stage_run(stage, 3 * CLOCK_SECOND);
    assert_null(stage_job(stage, 1, "b"));
    assert_non_null(strstr(needs_explain(stage, "b"), "has an object with other content"));
    stage_delete(stage, 0, "a");
    stage_delete(stage, 0, "b");
    stage_run(stage, 3 * CLOCK_MINUTE);
    assert_string_equal(object_version(needs_object(stage, 1, "configmaps", "settings")), version);
    needs_end(&play);
}

// D4: other content excludes the worker, as a rejection after the placement.
static void test_conflict(void **state) {
    (void)state;
    needs_begin(&play);
    needs_map(stage, 0, "settings", "1");
    needs_map(stage, 1, "settings", "other");
    needs_job(stage, "a", MAP_VOLUME("settings"));
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_int_equal(stage_where(stage, "a"), 2);
    assert_non_null(stage_job(stage, 2, "a"));
    assert_null(stage_job(stage, 1, "a"));
    assert_int_equal(stage_told(stage, "NameConflict"), 1);
    assert_int_equal(stage_told(stage, "configmaps default/settings"), 1);
    assert_string_equal(needs_value(stage, 1, "settings"), "other");
    // The next one knows.
    needs_job(stage, "b", MAP_VOLUME("settings"));
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_int_equal(stage_where(stage, "b"), 2);
    assert_int_equal(stage_told(stage, "NameConflict"), 1);
    needs_end(&play);
}

// The conflict ends when the other object goes.
static void test_conflict_ends(void **state) {
    (void)state;
    needs_begin(&play);
    needs_map(stage, 0, "settings", "1");
    needs_map(stage, 1, "settings", "other");
    job_on("a", "w1", MAP_VOLUME("settings"));
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_null(stage_job(stage, 1, "a"));
    needs_delete(stage, 1, "configmaps", "settings");
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_non_null(stage_job(stage, 1, "a"));
    assert_string_equal(needs_value(stage, 1, "settings"), "1");
    needs_end(&play);
}

// A user in the worker deletes the copy: it comes back, ever slower if that repeats.
static void test_deleted_there(void **state) {
    (void)state;
    needs_begin(&play);
    needs_map(stage, 0, "settings", "1");
    job_on("a", "w1", MAP_VOLUME("settings"));
    stage_run(stage, CLOCK_SECOND);
    for (int i = 0; i < 40; i++) {
        if (needs_object(stage, 1, "configmaps", "settings"))
            needs_delete(stage, 1, "configmaps", "settings");
        stage_run(stage, CLOCK_SECOND);
    }
    assert_in_range(play.sent[1][VERB_CREATE], 4, 20);
    stage_run(stage, 10 * CLOCK_MINUTE);
    assert_string_equal(needs_value(stage, 1, "settings"), "1");
    needs_end(&play);
}

// D8: a copy of another origin is used, named, and handed over.
static void test_origins(void **state) {
    (void)state;
    needs_begin(&play);
    needs_map(stage, 0, "settings", "1");
    needs_apply(stage, 1, "configmaps",
                "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'settings','namespace':'default','labels':{"
                "'wharf.dev/origin':'there','wharf.dev/copy-of':'u'},'annotations':{'wharf.dev/source':'u/1'}},"
                "'data':{'key':'1'}}");
    job_on("a", "w1", MAP_VOLUME("settings"));
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_non_null(stage_job(stage, 1, "a"));
    const struct json *copy = needs_object(stage, 1, "configmaps", "settings");
    assert_string_equal(object_annotation(copy, MARK_ALSO_USED), "here");
    assert_string_equal(object_label(copy, MARK_ORIGIN), "there");
    // The other host needs it no longer.
    needs_patch(stage, 1, "configmaps", "settings",
                "{'metadata':{'labels':{'wharf.dev/origin':'here'},'annotations':{'wharf.dev/also-used-by':null,"
                "'wharf.dev/seal':null}}}");
    stage_run(stage, 2 * CLOCK_SECOND);
    needs_map(stage, 0, "settings", "2");
    stage_run(stage, 3 * CLOCK_SECOND);
    assert_string_equal(needs_value(stage, 1, "settings"), "2");
    stage_delete(stage, 0, "a");
    stage_run(stage, 70 * CLOCK_SECOND);
    assert_null(needs_object(stage, 1, "configmaps", "settings"));
    needs_end(&play);
}

// D8: this host's copy, which another one uses, is not deleted.
static void test_hands_over(void **state) {
    (void)state;
    needs_begin(&play);
    needs_map(stage, 0, "settings", "1");
    job_on("a", "w1", MAP_VOLUME("settings"));
    stage_run(stage, CLOCK_SECOND);
    needs_patch(stage, 1, "configmaps", "settings",
                "{'metadata':{'annotations':{'wharf.dev/also-used-by':'there,third'}}}");
    stage_delete(stage, 0, "a");
    stage_run(stage, 3 * CLOCK_MINUTE);
    const struct json *copy = needs_object(stage, 1, "configmaps", "settings");
    assert_non_null(copy);
    assert_string_equal(object_label(copy, MARK_ORIGIN), "there");
    assert_string_equal(object_annotation(copy, MARK_ALSO_USED), "third");
    assert_int_equal(play.sent[1][VERB_DELETE], 0);
    needs_end(&play);
}

// The answer of a create is older than what the watch has shown: the deletion has the newest version.
static void test_late_answer(void **state) {
    (void)state;
    needs_begin(&play);
    stage->latency_ns = 300 * CLOCK_MS;
    needs_map(stage, 0, "settings", "1");
    job_on("a", "w1", MAP_VOLUME("settings"));
    for (int i = 0; i < 1000 && !needs_object(stage, 1, "configmaps", "settings"); i++)
        stage_run(stage, 10 * CLOCK_MS);
    needs_patch(stage, 1, "configmaps", "settings", "{'metadata':{'labels':{'team':'x'}}}");
    stage_run(stage, 5 * CLOCK_SECOND);
    assert_non_null(stage_job(stage, 1, "a"));
    stage_delete(stage, 0, "a");
    stage_run(stage, 80 * CLOCK_SECOND);
    assert_null(needs_object(stage, 1, "configmaps", "settings"));
    assert_int_equal(play.sent[1][VERB_DELETE], 1);
    needs_end(&play);
}

static int lose_delete(struct stage *unused, const struct command *command) {
    (void)unused;
    return command->request.verb == VERB_DELETE && needs_of_map(command) ? STAGE_UNHEARD : STAGE_PASS;
}

// D2: a copy whose deletion is in flight, or has an unknown outcome, is not ready for a workload that begins then.
static void test_not_ready_while_deleted(void **state) {
    (void)state;
    needs_begin(&play);
    needs_map(stage, 0, "settings", "1");
    job_on("a", "w1", MAP_VOLUME("settings"));
    stage_run(stage, 2 * CLOCK_SECOND);
    play.blind[1] = true;
    play.meddle = lose_delete;
    stage_delete(stage, 0, "a");
    for (int i = 0; i < 900 && needs_object(stage, 1, "configmaps", "settings"); i++)
        stage_run(stage, 100 * CLOCK_MS);
    job_on("b", "w1", MAP_VOLUME("settings"));
    for (int i = 0; i < 900 && !stage_job(stage, 1, "b"); i++)
        stage_run(stage, 100 * CLOCK_MS);
    assert_non_null(stage_job(stage, 1, "b"));
    assert_non_null(needs_object(stage, 1, "configmaps", "settings"));
    needs_end(&play);
}

// D5: nor before the 60 s, when the last user ends while the copy is read for a change.
static void test_hands_over_in_time(void **state) {
    (void)state;
    needs_begin(&play);
    needs_map(stage, 0, "settings", "1");
    job_on("a", "w1", MAP_VOLUME("settings"));
    stage_run(stage, 2 * CLOCK_SECOND);
    needs_patch(stage, 1, "configmaps", "settings", "{'metadata':{'annotations':{'wharf.dev/also-used-by':'there'}}}");
    stage_run(stage, CLOCK_SECOND);
    stage->latency_ns = 300 * CLOCK_MS;
    unsigned reads = play.sent[1][VERB_GET];
    needs_map(stage, 0, "settings", "2");
    stage_run(stage, 200 * CLOCK_MS);
    stage_delete(stage, 0, "a");
    stage_run(stage, 5 * CLOCK_SECOND);
    assert_int_equal(play.sent[1][VERB_GET], reads + 1);
    assert_string_equal(object_label(needs_object(stage, 1, "configmaps", "settings"), MARK_ORIGIN), "here");
    stage_run(stage, 2 * CLOCK_MINUTE);
    assert_string_equal(object_label(needs_object(stage, 1, "configmaps", "settings"), MARK_ORIGIN), "there");
    needs_end(&play);
}

// Lists without the name of another host.
static void test_hands_over_to_nobody(void **state) {
    (void)state;
    static const char *const lists[] = {",", "here", "here,"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        needs_begin(&play);
        needs_map(stage, 0, "settings", "1");
        job_on("a", "w1", MAP_VOLUME("settings"));
        stage_run(stage, 2 * CLOCK_SECOND);
        AUTO_TEXT patch = text_format("{'metadata':{'annotations':{'wharf.dev/also-used-by':'%s'}}}", lists[i]);
        needs_patch(stage, 1, "configmaps", "settings", patch);
        stage_delete(stage, 0, "a");
        stage_run(stage, 2 * CLOCK_MINUTE);
        assert_null(needs_object(stage, 1, "configmaps", "settings"));
        needs_end(&play);
    }
}

// This host's name leaves the list a minute after the last user.
static void test_no_longer_used(void **state) {
    (void)state;
    needs_begin(&play);
    needs_map(stage, 0, "settings", "1");
    needs_apply(stage, 1, "configmaps",
                "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'settings','namespace':'default','labels':{"
                "'wharf.dev/origin':'there','wharf.dev/copy-of':'u'},'annotations':{'wharf.dev/source':'u/1',"
                "'wharf.dev/also-used-by':'third'}},'data':{'key':'1'}}");
    job_on("a", "w1", MAP_VOLUME("settings"));
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_string_equal(object_annotation(needs_object(stage, 1, "configmaps", "settings"), MARK_ALSO_USED),
                        "third,here");
    stage_delete(stage, 0, "a");
    stage_run(stage, 3 * CLOCK_MINUTE);
    assert_string_equal(object_annotation(needs_object(stage, 1, "configmaps", "settings"), MARK_ALSO_USED), "third");
    needs_end(&play);
}

// With a key, an object with the marks and another seal is another writer's.
static void test_seal(void **state) {
    (void)state;
    struct seal_keys *keys = NULL;
    const void *bytes[] = {"0123456789abcdef0123456789abcdef"};
    size_t len = 32;
    assert_null(seal_keys_new(bytes, &len, 1, &keys));
    needs_init(&play);
    stage->options.seals = keys;
    stage_start(stage);
    needs_map(stage, 0, "settings", "1");
    job_on("a", "w1", MAP_VOLUME("settings"));
    stage_run(stage, 2 * CLOCK_SECOND);
    const struct json *copy = needs_object(stage, 1, "configmaps", "settings");
    assert_non_null(object_annotation(copy, MARK_SEAL));
    stage_restart(stage);
    stage_run(stage, CLOCK_SECOND);
    needs_map(stage, 0, "settings", "2");
    stage_run(stage, 3 * CLOCK_SECOND);
    assert_string_equal(needs_value(stage, 1, "settings"), "2");
    // A forged one, of nobody's workload.
    needs_apply(stage, 1, "configmaps",
                "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'forged','namespace':'default','labels':{"
                "'wharf.dev/origin':'here','wharf.dev/copy-of':'u'},'annotations':{'wharf.dev/source':'u/1',"
                "'wharf.dev/seal':'v1:00000000:0000000000000000000000000000000000000000000000000000000000000000'}},"
                "'data':{'key':'1'}}");
    stage_delete(stage, 0, "a");
    stage_run(stage, 3 * CLOCK_MINUTE);
    assert_null(needs_object(stage, 1, "configmaps", "settings"));
    assert_non_null(needs_object(stage, 1, "configmaps", "forged"));
    needs_end(&play);
    seal_keys_free(keys);
}

// The first start with a key: copies without a seal get one, or go if they have no user.
static void test_first_key(void **state) {
    (void)state;
    struct seal_keys *keys = NULL;
    const void *bytes[] = {"0123456789abcdef0123456789abcdef"};
    size_t len = 32;
    assert_null(seal_keys_new(bytes, &len, 1, &keys));
    needs_begin(&play);
    needs_map(stage, 0, "settings", "1");
    needs_map(stage, 0, "other", "1");
    job_on("a", "w1", MAP_VOLUME("settings"));
    job_on("b", "w1", MAP_VOLUME("other"));
    stage_run(stage, 2 * CLOCK_SECOND);
    stage_delete(stage, 0, "b");
    stage->options.seals = keys;
    stage->options.adopt_until_ns = stage->now.mono_ns + 60 * CLOCK_MINUTE;
    stage_restart(stage);
    stage_run(stage, 5 * CLOCK_SECOND);
    const struct json *copy = needs_object(stage, 1, "configmaps", "settings");
    assert_non_null(object_annotation(copy, MARK_SEAL));
    stage_run(stage, 2 * CLOCK_MINUTE);
    assert_null(needs_object(stage, 1, "configmaps", "other"));
    assert_int_equal(play.sent[1][VERB_MERGE_PATCH], 1);
    needs_end(&play);
    seal_keys_free(keys);
}

// A user of the worker changes a mirror, or forges one: the host copies nothing for that.
static void test_forged(void **state) {
    (void)state;
    needs_begin(&play);
    needs_map(stage, 0, "settings", "1");
    needs_map(stage, 0, "other", "1");
    job_on("b", "w2", MAP_VOLUME("settings"));
    stage_run(stage, 2 * CLOCK_SECOND);
    AUTO_TEXT text = text_format(
        "{'metadata':{'name':'b','namespace':'default','labels':{'wharf.dev/origin':'here','wharf.dev/"
        "kind':'jobs.batch',"
        "'wharf.dev/uid':'%s'},'annotations':{'wharf.dev/attempt':'7'}},'spec':{'parallelism':1,'completions':1,"
        "'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'i'}]," MAP_VOLUME(
            "other") "}}}}",
        object_uid(stage_job(stage, 0, "b")));
    assert_int_equal(stage_apply(stage, 1, "batch", "jobs", text), 201);
    stage_run(stage, 10 * CLOCK_SECOND);
    assert_non_null(stage_job(stage, 1, "b"));
    assert_null(needs_object(stage, 1, "configmaps", "other"));
    stage_restart(stage);
    stage_run(stage, 10 * CLOCK_SECOND);
    assert_null(needs_object(stage, 1, "configmaps", "other"));
    needs_end(&play);
}

static size_t rejecting;

static int reject_copies(struct stage *s, const struct command *command) {
    (void)s;
    bool copy = needs_of_map(command) && command->cluster == rejecting;
    return copy && command->request.verb != VERB_GET ? 403 : STAGE_PASS;
}

// D4: a worker that rejects the copy.
static void test_rejected(void **state) {
    (void)state;
    needs_begin(&play);
    rejecting = 1;
    play.meddle = reject_copies;
    needs_map(stage, 0, "settings", "1");
    needs_job(stage, "a", MAP_VOLUME("settings"));
    stage_run(stage, 3 * CLOCK_SECOND);
    assert_int_equal(stage_where(stage, "a"), 2);
    assert_non_null(stage_job(stage, 2, "a"));
    assert_int_equal(stage_told(stage, "DependencyRejected"), 1);
    assert_int_equal(play.sent[1][VERB_CREATE], 1);
    needs_end(&play);
}

// The only worker rejects the copy: slow repetitions, and the placement once it no longer does.
static void test_rejected_for_a_while(void **state) {
    (void)state;
    needs_begin(&play);
    rejecting = 1;
    play.meddle = reject_copies;
    needs_map(stage, 0, "settings", "1");
    job_on("a", "w1", MAP_VOLUME("settings"));
    stage_run(stage, 10 * CLOCK_MINUTE);
    assert_in_range(play.sent[1][VERB_CREATE], 3, 12);
    assert_null(stage_job(stage, 1, "a"));
    assert_non_null(strstr(needs_explain(stage, "a"), "rejects an object of the workload"));
    play.meddle = NULL;
    stage_run(stage, 11 * CLOCK_MINUTE);
    assert_non_null(stage_job(stage, 1, "a"));
    needs_end(&play);
}

static int reject_reads(struct stage *s, const struct command *command) {
    (void)s;
    bool source = needs_of_map(command) && command->cluster == 0;
    return source ? 403 : STAGE_PASS;
}

// The host may not read the source: the reason is shown, and reads are rare.
static void test_unreadable(void **state) {
    (void)state;
    needs_begin(&play);
    play.meddle = reject_reads;
    needs_map(stage, 0, "settings", "1");
    needs_job(stage, "a", MAP_VOLUME("settings"));
    stage_run(stage, 10 * CLOCK_MINUTE);
    assert_null(stage_job(stage, 1, "a"));
    assert_non_null(strstr(needs_explain(stage, "a"), "Forbidden"));
    assert_in_range(play.sent[0][VERB_GET], 3, 12);
    assert_int_equal(stage_told(stage, "MissingDependency"), 1);
    play.meddle = NULL;
    stage_run(stage, 11 * CLOCK_MINUTE);
    assert_non_null(stage_job(stage, 1, "a"));
    needs_end(&play);
}

static unsigned lost;

static int lose_creates(struct stage *s, const struct command *command) {
    (void)s;
    bool create = needs_of_map(command) && command->request.verb == VERB_CREATE;
    return create && lost++ < 2 ? STAGE_UNHEARD : STAGE_PASS;
}

// A create without an answer: the watch shows the copy, and there is no second one.
static void test_unheard(void **state) {
    (void)state;
    needs_begin(&play);
    lost = 0;
    play.meddle = lose_creates;
    needs_map(stage, 0, "settings", "1");
    job_on("a", "w1", MAP_VOLUME("settings"));
    stage_run(stage, 2 * CLOCK_MINUTE);
    assert_non_null(stage_job(stage, 1, "a"));
    assert_int_equal(play.sent[1][VERB_CREATE], 1);
    needs_end(&play);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_conflict),
        cmocka_unit_test(test_conflict_ends),
        cmocka_unit_test(test_deleted_there),
        cmocka_unit_test(test_origins),
        cmocka_unit_test(test_hands_over),
        cmocka_unit_test(test_late_answer),
        cmocka_unit_test(test_not_ready_while_deleted),
        cmocka_unit_test(test_hands_over_in_time),
        cmocka_unit_test(test_hands_over_to_nobody),
        cmocka_unit_test(test_no_longer_used),
        cmocka_unit_test(test_seal),
        cmocka_unit_test(test_first_key),
        cmocka_unit_test(test_forged),
        cmocka_unit_test(test_rejected),
        cmocka_unit_test(test_rejected_for_a_while),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_unheard),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
