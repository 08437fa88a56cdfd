// SPDX-License-Identifier: Apache-2.0
// What the API servers of the kinds with CRDs refuse.
#include "tests/unit/world/helper.h"
#include "tests/world/custom.h"

#define KUEUE "\"kueue.x-k8s.io/multikueue\""
#define PODS(zone)                                                                                                     \
    "\"replicatedJobs\":[{\"name\":\"a\",\"replicas\":2,\"template\":{\"spec\":{\"template\":{\"spec\":{"              \
    "\"nodeSelector\":{\"zone\":\"" zone "\"}}}}}}]"

static const struct {
    const char *what, *plural, *made; // the spec
    int created;
    const char *patch; // NULL: none
    int patched;
} cases[] = {
    {"a value of a closed set", "rayjobs", "{\"managedBy\":" KUEUE "}", 201, NULL, 0},
    {"a value outside of it", "rayjobs", "{\"managedBy\":\"wharf.dev/host\"}", 422, NULL, 0},
    {"another value later", "rayjobs", "{\"managedBy\":" KUEUE "}", 201,
     "{\"spec\":{\"managedBy\":\"ray.io/kuberay-operator\"}}", 422},
    {"Ray: taken away later", "rayjobs", "{\"managedBy\":" KUEUE "}", 201, "{\"spec\":{\"managedBy\":null}}", 200},
    {"Ray: added later", "rayclusters", "{\"a\":1}", 201, "{\"spec\":{\"managedBy\":" KUEUE "}}", 200},
    {"in runPolicy", "pytorchjobs", "{\"runPolicy\":{\"managedBy\":\"wharf.dev/host\"}}", 422, NULL, 0},
    {"Kubeflow: added later", "tfjobs", "{\"runPolicy\":{}}", 201,
     "{\"spec\":{\"runPolicy\":{\"managedBy\":" KUEUE "}}}", 422},
    {"JobSet: any domain", "jobsets", "{\"managedBy\":\"wharf.dev/host\"}", 201, NULL, 0},
    {"JobSet: no domain", "jobsets", "{\"managedBy\":\"host\"}", 422, NULL, 0},
    {"JobSet: added later", "jobsets", "{\"a\":1}", 201, "{\"spec\":{\"managedBy\":\"wharf.dev/host\"}}", 422},
    {"JobSet: a template while it runs", "jobsets", "{" PODS("a") "}", 201, "{\"spec\":{" PODS("b") "}}", 422},
    {"JobSet: a template while suspended", "jobsets", "{\"suspend\":true," PODS("a") "}", 201,
     "{\"spec\":{" PODS("b") "}}", 200},
    {"JobSet: a template as it is resumed", "jobsets", "{\"suspend\":true," PODS("a") "}", 201,
     "{\"spec\":{\"suspend\":false," PODS("b") "}}", 200},
    {"JobSet: replicas while suspended", "jobsets", "{\"suspend\":true," PODS("a") "}", 201,
     "{\"spec\":{\"replicatedJobs\":[]}}", 422},
    {"JobSet: what is set once", "jobsets", "{\"network\":{\"subdomain\":\"a\"}}", 201,
     "{\"spec\":{\"network\":{\"subdomain\":\"b\"}}}", 422},
    {"TrainJob: the default cannot become another", "trainjobs", "{\"runtimeRef\":{\"name\":\"a\"}}", 201,
     "{\"spec\":{\"managedBy\":" KUEUE "}}", 422},
    {"TrainJob: patches while it runs", "trainjobs", "{\"runtimePatches\":[]}", 201,
     "{\"spec\":{\"runtimePatches\":[{\"manager\":\"a\"}]}}", 422},
    {"TrainJob: patches while suspended", "trainjobs", "{\"suspend\":true,\"runtimePatches\":[]}", 201,
     "{\"spec\":{\"runtimePatches\":[{\"manager\":\"a\"}]}}", 200},
    {"AppWrapper: components", "appwrappers", "{\"components\":[{\"a\":1}]}", 201,
     "{\"spec\":{\"components\":[{\"a\":2}]}}", 422},
    {"PipelineRun: its status", "pipelineruns", "{\"params\":[]}", 201, "{\"spec\":{\"status\":\"Cancelled\"}}", 200},
    {"PipelineRun: anything else", "pipelineruns", "{\"params\":[]}", 201, "{\"spec\":{\"params\":[1]}}", 422},
    {"PipelineRun: anything while pending", "pipelineruns", "{\"status\":\"PipelineRunPending\",\"params\":[]}", 201,
     "{\"spec\":{\"params\":[1]}}", 200},
    {"Workflow: anything", "workflows", "{\"a\":1}", 201, "{\"spec\":{\"a\":2}}", 200},
};

static void each_kind_refuses_what_its_crd_and_its_webhook_refuse(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct world_kind *kind = &custom_by_plural(cases[i].plural)->kind;
        struct world_cluster *cluster = world_new(&(struct world_options){.seed = 1}, START_NS);
        AUTO_TEXT text = text_format("{\"metadata\":{\"name\":\"x\"},\"spec\":%s}", cases[i].made);
        AUTO_JSON object = NULL;
        assert_null(json_parse(text, strlen(text), &object));
        assert_true(world_register(cluster, kind));
        int created = world_apply(cluster, kind->group, kind->plural, object, START_NS);
        int patched = cases[i].patch ? world_patch(cluster, kind->group, kind->plural, "default", "x", NULL,
                                                   cases[i].patch, START_NS)
                                     : 0;
        if (created != cases[i].created || patched != cases[i].patched)
            print_error("%s: %d and %d, not %d and %d\n", cases[i].what, created, patched, cases[i].created,
                        cases[i].patched);
        assert_int_equal(created, cases[i].created);
        assert_int_equal(patched, cases[i].patched);
        world_free(cluster);
    }
}

static bool owns_status(struct world_cluster *cluster, const char *plural, const char *manager) {
    const struct world_kind *kind = &custom_by_plural(plural)->kind;
    const struct json *object = world_object(cluster, kind->group, kind->plural, "default", "x");
    for (const struct json *f = json_first(pointer_find(object, "/metadata/managedFields")); f; f = json_next(f))
        if (text_equal(json_string(json_get(f, "manager")), manager) && json_path(f, "fieldsV1", "f:status", NULL))
            return true;
    return false;
}

static void managed_fields_name_the_writer_of_a_status_without_a_subresource(void **state) {
    (void)state;
    const struct world_kind *kind = &custom_by_plural("workflows")->kind;
    struct fixture fixture;
    begin(&fixture, &(struct world_options){.seed = 1, .managed_fields = true});
    assert_true(world_register(fixture.cluster, kind));
    AUTO_TEXT list = text_format("/apis/%s/%s/namespaces/default/workflows", kind->group, kind->versions[0]);
    AUTO_TEXT path = text_format("%s/x?fieldManager=host", list);
    AUTO_TEXT made = text_format("{\"apiVersion\":\"%s/%s\",\"kind\":\"Workflow\",\"metadata\":{\"name\":\"x\"},"
                                 "\"spec\":{\"a\":1}}",
                                 kind->group, kind->versions[0]);
    assert_int_equal(ask(&fixture, "POST", list, made, NULL), 201);
    assert_int_equal(ask(&fixture, "PATCH", path, "{\"spec\":{\"a\":2}}", NULL), 200);
    assert_false(owns_status(fixture.cluster, "workflows", "host"));
    assert_int_equal(ask(&fixture, "PATCH", path, "{\"status\":{\"phase\":\"Running\"}}", NULL), 200);
    assert_true(owns_status(fixture.cluster, "workflows", "host"));
    assert_false(owns_status(fixture.cluster, "workflows", "client"));
    assert_int_equal(ask(&fixture, "PATCH", path, "{\"spec\":{\"a\":3}}", NULL), 200);
    assert_true(owns_status(fixture.cluster, "workflows", "host"));
    end(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_refuses_what_its_crd_and_its_webhook_refuse),
        cmocka_unit_test(managed_fields_name_the_writer_of_a_status_without_a_subresource),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
