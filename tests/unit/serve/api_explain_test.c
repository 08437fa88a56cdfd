// SPDX-License-Identifier: Apache-2.0
// The API's explanation of one object.
#include "tests/unit/engine/needs_play.h"
#include "tests/unit/serve/desk.h"

static int reject(struct stage *stage, const struct command *command) {
    (void)stage;
    return command->request.verb == VERB_CREATE && command->cluster > 0 ? 403 : STAGE_PASS;
}

static void an_explanation_says_where_why_and_what_would_help(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    desk.stage.meddle = reject;
    submit(&desk, "a");
    stage_run(&desk.stage, CLOCK_SECOND);
    assert_int_equal(get(&desk, "/api/v1/workloads/job/default/a"), 200);
    assert_at(&desk, "/ours", "true");
    assert_at(&desk, "/why", "\"/spec/managedBy is wharf.dev/host, which this host answers to\"");
    assert_at(&desk, "/waiting/reason", "\"refused\"");
    assert_at(&desk, "/waitingFor", "\"0/2 workers accept it: w1 forbidden; w2 forbidden\"");
    assert_true(size_at(&desk, "/attempts") >= 2);
    assert_at(&desk, "/attempts/0/outcome", "\"Rejected\"");
    assert_at(&desk, "/attempts/0/message", "\"meddled\"");
    assert_at(&desk, "/workers/0/fit", "false");
    assert_at(&desk, "/workers/0/reason", "\"rejected the mirror: meddled\"");
    assert_at(&desk, "/mirror", "null");
    assert_at(&desk, "/help/0",
              "\"wharf rbac --for worker --config FILE | kubectl --context w1 apply -f - # the host's rights there\"");
    assert_at(&desk, "/help/2", "\"wharf retry jobs.batch/a -n default # tries again at once\"");
    desk.stage.meddle = NULL;
    stage_run(&desk.stage, 20 * CLOCK_MINUTE);
    assert_int_equal(get(&desk, "/api/v1/workloads/Job.batch/default/a"), 200);
    assert_at(&desk, "/waiting", "null");
    assert_at(&desk, "/waitingFor", "null");
    assert_at(&desk, "/help", "[]");
    assert_at(&desk, "/mirror/phase", "\"Pending\"");
    struct api_mirror mirror;
    assert_null(api_find_mirror(&desk.source, desk.stage.kind, "default", "a", &mirror));
    assert_int_equal(mirror.number, stage_where(&desk.stage, "a"));
    assert_string_equal(mirror.version, "v1");
    assert_int_equal(mirror.attempt, stage_attempt(&desk.stage, "a"));
    struct error *error = api_find_mirror(&desk.source, desk.stage.kind, "default", "b", &mirror);
    assert_int_equal(error->code, ERROR_NOT_FOUND);
    error_free(error);
    end(&desk);
}

static void a_list_has_the_reason_of_each_worker_where_none_accepts_a_workload(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    stage_submit(&desk.stage, "a", "'wharf.dev/cluster-names':'elsewhere'");
    stage_run(&desk.stage, CLOCK_SECOND);
    assert_int_equal(get(&desk, "/api/v1/workloads"), 200);
    assert_at(&desk, "/items/0/waiting/reason", "\"no-worker\"");
    assert_at(&desk, "/items/0/waiting/message", "\"no worker is eligible; wharf explain has the reason of each\"");
    assert_at(&desk, "/items/0/waiting/detail",
              "\"0/2 workers accept it: annotation wharf.dev/cluster-names: elsewhere is no worker: "
              "w1 not among its cluster-names; w2 not among its cluster-names\"");
    end(&desk);
}

static void a_mirror_that_is_gone_after_the_end_is_told_with_the_setting(void **state) {
    (void)state;
    struct desk desk;
    struct api_mirror mirror;
    begin(&desk);
    submit(&desk, "a");
    stage_run(&desk.stage, CLOCK_SECOND);
    stage_runs(&desk.stage, stage_where(&desk.stage, "a"), "a");
    stage_run(&desk.stage, CLOCK_SECOND);
    stage_completes(&desk.stage, stage_where(&desk.stage, "a"), "a");
    stage_run(&desk.stage, CLOCK_SECOND);
    assert_null(api_find_mirror(&desk.source, desk.stage.kind, "default", "a", &mirror));
    assert_true(mirror.finished);
    stage_run(&desk.stage, 20 * CLOCK_MINUTE);
    struct error *error = api_find_mirror(&desk.source, desk.stage.kind, "default", "a", &mirror);
    assert_true(error && mirror.finished && !mirror.awaited);
    assert_string_equal(error_text(error),
                        "Job default/a has finished and has no mirror any more: it is deleted mirrorRetention after "
                        "the end, and with it its pods and their logs");
    error_free(error);
    end(&desk);
}

static void a_suspended_one_is_told_how_it_is_resumed(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    submit(&desk, "a");
    assert_int_equal(stage_patch(&desk.stage, 0, "a", NULL, "{'spec':{'suspend':true}}"), 200);
    stage_run(&desk.stage, CLOCK_SECOND);
    assert_int_equal(get(&desk, "/api/v1/workloads/jobs/default/a"), 200);
    assert_at(&desk, "/suspended", "true");
    assert_at(
        &desk, "/help/0",
        "\"kubectl -n default patch jobs.batch a --type=merge -p '{\\\"spec\\\":{\\\"suspend\\\":false}}' # resumes "
        "it\"");
    assert_int_equal(
        stage_patch(&desk.stage, 0, "a", NULL, "{'metadata':{'labels':{'kueue.x-k8s.io/queue-name':'q'}}}"), 200);
    stage_run(&desk.stage, CLOCK_SECOND);
    assert_int_equal(get(&desk, "/api/v1/workloads/jobs/default/a"), 200);
    assert_at(&desk, "/help/0",
              "\"kubectl -n default get workloads.kueue.x-k8s.io # Kueue resumes it when it is admitted\"");
    end(&desk);
}

// A text or an annotation that suspends is removed.
static void each_field_that_suspends_has_its_own_command(void **state) {
    (void)state;
    static const struct {
        const char *suspend, *value, *patch, *command;
    } rows[] = {
        {"/spec/suspend", "true", "{'spec':{'suspend':true}}", "{\\\"spec\\\":{\\\"suspend\\\":null}}"},
        {"/metadata/annotations/example.com~1stop", NULL, "{'metadata':{'annotations':{'example.com/stop':'true'}}}",
         "{\\\"metadata\\\":{\\\"annotations\\\":{\\\"example.com/stop\\\":null}}}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct desk desk;
        begin(&desk);
        desk.stage.kind->abi.suspend = rows[i].suspend;
        desk.stage.kind->abi.suspend_value = rows[i].value;
        submit(&desk, "a");
        assert_int_equal(stage_patch(&desk.stage, 0, "a", NULL, rows[i].patch), 200);
        stage_run(&desk.stage, CLOCK_SECOND);
        assert_int_equal(get(&desk, "/api/v1/workloads/jobs/default/a"), 200);
        assert_at(&desk, "/suspended", "true");
        AUTO_TEXT command =
            text_format("\"kubectl -n default patch jobs.batch a --type=merge -p '%s' # resumes it\"", rows[i].command);
        assert_at(&desk, "/help/0", command);
        end(&desk);
    }
}

static void create_as(struct desk *desk, const char *name, const char *managed_by) {
    AUTO_TEXT text = text_format("{'metadata':{'name':'%s','namespace':'default'},'spec':{%s'template':{'spec':{"
                                 "'restartPolicy':'Never','containers':[{'name':'c','image':'i'}]}}}}",
                                 name, managed_by);
    AUTO_JSON job = harness_json(text);
    assert_int_equal(world_apply(desk->stage.clusters[0], "batch", "jobs", job, desk->stage.now.wall_ns), 201);
}

static void an_object_of_somebody_else_says_whose_it_is(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    static const struct {
        const char *name, *managed_by, *why;
    } cases[] = {
        {"plain", "", "\"/spec/managedBy is not set: the management cluster's own controller runs it\""},
        {"builtin", "'managedBy':'kubernetes.io/job-controller',",
         "\"/spec/managedBy is kubernetes.io/job-controller, which names the kind's own controller\""},
        {"queued", "'managedBy':'kueue.x-k8s.io/multikueue',",
         "\"/spec/managedBy is kueue.x-k8s.io/multikueue: MultiKueue owns it\""},
        {"other", "'managedBy':'example.com/x',",
         "\"/spec/managedBy is example.com/x; this host answers to wharf.dev/host\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        create_as(&desk, cases[i].name, cases[i].managed_by);
        stage_run(&desk.stage, CLOCK_SECOND);
        char url[128];
        snprintf(url, sizeof url, "/api/v1/workloads/job/default/%s", cases[i].name);
        assert_int_equal(get(&desk, url), 200);
        assert_at(&desk, "/ours", "false");
        assert_at(&desk, "/why", cases[i].why);
        assert_at(&desk, "/mirror", "null");
        assert_int_equal(size_at(&desk, "/help"), 1);
    }
    // Delegated, but the watch is down.
    stage_disconnect(&desk.stage, 0);
    create_as(&desk, "unseen", "'managedBy':'wharf.dev/host',");
    stage_run(&desk.stage, CLOCK_SECOND);
    assert_int_equal(get(&desk, "/api/v1/workloads/job/default/unseen"), 200);
    const char *why = json_string(json_get(desk.answer, "why"));
    assert_non_null(strstr(why, "but this host does not know it yet"));
    assert_int_equal(size_at(&desk, "/help"), 0);
    end(&desk);
}

static void a_kind_has_the_short_names_that_the_management_cluster_knows(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    submit(&desk, "a");
    desk.discovery = "{\"resources\":[{\"name\":\"jobs\",\"shortNames\":[\"jb\"]},{\"name\":\"cronjobs\","
                     "\"shortNames\":[\"cj\"]}]}";
    assert_int_equal(get(&desk, "/api/v1/workloads/jb/default/a"), 200);
    assert_at(&desk, "/kind", "\"Job\"");
    assert_int_equal(get(&desk, "/api/v1/workloads/JB/default/a"), 200);
    assert_int_equal(get(&desk, "/api/v1/workloads/cj/default/a"), 404);
    end(&desk);
    begin(&desk);
    submit(&desk, "a");
    desk.broken = true;
    assert_int_equal(get(&desk, "/api/v1/workloads/jb/default/a"), 404);
    end(&desk);
}

// Whoever has a token may ask for them, whatever their rights.
static void kinds_that_do_not_exist_are_not_looked_for_each_time(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    for (int i = 0; i < 50; i++) {
        char path[64];
        snprintf(path, sizeof path, "/api/v1/workloads/kind-%d/default/a", i);
        assert_int_equal(get(&desk, path), 404);
    }
    assert_int_equal(desk.reads, 1);
    end(&desk);
}

static void events_are_read_where_that_is_allowed(void **state) {
    (void)state;
    struct desk desk;
    begin(&desk);
    submit(&desk, "a");
    assert_int_equal(get(&desk, "/api/v1/workloads/job/default/a"), 200);
    assert_non_null(json_get(desk.answer, "events"));
    desk.broken = true;
    assert_int_equal(get(&desk, "/api/v1/workloads/job/default/a"), 200);
    assert_at(&desk, "/events", "null");
    assert_at(&desk, "/ours", "true");
    end(&desk);
}

// A workload of the desk needs ConfigMaps.
static void begin_with_needs(struct desk *desk, const char *spec) {
    begin(desk);
    struct engine_settings settings = desk->stage.options.settings;
    settings.dependencies = (struct dependency_options){.copy = "configmaps"};
    assert_null(engine_configure(desk->stage.engine, &settings));
    needs_job(&desk->stage, "a", spec);
    stage_run(&desk->stage, CLOCK_SECOND);
}

static void a_missing_object_is_told_with_how_to_look_for_it(void **state) {
    (void)state;
    struct desk desk;
    begin_with_needs(&desk, MAP_VOLUME("settings"));
    assert_int_equal(get(&desk, "/api/v1/workloads/job/default/a"), 200);
    assert_at(&desk, "/dependencies/0/state", "\"unknown\"");
    assert_at(&desk, "/help", "[]");
    needs_say(&desk.stage, ENGINE_MANAGEMENT, DEPENDENCY_GONE, "settings", NULL);
    stage_run(&desk.stage, CLOCK_SECOND);
    assert_int_equal(get(&desk, "/api/v1/workloads/job/default/a"), 200);
    assert_at(&desk, "/dependencies/0/name", "\"settings\"");
    assert_at(&desk, "/dependencies/0/state", "\"missing\"");
    assert_at(&desk, "/dependencies/0/cluster", "null");
    assert_at(&desk, "/waiting/reason", "\"dependency\"");
    assert_at(&desk, "/help/0", "\"kubectl -n default get configmaps settings # does not exist\"");
    end(&desk);
}

// Several objects, one command.
static void objects_that_a_cluster_refuses_are_told_with_the_rights(void **state) {
    (void)state;
    struct desk desk;
    begin_with_needs(&desk, "'volumes':[{'name':'a','configMap':{'name':'a'}},{'name':'b','configMap':{'name':'b'}}]");
    needs_say(&desk.stage, ENGINE_MANAGEMENT, DEPENDENCIES_REFUSED, "a", "Forbidden: no right");
    needs_say(&desk.stage, ENGINE_MANAGEMENT, DEPENDENCIES_REFUSED, "b", "Forbidden: no right");
    stage_run(&desk.stage, CLOCK_SECOND);
    assert_int_equal(get(&desk, "/api/v1/workloads/job/default/a"), 200);
    assert_at(&desk, "/dependencies/0/state", "\"refused\"");
    assert_at(&desk, "/dependencies/1/state", "\"refused\"");
    assert_at(&desk, "/help",
              "[\"wharf rbac --for management --config FILE | kubectl apply -f - # the host's rights\"]");
    end(&desk);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_explanation_says_where_why_and_what_would_help),
        cmocka_unit_test(a_list_has_the_reason_of_each_worker_where_none_accepts_a_workload),
        cmocka_unit_test(a_mirror_that_is_gone_after_the_end_is_told_with_the_setting),
        cmocka_unit_test(a_missing_object_is_told_with_how_to_look_for_it),
        cmocka_unit_test(objects_that_a_cluster_refuses_are_told_with_the_rights),
        cmocka_unit_test(a_suspended_one_is_told_how_it_is_resumed),
        cmocka_unit_test(each_field_that_suspends_has_its_own_command),
        cmocka_unit_test(an_object_of_somebody_else_says_whose_it_is),
        cmocka_unit_test(a_kind_has_the_short_names_that_the_management_cluster_knows),
        cmocka_unit_test(kinds_that_do_not_exist_are_not_looked_for_each_time),
        cmocka_unit_test(events_are_read_where_that_is_allowed),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
