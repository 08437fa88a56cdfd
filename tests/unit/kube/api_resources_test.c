// SPDX-License-Identifier: Apache-2.0
#include "core/kube/api_resources.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_version_has_its_path),
        cmocka_unit_test(a_resource_is_found_by_its_whole_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
