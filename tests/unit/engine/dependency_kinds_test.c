// SPDX-License-Identifier: Apache-2.0
// Objects that workloads refer to: rules of single resources, references of references, limits, and checked objects.
#include "tests/unit/engine/needs_play.h"

static struct needs_play play;
static struct stage *const stage = &play.stage;

static void secret(const char *name, const char *labels, const char *type, const char *value) {
    AUTO_TEXT text = text_format("{'apiVersion':'v1','kind':'Secret','metadata':{'name':'%s','namespace':'default',"
                                 "'labels':{%s}},'type':'%s','data':{'key':'%s'}}",
                                 name, labels, type, value);
    needs_apply(stage, 0, "secrets", text);
}

#define SECRET_VOLUME(name) "'volumes':[{'name':'v','secret':{'secretName':'" name "'}}]"

static size_t where(const char *resource, const char *name) {
    return needs_object(stage, 1, resource, name) ? 1 : needs_object(stage, 2, resource, name) ? 2 : 0;
}

// D9: with `secrets: labelled` the label permits the copy; without it the worker has to have the Secret.
static void test_labelled(void **state) {
    (void)state;
    needs_init(&play);
    stage->options.settings.dependencies.secrets = SECRETS_LABELLED;
    stage_start(stage);
    secret("open", "'wharf.dev/copy':'true'", "Opaque", "eA==");
    secret("closed", "", "Opaque", "eA==");
    needs_job(stage, "a", SECRET_VOLUME("open"));
    needs_job(stage, "b", SECRET_VOLUME("closed"));
    stage_run(stage, 5 * CLOCK_SECOND);
    assert_true(needs_runs(stage, "a"));
    assert_false(needs_runs(stage, "b"));
    assert_int_equal(where("secrets", "closed"), 0);
    needs_patch(stage, 0, "secrets", "closed", "{'metadata':{'labels':{'wharf.dev/copy':'true'}}}");
    stage_run(stage, 3 * CLOCK_SECOND);
    assert_true(needs_runs(stage, "b"));
    assert_int_not_equal(where("secrets", "closed"), 0);
    needs_end(&play);
}

// D9: tokens are never copied.
static void test_denied_types(void **state) {
    (void)state;
    static const char *const types[] = {"bootstrap.kubernetes.io/token", "helm.sh/release.v1"};
    for (size_t i = 0; i < 2; i++) {
        needs_begin(&play);
        secret("token", "", types[i], "eA==");
        needs_job(stage, "a", SECRET_VOLUME("token"));
        stage_run(stage, 10 * CLOCK_SECOND);
        assert_false(needs_runs(stage, "a"));
        assert_int_equal(where("secrets", "token"), 0);
        assert_int_equal(play.sent[0][VERB_GET], 1);
        needs_end(&play);
    }
}

// D6: an API server permits no change of a Secret's type.
static void test_type(void **state) {
    (void)state;
    needs_begin(&play);
    secret("s", "", "Opaque", "eA==");
    needs_job(stage, "a", SECRET_VOLUME("s"));
    stage_run(stage, CLOCK_SECOND);
    size_t w = where("secrets", "s");
    needs_delete(stage, 0, "secrets", "s");
    secret("s", "", "example.com/other", "eQ==");
    stage_run(stage, 5 * CLOCK_SECOND);
    const struct json *copy = needs_object(stage, w, "secrets", "s");
    assert_string_equal(json_string(json_get(copy, "type")), "example.com/other");
    assert_string_equal(json_string(json_path(copy, "data", "key", NULL)), "eQ==");
    needs_end(&play);
}

// Copies have no `immutable`.
static void test_immutable(void **state) {
    (void)state;
    needs_begin(&play);
    needs_apply(stage, 0, "configmaps",
                "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'fixed','namespace':'default'},"
                "'immutable':true,'data':{'key':'1'}}");
    needs_job(stage, "a", MAP_VOLUME("fixed"));
    stage_run(stage, CLOCK_SECOND);
    size_t w = where("configmaps", "fixed");
    assert_null(json_get(needs_object(stage, w, "configmaps", "fixed"), "immutable"));
    AUTO_TEXT uid = strdup(object_uid(needs_object(stage, w, "configmaps", "fixed")));
    needs_delete(stage, 0, "configmaps", "fixed");
    needs_map(stage, 0, "fixed", "2");
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_string_equal(needs_value(stage, w, "fixed"), "2");
    assert_string_equal(object_uid(needs_object(stage, w, "configmaps", "fixed")), uid);
    needs_end(&play);
}

#define ACCOUNT                                                                                                        \
    "{'apiVersion':'v1','kind':'ServiceAccount','metadata':{'name':'robot','namespace':'default','annotations':{"      \
    "'role':'x','kubernetes.io/enforce-mountable-secrets':'true'}},'secrets':[{'name':'robot-token'}],"                \
    "'imagePullSecrets':[{'name':'pull'}]}"

// A ServiceAccount brings its pull secrets, and never its tokens; what a token controller writes stays.
static void test_account(void **state) {
    (void)state;
    needs_begin(&play);
    secret("pull", "", "Opaque", "eA==");
    secret("robot-token", "", "Opaque", "eA==");
    needs_apply(stage, 0, "serviceaccounts", ACCOUNT);
    needs_job(stage, "a", "'serviceAccountName':'robot'");
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_true(needs_runs(stage, "a"));
    size_t w = where("serviceaccounts", "robot");
    const struct json *copy = needs_object(stage, w, "serviceaccounts", "robot");
    assert_null(json_get(copy, "secrets"));
    assert_string_equal(object_annotation(copy, "role"), "x");
    assert_null(object_annotation(copy, "kubernetes.io/enforce-mountable-secrets"));
    assert_non_null(needs_object(stage, w, "secrets", "pull"));
    assert_int_equal(where("secrets", "robot-token"), 0);
    needs_patch(stage, w, "serviceaccounts", "robot", "{'secrets':[{'name':'made-there'}]}");
    needs_patch(stage, 0, "serviceaccounts", "robot", "{'automountServiceAccountToken':false}");
    stage_run(stage, 3 * CLOCK_SECOND);
    copy = needs_object(stage, w, "serviceaccounts", "robot");
    assert_false(json_bool(json_get(copy, "automountServiceAccountToken"), true));
    assert_string_equal(json_string(json_get(json_at(json_get(copy, "secrets"), 0), "name")), "made-there");
    // A new pull secret of the account reaches the worker too.
    secret("second", "", "Opaque", "eA==");
    needs_patch(stage, 0, "serviceaccounts", "robot", "{'imagePullSecrets':[{'name':'pull'},{'name':'second'}]}");
    stage_run(stage, 4 * CLOCK_SECOND);
    assert_non_null(needs_object(stage, w, "secrets", "second"));
    needs_end(&play);
}

// The account has users, though it is deleted, and its Secret has the same.
static void test_account_that_is_deleted(void **state) {
    (void)state;
    needs_begin(&play);
    secret("pull", "", "Opaque", "eA==");
    needs_apply(stage, 0, "serviceaccounts", ACCOUNT);
    needs_job(stage, "a", "'serviceAccountName':'robot'");
    stage_run(stage, 2 * CLOCK_SECOND);
    size_t w = where("secrets", "pull");
    needs_job(stage, "b", "'serviceAccountName':'robot'," MAP_VOLUME("none"));
    needs_delete(stage, 0, "serviceaccounts", "robot");
    stage_delete(stage, 0, "a");
    stage_run(stage, 5 * CLOCK_MINUTE);
    assert_non_null(needs_object(stage, w, "serviceaccounts", "robot"));
    assert_non_null(needs_object(stage, w, "secrets", "pull"));
    stage_delete(stage, 0, "b");
    stage_run(stage, 5 * CLOCK_MINUTE);
    assert_int_equal(where("secrets", "pull"), 0);
    needs_end(&play);
}

// After a restart only the account is read, which refers to others; its Secret is kept.
static void test_account_after_restart(void **state) {
    (void)state;
    needs_begin(&play);
    secret("pull", "", "Opaque", "eA==");
    needs_apply(stage, 0, "serviceaccounts", ACCOUNT);
    needs_job(stage, "a", "'serviceAccountName':'robot'");
    stage_run(stage, 2 * CLOCK_SECOND);
    size_t w = where("secrets", "pull");
    unsigned reads = play.sent[0][VERB_GET], all = needs_requests(&play);
    stage_restart(stage);
    stage_run(stage, 5 * CLOCK_MINUTE);
    assert_non_null(needs_object(stage, w, "secrets", "pull"));
    assert_int_equal(play.sent[0][VERB_GET], reads + 1);
    assert_int_equal(needs_requests(&play), all + 1);
    needs_end(&play);
}

// A claim is made anew in the worker, without what binds it, and keeps what it has there.
static void test_claim(void **state) {
    (void)state;
    needs_begin(&play);
    needs_apply(stage, 0, "persistentvolumeclaims",
                "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'data','namespace':'default',"
                "'annotations':{'pv.kubernetes.io/bind-completed':'yes'}},'spec':{'accessModes':['ReadWriteOnce'],"
                "'volumeName':'pv-7','resources':{'requests':{'storage':'1Gi'}}}}");
    needs_job(stage, "a", "'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'data'}}]");
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_true(needs_runs(stage, "a"));
    size_t w = where("persistentvolumeclaims", "data");
    const struct json *copy = needs_object(stage, w, "persistentvolumeclaims", "data");
    const char *volume = json_string(json_path(copy, "spec", "volumeName", NULL));
    assert_true(!volume || strcmp(volume, "pv-7") != 0);
    needs_end(&play);
}

// A checked claim with data is in the worker alone: its reference to a storage class needs no source.
static void test_claim_of_the_worker(void **state) {
    (void)state;
    needs_begin(&play);
    struct engine_settings settings = stage->options.settings;
    settings.dependencies = (struct dependency_options){.check = "persistentvolumeclaims"};
    assert_null(engine_configure(stage->engine, &settings));
    needs_apply(stage, 2, "persistentvolumeclaims",
                "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'data','namespace':'default'},"
                "'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}}}");
    needs_job(stage, "a", "'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'data'}}]");
    stage_run(stage, 3 * CLOCK_SECOND);
    assert_non_null(stage_job(stage, 2, "a"));
    needs_end(&play);
}

static void priority(size_t cluster, int value) {
    AUTO_TEXT text = text_format("{'apiVersion':'scheduling.k8s.io/v1','kind':'PriorityClass','metadata':{'name':"
                                 "'high'},'value':%d}",
                                 value);
    assert_int_equal(stage_apply(stage, cluster, "scheduling.k8s.io", "priorityclasses", text), 201);
}

// The value is immutable: the PriorityClass of w1 is made anew.
static void change_priority(int value) {
    stage->user = true;
    int status =
        world_delete(stage->clusters[1], "scheduling.k8s.io", "priorityclasses", "", "high", NULL, stage->now.wall_ns);
    stage->user = false;
    assert_int_equal(status, 200);
    priority(1, value);
    stage_run(stage, 2 * CLOCK_SECOND);
}

static void next_job(const char *name) {
    needs_job(stage, name, "'priorityClassName':'high'");
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_non_null(stage_job(stage, 1, name));
}

// D4: a checked object has to be in the worker; the reason of the others is shown.
static void test_checked(void **state) {
    (void)state;
    needs_begin(&play);
    priority(2, 1000);
    for (int i = 0; i < 4; i++) {
        AUTO_TEXT name = text_format("a%d", i);
        needs_job(stage, name, "'priorityClassName':'high'");
        stage_run(stage, 2 * CLOCK_SECOND);
        assert_int_equal(stage_where(stage, name), 2);
        assert_non_null(stage_job(stage, 2, name));
        assert_int_equal(stage_attempt(stage, name), 1);
    }
    needs_end(&play);
}

static void test_checked_nowhere(void **state) {
    (void)state;
    needs_begin(&play);
    needs_job(stage, "a", "'priorityClassName':'high'");
    stage_run(stage, 20 * CLOCK_SECOND);
    assert_false(needs_runs(stage, "a"));
    struct explain_view view;
    stage_explain(stage, "a", &view);
    assert_int_equal(view.workload.waiting, WAITING_NO_WORKER);
    assert_non_null(strstr(view.waiting_text, "w1 lacks an object of the workload"));
    priority(1, 1000);
    stage_run(stage, CLOCK_SECOND);
    assert_non_null(stage_job(stage, 1, "a"));
    needs_end(&play);
}

static unsigned told;

static void on_view(void *ctx, const struct dependency_view *view) {
    told += view->problem && strstr(view->problem, ctx);
}

// A PriorityClass of another value is used, and told in each namespace, once for each version.
static void test_other_priority(void **state) {
    (void)state;
    needs_begin(&play);
    priority(0, 1000);
    priority(1, 7);
    unsigned before = stage->warnings;
    next_job("a");
    told = 0;
    inspect_dependencies(stage->engine, stage->kind, "default", "a", on_view, "differs");
    assert_int_equal(told, 1);
    assert_int_equal(stage->warnings, before + 1);
    assert_int_equal(stage_told(stage, "DependencyDiffers"), 1);
    next_job("b");
    assert_int_equal(stage_told(stage, "DependencyDiffers"), 1);
    for (size_t cluster = 0; cluster < 2; cluster++)
        assert_int_equal(stage_apply(stage, cluster, "", "namespaces", "{'metadata':{'name':'other'}}"), 201);
    assert_int_equal(stage_apply(stage, 0, "batch", "jobs",
                                 "{'metadata':{'name':'e','namespace':'other'},'spec':{'managedBy':'wharf.dev/host',"
                                 "'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'i'}],"
                                 "'priorityClassName':'high'}}}}"),
                     201);
    stage_run(stage, 2 * CLOCK_SECOND);
    assert_int_equal(stage_told(stage, "DependencyDiffers"), 2);
    change_priority(8); // while nothing else happens to the Jobs
    assert_int_equal(stage_told(stage, "DependencyDiffers"), 4);
    next_job("c");
    change_priority(1000);
    next_job("d");
    assert_int_equal(stage_told(stage, "DependencyDiffers"), 4);
    needs_end(&play);
}

// Jobs one after the other, each the only one that refers to the object.
static void test_other_priority_again(void **state) {
    (void)state;
    needs_begin(&play);
    priority(0, 1000);
    priority(1, 7);
    unsigned before = stage->warnings;
    for (int i = 0; i < 4; i++) {
        next_job("a");
        stage_delete(stage, 0, "a");
        stage_run(stage, 2 * CLOCK_MINUTE);
        assert_null(stage_job(stage, 1, "a"));
    }
    assert_int_equal(stage->warnings, before + 1);
    assert_int_equal(stage_told(stage, "DependencyDiffers"), 1);
    needs_end(&play);
}

// D10.
static void test_many(void **state) {
    (void)state;
    needs_begin(&play);
    AUTO_BUFFER(volumes, 65536);
    for (int i = 0; i < 70; i++) {
        AUTO_TEXT name = text_format("m%d", i);
        needs_map(stage, 0, name, "1");
        buffer_printf(&volumes, "%s{'name':'v%d','configMap':{'name':'m%d'}}", i ? "," : "", i, i);
    }
    AUTO_TEXT spec = text_format("'volumes':[%s]", volumes.data);
    needs_job(stage, "a", spec);
    stage_run(stage, 5 * CLOCK_SECOND);
    assert_false(needs_runs(stage, "a"));
    assert_int_equal(where("configmaps", "m0"), 0);
    assert_int_equal(stage_told(stage, "TooManyDependencies"), 1);
    needs_end(&play);
}

static void count_secret(void *ctx, const struct dependency_view *view) {
    (void)ctx;
    told += strcmp(view->resource, "secrets") == 0;
}

static void claim_of(int number, const char *source) {
    AUTO_TEXT text = text_format("{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'%sp%d',"
                                 "'namespace':'default'},'spec':{'accessModes':['ReadWriteOnce'],'resources':{"
                                 "'requests':{'storage':'1Gi'}},'dataSource':{'kind':'PersistentVolumeClaim',"
                                 "'name':'%sp%d'}}}",
                                 source, number, *source ? "x" : "of-", number);
    needs_apply(stage, 0, "persistentvolumeclaims", text);
}

// D10: references of references, which come before, push no direct one out.
static void test_many_with_others(void **state) {
    (void)state;
    needs_begin(&play);
    AUTO_BUFFER(volumes, 65536);
    for (int i = 0; i < 4; i++) {
        claim_of(i, "");
        buffer_printf(&volumes, "{'name':'p%d','persistentVolumeClaim':{'claimName':'p%d'}},", i, i);
    }
    for (int i = 0; i < 60; i++)
        buffer_printf(&volumes, "%s{'name':'s%d','secret':{'secretName':'s%d'}}", i ? "," : "", i, i);
    AUTO_TEXT spec = text_format("'volumes':[%s]", volumes.data);
    needs_job(stage, "a", spec);
    stage_run(stage, 5 * CLOCK_SECOND);
    for (int i = 0; i < 4; i++)
        claim_of(i, "of-");
    stage_run(stage, 5 * CLOCK_SECOND);
    told = 0;
    inspect_dependencies(stage->engine, stage->kind, "default", "a", count_secret, NULL);
    assert_int_equal(told, 60);
    assert_int_equal(stage_told(stage, "TooManyDependencies"), 1);
    needs_end(&play);
}

// D10: the size is known once the sources are read, which happens before the mirror.
static void test_large(void **state) {
    (void)state;
    needs_begin(&play);
    AUTO_BUFFER(volumes, 65536);
    AUTO_BUFFER(big, (size_t)1 << 20);
    while (big.len < 900 * 1024)
        buffer_text(&big, "0123456789abcdef");
    for (int i = 0; i < 12; i++) {
        AUTO_TEXT name = text_format("m%d", i);
        needs_map(stage, 0, name, big.data);
        buffer_printf(&volumes, "%s{'name':'v%d','configMap':{'name':'m%d'}}", i ? "," : "", i, i);
    }
    AUTO_TEXT spec = text_format("'volumes':[%s]", volumes.data);
    needs_job(stage, "a", spec);
    stage_run(stage, 20 * CLOCK_SECOND);
    assert_false(needs_runs(stage, "a"));
    assert_int_equal(stage_told(stage, "TooManyDependencies"), 1);
    needs_end(&play);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labelled),
        cmocka_unit_test(test_denied_types),
        cmocka_unit_test(test_type),
        cmocka_unit_test(test_immutable),
        cmocka_unit_test(test_account),
        cmocka_unit_test(test_account_that_is_deleted),
        cmocka_unit_test(test_account_after_restart),
        cmocka_unit_test(test_claim),
        cmocka_unit_test(test_claim_of_the_worker),
        cmocka_unit_test(test_checked),
        cmocka_unit_test(test_checked_nowhere),
        cmocka_unit_test(test_other_priority),
        cmocka_unit_test(test_other_priority_again),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_many_with_others),
        cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests(tests, stage_load, NULL);
}
