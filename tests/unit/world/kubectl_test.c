// SPDX-License-Identifier: Apache-2.0
// What kubectl asks of an API server besides objects: OpenAPI, names in discovery, its kinds of patches.
#include "tests/unit/world/helper.h"
#include "tests/world/crd.h"
#include "tests/world/model.h"

#include <stdlib.h>
#include <unistd.h>

static int patch(struct fixture *f, const char *type, const char *body, struct json **out) {
    struct world_request request = {
        .method = "PATCH", .path = JOBS "/a", .content_type = type, .body = body, .body_len = strlen(body)};
    struct world_response response;
    world_request(f->cluster, &request, f->now_ns, &response);
    int status = response.status;
    *out = NULL;
    assert_null(json_parse(response.body, response.body_len, out));
    world_response_clear(&response);
    return status;
}

#define STRATEGIC "application/strategic-merge-patch+json"
#define JSON_PATCH "application/json-patch+json"
#define POD(members) "{\"spec\":{\"template\":{\"spec\":{" members "}}}}"

static const struct {
    const char *what, *type, *body;
    int status;
    const char *pointer, *expected; // JSON there afterwards; NULL: nothing
} patches[] = {
    {"a member", STRATEGIC, "{\"spec\":{\"parallelism\":3}}", 200, "/spec/parallelism", "3"},
    {"a member goes", STRATEGIC, "{\"metadata\":{\"labels\":{\"x\":null}}}", 200, "/metadata/labels/x", NULL},
    {"a member is deleted", STRATEGIC, "{\"metadata\":{\"annotations\":{\"$patch\":\"delete\"}}}", 200,
     "/metadata/annotations", NULL},
    {"a map is replaced", STRATEGIC, "{\"metadata\":{\"annotations\":{\"$patch\":\"replace\",\"b\":\"2\"}}}", 200,
     "/metadata/annotations", "{\"b\":\"2\"}"},
    {"keys are retained", STRATEGIC, "{\"metadata\":{\"annotations\":{\"$retainKeys\":[\"c\"],\"c\":\"3\"}}}", 200,
     "/metadata/annotations", "{\"c\":\"3\"}"},
    {"finalizers are joined", STRATEGIC, "{\"metadata\":{\"finalizers\":[\"b.c/d\",\"a.b/c\"]}}", 200,
     "/metadata/finalizers", "[\"a.b/c\",\"b.c/d\"]"},
    {"a finalizer goes", STRATEGIC, "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"a.b/c\"]}}", 200,
     "/metadata/finalizers", NULL},
    {"no object", STRATEGIC, "[1]", 422, "/spec/parallelism", "1"},
    {"a container without its name", STRATEGIC, POD("\"containers\":[{\"image\":\"b\"}]"), 422, "/spec/parallelism",
     "1"},
    {"replace", JSON_PATCH, "[{\"op\":\"replace\",\"path\":\"/spec/parallelism\",\"value\":4}]", 200,
     "/spec/parallelism", "4"},
    {"insert", JSON_PATCH, "[{\"op\":\"add\",\"path\":\"/metadata/finalizers/0\",\"value\":\"c.d/e\"}]", 200,
     "/metadata/finalizers", "[\"c.d/e\",\"a.b/c\"]"},
    {"append", JSON_PATCH, "[{\"op\":\"add\",\"path\":\"/metadata/finalizers/-\",\"value\":\"c.d/e\"}]", 200,
     "/metadata/finalizers", "[\"a.b/c\",\"c.d/e\"]"},
    {"move", JSON_PATCH, "[{\"op\":\"move\",\"from\":\"/metadata/labels/x\",\"path\":\"/metadata/labels/z\"}]", 200,
     "/metadata/labels/z", "\"y\""},
    {"test holds", JSON_PATCH,
     "[{\"op\":\"test\",\"path\":\"/metadata/labels/x\",\"value\":\"y\"},"
     "{\"op\":\"remove\",\"path\":\"/metadata/labels/x\"}]",
     200, "/metadata/labels/x", NULL},
    {"test fails", JSON_PATCH,
     "[{\"op\":\"test\",\"path\":\"/metadata/labels/x\",\"value\":\"z\"},"
     "{\"op\":\"remove\",\"path\":\"/metadata/labels/x\"}]",
     422, "/metadata/labels/x", "\"y\""},
    {"replace what is not there", JSON_PATCH, "[{\"op\":\"replace\",\"path\":\"/spec/nothing\",\"value\":4}]", 422,
     "/spec/parallelism", "1"},
    {"no operation", JSON_PATCH, "[{\"op\":\"grow\",\"path\":\"/spec\"}]", 422, "/spec/parallelism", "1"},
    {"no list", JSON_PATCH, "{}", 422, "/spec/parallelism", "1"},
    {"apply", "application/apply-patch+yaml", "{}", 415, "/spec/parallelism", "1"},
};

static void test_patches(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof patches / sizeof *patches; i++) {
        struct fixture f;
        begin(&f, &(struct world_options){.no_controllers = true});
        make_job(&f, "a", "\"parallelism\":1", "\"a\":\"1\"");
        assert_int_equal(
            ask(&f, "PATCH", JOBS "/a", "{\"metadata\":{\"labels\":{\"x\":\"y\"},\"finalizers\":[\"a.b/c\"]}}", NULL),
            200);
        AUTO_JSON answer = NULL;
        int status = patch(&f, patches[i].type, patches[i].body, &answer);
        const struct json *found = pointer_find(job_of(&f, "a"), patches[i].pointer);
        AUTO_TEXT text = found ? json_text(found, NULL) : NULL;
        if (status != patches[i].status || !text_equal(text, patches[i].expected))
            fail_msg("%s: %d, %s", patches[i].what, status, text ? text : "nothing");
        end(&f);
    }
}

// Lists of pods are merged by name: a change of one container keeps the others. A suspended Job's template may change.
static void test_containers_are_merged_by_name(void **state) {
    (void)state;
    struct fixture f;
    begin(&f, &(struct world_options){.no_controllers = true});
    AUTO_JSON answer = NULL;
    AUTO_JSON job = NULL;
    static const char body[] =
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"CronJob\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"schedule\":"
        "\"* * * * *\",\"jobTemplate\":{\"spec\":{\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":["
        "{\"name\":\"x\",\"image\":\"a\"},{\"name\":\"y\",\"image\":\"b\"}]}}}}}}";
    assert_int_equal(ask(&f, "POST", "/apis/batch/v1/namespaces/default/cronjobs", body, &job), 201);
    struct world_request request = {.method = "PATCH",
                                    .path = "/apis/batch/v1/namespaces/default/cronjobs/a",
                                    .content_type = STRATEGIC,
                                    .body = "{\"spec\":{\"jobTemplate\":{\"spec\":{\"template\":{\"spec\":{"
                                            "\"containers\":[{\"name\":\"y\",\"image\":\"c\"},"
                                            "{\"name\":\"x\",\"$patch\":\"delete\"},"
                                            "{\"name\":\"z\",\"image\":\"d\"}]}}}}}}"};
    request.body_len = strlen(request.body);
    struct world_response response;
    world_request(f.cluster, &request, f.now_ns, &response);
    assert_int_equal(response.status, 200);
    assert_null(json_parse(response.body, response.body_len, &answer));
    world_response_clear(&response);
    const struct json *containers = pointer_find(answer, "/spec/jobTemplate/spec/template/spec/containers");
    assert_int_equal(json_size(containers), 2);
    assert_string_equal(text_at(json_at(containers, 0), "/image"), "c");
    assert_string_equal(text_at(json_at(containers, 1), "/name"), "z");
    end(&f);
}

static const char definition[] =
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  group: example.com\n"
    "  scope: Cluster\n  names: {plural: things, singular: thing, kind: Thing, shortNames: [tg], categories: [all]}\n"
    "  versions:\n  - {name: v1beta1, served: true, storage: false}\n  - {name: v0, served: false, storage: false}\n"
    "  - name: v1\n    served: true\n    storage: true\n    subresources: {status: {}}\n    schema:\n"
    "      openAPIV3Schema: {type: object, properties: {spec: {description: What., properties: {"
    "run: {properties: {paused: {type: boolean}}}}}}}\n";

static void load(struct crds *crds, const char *text, const char *expected) {
    char path[] = "/tmp/wharf-crd-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    struct error *error = crds_load(path, crds);
    unlink(path);
    if (!text_equal(error ? strstr(error_text(error), expected ? expected : "?") : NULL, expected))
        fail_msg("found %s, expected %s", error_text(error), expected ? expected : "no error");
    error_free(error);
}

static void test_a_kind_comes_with_its_definition(void **state) {
    (void)state;
    struct crds crds = {0};
    struct fixture f;
    begin(&f, &(struct world_options){0});
    load(&crds, definition, NULL);
    assert_ptr_equal(crds_find(&crds, "things.example.com"), &crds.items[0]);
    assert_ptr_equal(crds_find(&crds, "things"), &crds.items[0]);
    assert_null(crds_find(&crds, "things.example.org"));
    assert_string_equal(crds.items[0].custom.suspend, "/spec/run/paused");
    assert_true(world_register(f.cluster, &crds.items[0].custom.kind));
    assert_false(world_register(f.cluster, &crds.items[0].custom.kind));
    world_kind_find(f.cluster, "example.com", "things")->custom = &crds.items[0].custom; // as the player installs it
    AUTO_JSON group = NULL;
    AUTO_JSON resources = NULL;
    AUTO_JSON schemas = NULL;
    AUTO_JSON index = NULL;
    assert_int_equal(ask(&f, "GET", "/apis/example.com", NULL, &group), 200);
    assert_string_equal(text_at(group, "/preferredVersion/version"), "v1");
    assert_int_equal(json_size(json_get(group, "versions")), 2);
    assert_int_equal(ask(&f, "GET", "/apis/example.com/v1", NULL, &resources), 200);
    assert_string_equal(text_at(resources, "/resources/0/singularName"), "thing");
    assert_string_equal(text_at(resources, "/resources/0/shortNames/0"), "tg");
    assert_string_equal(text_at(resources, "/resources/0/categories/0"), "all");
    assert_string_equal(text_at(resources, "/resources/1/name"), "things/status");
    assert_false(json_bool(pointer_find(resources, "/resources/0/namespaced"), true));
    assert_int_equal(ask(&f, "POST", "/apis/example.com/v1/things",
                         "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"a\"}}", NULL),
                     201);
    assert_int_equal(ask(&f, "PATCH", "/apis/example.com/v1/things/a", "{\"data\":1}", NULL), 200);
    assert_int_equal(ask(&f, "GET", "/openapi/v3", NULL, &index), 200);
    assert_string_equal(text_at(index, "/paths/apis~1example.com~1v1/serverRelativeURL"),
                        "/openapi/v3/apis/example.com/v1");
    assert_string_equal(text_at(index, "/paths/api~1v1/serverRelativeURL"), "/openapi/v3/api/v1");
    assert_int_equal(ask(&f, "GET", "/openapi/v3/apis/example.com/v1", NULL, &schemas), 200);
    assert_string_equal(text_at(schemas, "/components/schemas/example.com.v1.Thing/properties/spec/description"),
                        "What.");
    assert_string_equal(text_at(schemas, "/paths/~1apis~1example.com~1v1~1things~1{name}/patch/parameters/2/name"),
                        "fieldValidation");
    assert_int_equal(ask(&f, "GET", "/openapi/v3/apis/example.org/v1", NULL, NULL), 404);
    end(&f);
    crds_free(&crds);
}

static void test_definitions_that_are_wrong(void **state) {
    (void)state;
    static const struct {
        const char *from, *to, *expected;
    } cases[] = {
        {"group: example.com", "group: '-'", "spec.group: expected a domain"},
        {"plural: things", "plural: 'a thing'", "spec.names: expected plural and kind"},
        {"scope: Cluster", "scope: Galaxy", "spec.scope: expected Namespaced or Cluster"},
        {"served: true", "served: false", "expected at least one that is served"},
        {"kind: CustomResourceDefinition", "kind: Thing", "found no CustomResourceDefinition"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct crds crds = {0};
        AUTO_BUFFER(text, 4096);
        const char *rest = definition;
        for (const char *at; (at = strstr(rest, cases[i].from)); rest = at + strlen(cases[i].from))
            buffer_printf(&text, "%.*s%s", (int)(at - rest), rest, cases[i].to);
        buffer_text(&text, rest);
        load(&crds, text.data, cases[i].expected);
        assert_int_equal(crds.count, 0);
        crds_free(&crds);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patches), cmocka_unit_test(test_containers_are_merged_by_name),
        cmocka_unit_test(test_a_kind_comes_with_its_definition), cmocka_unit_test(test_definitions_that_are_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
