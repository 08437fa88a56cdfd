// SPDX-License-Identifier: Apache-2.0
// Objects that workloads refer to: denied access, quotas, and chains of references.
#include "tests/unit/engine/needs_play.h"

static struct needs_play play;
static struct stage *const stage = &play.stage;

// The management cluster denies the watch: the workload waits with that reason, and goes on with the right.
static void test_no_source_watch(void **state) {
    (void)state;
    needs_begin(&play);
    play.blind[0] = true;
    needs_submit(stage);
    needs_say(stage, 0, DEPENDENCIES_REFUSED, NULL, "forbidden to list configmaps");
    stage_run(stage, 5 * CLOCK_SECOND);
    assert_false(needs_runs(stage, "a"));
    assert_string_equal(needs_explain(stage, "a"),
                        "missing or not readable in the management cluster: configmaps default/settings "
                        "(forbidden to list configmaps)");
    assert_int_equal(stage_told(stage, "MissingDependency"), 1);
    assert_int_equal(stage_told(stage, "do not exist or cannot be read in the management cluster"), 1);
    play.blind[0] = false;
    needs_say(stage, 0, DEPENDENCIES_LISTED, NULL, NULL);
    needs_repeat(&play, 0);
    stage_run(stage, CLOCK_SECOND);
    assert_true(needs_runs(stage, "a"));
    needs_end(&play);
}

// The same for one object of a watch by name.
static void test_no_single_watch(void **state) {
    (void)state;
    needs_begin(&play);
    play.blind[0] = true;
    needs_submit(stage);
    needs_say(stage, 0, DEPENDENCIES_REFUSED, "settings", "forbidden to get settings");
    stage_run(stage, 5 * CLOCK_SECOND);
    assert_non_null(strstr(needs_explain(stage, "a"), "forbidden to get settings"));
    play.blind[0] = false;
    needs_repeat(&play, 0);
    stage_run(stage, CLOCK_SECOND);
    assert_true(needs_runs(stage, "a"));
    needs_end(&play);
}

// A worker that denies the watch gets no workload that needs a copy there; another one does.
static void test_no_worker_watch(void **state) {
    (void)state;
    needs_begin(&play);
    play.blind[1] = true;
    needs_submit(stage);
    assert_int_equal(stage_where(stage, "a"), 1);
    needs_say(stage, 1, DEPENDENCIES_REFUSED, NULL, "forbidden there");
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_non_null(stage_job(stage, 2, "a"));
    assert_int_equal(stage_told(stage, "DependencyRejected"), 1);
    assert_int_equal(stage_told(stage, "forbidden there"), 1);
    assert_int_equal(play.sent[1][VERB_CREATE], 0);
    needs_end(&play);
}

static bool denied;

static int deny_changes(struct stage *s, const struct command *command) {
    (void)s;
    bool change = needs_of_map(command) && command->cluster > 0;
    return denied && change && command->request.verb != VERB_CREATE ? 403 : STAGE_PASS;
}

// Rights taken away in the middle: what runs stays, requests become rare, and the change follows with the right.
static void test_rights_go(void **state) {
    (void)state;
    needs_begin(&play);
    play.meddle = deny_changes;
    denied = false;
    needs_submit(stage);
    size_t w = stage_where(stage, "a");
    denied = true;
    needs_map(stage, 0, "settings", "2");
    stage_run(stage, 30 * CLOCK_MINUTE);
    assert_non_null(stage_job(stage, w, "a"));
    assert_int_equal(stage_attempt(stage, "a"), 1);
    assert_in_range(play.sent[w][VERB_GET], 4, 16);
    denied = false;
    stage_run(stage, 16 * CLOCK_MINUTE);
    assert_string_equal(needs_value(stage, w, "settings"), "2");
    needs_end(&play);
}

static unsigned creates;

static int quota(struct stage *s, const struct command *command) {
    (void)s;
    bool create = needs_of_map(command) && command->request.verb == VERB_CREATE;
    creates += create;
    return denied && create ? 403 : STAGE_PASS;
}

// The worker rejects the copy; a change of the namespace there brings the next try at once.
static void test_quota(void **state) {
    (void)state;
    needs_begin(&play);
    play.meddle = quota;
    denied = true;
    creates = 0;
    stage_disconnect(stage, 2);
    needs_map(stage, 0, "settings", "1");
    needs_job(stage, "a", MAP_VOLUME("settings"));
    stage_run(stage, 8 * CLOCK_MINUTE);
    assert_false(needs_runs(stage, "a"));
    unsigned before = creates;
    denied = false;
    stage_step(stage, &(struct engine_event){.type = EVENT_NAMESPACE,
                                             .cluster = 1,
                                             .namespace_ = {.news = NAMESPACE_SEEN, .name = "default"}});
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_true(needs_runs(stage, "a"));
    assert_int_equal(creates, before + 1);
    needs_end(&play);
}

static void say_namespaces(size_t cluster) {
    stage_step(stage, &(struct engine_event){
                          .type = EVENT_NAMESPACE, .cluster = cluster, .namespace_ = {.news = NAMESPACE_SEEN}});
}

// Both workers reject the copies of several objects. News of any namespaces bring one more try in each of them, for all
// objects together; then the usual delays apply.
static void test_rejected_everywhere(void **state) {
    (void)state;
    needs_begin(&play);
    play.meddle = quota;
    denied = true;
    creates = 0;
    static const char *const names[] = {"a", "b", "c"};
    for (size_t i = 0; i < 3; i++)
        needs_map(stage, 0, names[i], "1");
    needs_job(stage, "job",
              "'volumes':[{'name':'a','configMap':{'name':'a'}},{'name':'b','configMap':{'name':'b'}},"
              "{'name':'c','configMap':{'name':'c'}}]");
    stage_run(stage, CLOCK_SECOND);
    assert_int_equal(stage_attempt(stage, "job"), 2);
    assert_int_equal(creates, 6);
    say_namespaces(1);
    say_namespaces(2);
    stage_run(stage, CLOCK_SECOND);
    assert_in_range(stage_attempt(stage, "job"), 3, 4);
    assert_in_range(creates, 9, 12);
    stage_run(stage, 10 * CLOCK_MINUTE);
    assert_in_range(stage_attempt(stage, "job"), 5, 30);
    denied = false;
    stage_run(stage, 20 * CLOCK_MINUTE);
    assert_true(needs_runs(stage, "job"));
    needs_end(&play);
}

// ConfigMaps that name others in /data/next, as a kind may say.
static const wharf_reference chain[] = {{.name = "/metadata/annotations/first",
                                         .group = "",
                                         .version = "v1",
                                         .resource = "configmaps",
                                         .kind = "ConfigMap"},
                                        {.of = "configmaps",
                                         .name = "/data/next",
                                         .group = "",
                                         .version = "v1",
                                         .resource = "configmaps",
                                         .kind = "ConfigMap"},
                                        {.name = NULL}};

static void link_map(const char *name, const char *next) {
    AUTO_TEXT text = text_format("{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'%s','namespace':'default'},"
                                 "'data':{'next':'%s'}}",
                                 name, next);
    needs_apply(stage, 0, "configmaps", text);
}

static void submit(const char *name, const char *first) {
    AUTO_TEXT annotations = text_format("'first':'%s'", first);
    stage_submit(stage, name, annotations);
}

// D10: to a depth of 4; a circle ends where it began.
static void test_chain(void **state) {
    (void)state;
    needs_init(&play);
    stage->kind->abi.references = chain;
    stage_start(stage);
    link_map("m1", "m2");
    link_map("m2", "m3");
    link_map("m3", "m4");
    link_map("m4", "m5");
    link_map("m5", "");
    link_map("round", "about");
    link_map("about", "round");
    submit("a", "m1");
    submit("b", "round");
    stage_run(stage, 10 * CLOCK_SECOND);
    assert_true(needs_runs(stage, "a") && needs_runs(stage, "b"));
    size_t w = stage_where(stage, "a");
    for (int i = 1; i <= 4; i++) {
        AUTO_TEXT name = text_format("m%d", i);
        assert_non_null(needs_object(stage, w, "configmaps", name));
    }
    assert_null(needs_object(stage, w, "configmaps", "m5"));
    w = stage_where(stage, "b");
    assert_non_null(needs_object(stage, w, "configmaps", "about"));
    // A link that another object gets later.
    stage_delete(stage, 0, "b");
    link_map("late", "");
    submit("c", "late");
    stage_run(stage, 2 * CLOCK_SECOND);
    w = stage_where(stage, "c");
    needs_patch(stage, 0, "configmaps", "late", "{'data':{'next':'m5'}}");
    stage_run(stage, 4 * CLOCK_SECOND);
    assert_non_null(needs_object(stage, w, "configmaps", "m5"));
    needs_end(&play);
}

// A link that does not exist delays the placement.
static void test_broken_chain(void **state) {
    (void)state;
    needs_init(&play);
    stage->kind->abi.references = chain;
    stage_start(stage);
    link_map("m1", "m2");
    submit("a", "m1");
    stage_run(stage, 5 * CLOCK_SECOND);
    assert_false(needs_runs(stage, "a"));
    assert_non_null(strstr(needs_explain(stage, "a"), "configmaps default/m2"));
    link_map("m2", "");
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_true(needs_runs(stage, "a"));
    needs_end(&play);
}

// A worker that is to leave stays until its copies are deleted.
static void test_may_leave(void **state) {
    (void)state;
    needs_begin_with_job(&play);
    size_t w = stage_where(stage, "a");
    stage_delete(stage, 0, "a");
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_null(stage_job(stage, w, "a"));
    assert_false(engine_may_leave(stage->engine, w));
    stage_run(stage, CLOCK_MINUTE + 5 * CLOCK_SECOND);
    assert_null(needs_object(stage, w, "configmaps", "settings"));
    assert_true(engine_may_leave(stage->engine, w));
    needs_end(&play);
}

// A workload that waits for another object keeps no copy in a worker that is drained.
static void test_may_leave_others(void **state) {
    (void)state;
    needs_begin_with_job(&play);
    size_t w = stage_where(stage, "a");
    needs_job(stage, "b",
              "'volumes':[{'name':'v','configMap':{'name':'settings'}},{'name':'w','configMap':{'name':'none'}}]");
    stage_run(stage, CLOCK_SECOND);
    stage_delete(stage, 0, "a");
    stage_run(stage, 2 * CLOCK_MINUTE);
    assert_non_null(needs_object(stage, w, "configmaps", "settings"));
    stage_step(stage, &(struct engine_event){.type = EVENT_WORKER,
                                             .cluster = w,
                                             .worker = {.name = w == 1 ? "w1" : "w2", .policy = WORKER_DRAIN_FINISH}});
    stage_run(stage, CLOCK_MINUTE + 10 * CLOCK_SECOND);
    assert_null(needs_object(stage, w, "configmaps", "settings"));
    assert_true(engine_may_leave(stage->engine, w));
    needs_end(&play);
}

// Nor does a workload whose mirror the drain deleted while it was suspended: its resume copies again, elsewhere.
static void test_may_leave_suspended(void **state) {
    (void)state;
    needs_begin_with_job(&play);
    size_t w = stage_where(stage, "a");
    assert_int_equal(stage_patch(stage, 0, "a", NULL, "{'spec':{'suspend':true}}"), 200);
    stage_run(stage, 2 * CLOCK_MINUTE);
    assert_non_null(needs_object(stage, w, "configmaps", "settings"));
    stage_step(stage, &(struct engine_event){.type = EVENT_WORKER,
                                             .cluster = w,
                                             .worker = {.name = w == 1 ? "w1" : "w2", .policy = WORKER_DRAIN_MOVE}});
    stage_run(stage, CLOCK_MINUTE + 10 * CLOCK_SECOND);
    assert_null(needs_object(stage, w, "configmaps", "settings"));
    assert_true(engine_may_leave(stage->engine, w));
    assert_int_equal(stage_patch(stage, 0, "a", NULL, "{'spec':{'suspend':false}}"), 200);
    stage_run(stage, 5 * CLOCK_SECOND);
    assert_int_equal(stage_where(stage, "a"), 3 - w);
    assert_true(needs_runs(stage, "a"));
    needs_end(&play);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_source_watch),
        cmocka_unit_test(test_no_single_watch),
        cmocka_unit_test(test_no_worker_watch),
        cmocka_unit_test(test_rights_go),
        cmocka_unit_test(test_quota),
        cmocka_unit_test(test_rejected_everywhere),
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_broken_chain),
        cmocka_unit_test(test_may_leave),
        cmocka_unit_test(test_may_leave_others),
        cmocka_unit_test(test_may_leave_suspended),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
