// SPDX-License-Identifier: Apache-2.0
#include "core/kube/api/requests.h"

#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void a_version_has_its_path(void **state) {
    (void)state;
    AUTO_TEXT core = api_resources_path("", "v1");
    AUTO_TEXT batch = api_resources_path("batch", "v1beta1");
    assert_string_equal(core, "/api/v1");
    assert_string_equal(batch, "/apis/batch/v1beta1");
}

static void a_resource_is_found_by_its_whole_name(void **state) {
    (void)state;
    static const char text[] =
        "{\"kind\":\"APIResourceList\",\"resources\":[null,{\"name\":7},{\"name\":\"jobs/status\"},"
        "{\"name\":\"jobs\",\"verbs\":[\"get\",5,\"watch\"]},{\"name\":\"cronjobs\"}]}";
    AUTO_JSON list = NULL;
    assert_null(json_parse(text, strlen(text), &list));
    const struct json *jobs = api_resources_find(list, "jobs");
    assert_non_null(jobs);
    assert_true(api_resource_has_verb(jobs, "get"));
    assert_true(api_resource_has_verb(jobs, "watch"));
    assert_false(api_resource_has_verb(jobs, "wat"));
    assert_false(api_resource_has_verb(jobs, "list"));
    assert_non_null(api_resources_find(list, "jobs/status"));
    assert_false(api_resource_has_verb(api_resources_find(list, "cronjobs"), "get"));
    assert_null(api_resources_find(list, "job"));
    assert_null(api_resources_find(list, ""));
    assert_null(api_resources_find(NULL, "jobs"));
    assert_false(api_resource_has_verb(NULL, "get"));
}

// Owner references come from whoever may create a pod, and the list from the worker.
static void what_would_change_the_meaning_of_a_path_is_not_used(void **state) {
    (void)state;
    static const char *const wrong[] = {"",        "/",      "/v1",     "v1/",      "..",     "../v1", "../../x",
                                        "a/../v1", "a/b/v1", "a%2f/v1", "a/v1?x=y", "a b/v1", "A/v1",  "a/v1#"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_null(api_resources_version_path(wrong[i]));
    AUTO_TEXT core = api_resources_version_path("v1");
    AUTO_TEXT ray = api_resources_version_path("ray.io/v1");
    assert_string_equal(core, "/api/v1");
    assert_string_equal(ray, "/apis/ray.io/v1");
    static const char text[] =
        "{\"resources\":[{\"name\":\"jobs/status\",\"kind\":\"Job\",\"namespaced\":true},"
        "{\"name\":\"..\",\"kind\":\"Up\",\"namespaced\":true},{\"name\":\"x?y=z\",\"kind\":\"Asks\",\"namespaced\":"
        "true},"
        "{\"name\":\"nodes\",\"kind\":\"Node\"},{\"name\":\"jobs\",\"kind\":\"Job\",\"namespaced\":true}]}";
    AUTO_JSON list = NULL;
    assert_null(json_parse(text, strlen(text), &list));
    assert_string_equal(api_resources_plural(list, "Job"), "jobs");
    assert_null(api_resources_plural(list, "Up"));
    assert_null(api_resources_plural(list, "Asks"));
    assert_null(api_resources_plural(list, "Node"));
    assert_null(api_resources_plural(NULL, "Job"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_version_has_its_path),
        cmocka_unit_test(a_resource_is_found_by_its_whole_name),
        cmocka_unit_test(what_would_change_the_meaning_of_a_path_is_not_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
