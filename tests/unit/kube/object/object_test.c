// SPDX-License-Identifier: Apache-2.0
#include "core/kube/object/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct json *parse(const char *text) {
    struct json *value = NULL;
    assert_null(json_parse(text, strlen(text), &value));
    return value;
}

static void an_object_keeps_what_it_was_but_for_what_the_host_never_needs(void **state) {
    (void)state;
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"1\"},\"spec\":{\"n\":1.0}}",
         "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"1\"},\"spec\":{\"n\":1.0},\"apiVersion\":"
         "\"batch/v1\",\"kind\":\"Job\"}"},
        {"{\"apiVersion\":\"x/v2\",\"kind\":\"Own\",\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":"
         "\"1\",\"managedFields\":[{\"manager\":\"m\"}]}}",
         "{\"apiVersion\":\"x/v2\",\"kind\":\"Own\",\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":"
         "\"1\"}}"},
        {"{\"apiVersion\":\"x/v2\",\"kind\":\"Own\",\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":"
         "\"1\",\"annotations\":{\"kubectl.kubernetes.io/last-applied-configuration\":\"{}\",\"keep\":\"1\"}}}",
         "{\"apiVersion\":\"x/v2\",\"kind\":\"Own\",\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":"
         "\"1\",\"annotations\":{\"keep\":\"1\"}}}"},
        {"{\"apiVersion\":\"x/v2\",\"kind\":\"Own\",\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":"
         "\"1\",\"annotations\":{\"kubectl.kubernetes.io/last-applied-configuration\":\"{}\"}}}",
         "{\"apiVersion\":\"x/v2\",\"kind\":\"Own\",\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":"
         "\"1\"}}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct object *object = NULL;
        assert_null(object_new(parse(cases[i].in), "batch/v1", "Job", &object));
        assert_string_equal(object->text, cases[i].out);
        assert_int_equal(object->len, strlen(cases[i].out));
        object_free(object);
    }
}

static void what_is_no_object_is_refused_with_the_missing_part_named(void **state) {
    (void)state;
    static const struct {
        const char *in, *message;
    } cases[] = {
        {"[]", "not a JSON object"},
        {"null", "not a JSON object"},
        {"{}", "metadata"},
        {"{\"metadata\":7}", "metadata"},
        {"{\"metadata\":{}}", "name"},
        {"{\"metadata\":{\"name\":\"\"}}", "name"},
        {"{\"metadata\":{\"name\":7}}", "name"},
        {"{\"metadata\":{\"name\":\"a\\u0000b\"}}", "name"},
        {"{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\"}}", "n/a has no uid"},
        {"{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"}}", "resourceVersion"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct object *object = NULL;
        struct error *error = object_new(parse(cases[i].in), NULL, NULL, &object);
        assert_non_null(error);
        assert_null(object);
        assert_int_equal(error->code, ERROR_INVALID);
        assert_non_null(strstr(error_text(error), cases[i].message));
        error_free(error);
    }
}

static void metadata_can_be_read_and_absence_has_its_value(void **state) {
    (void)state;
    AUTO_JSON full = parse("{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"7\","
                           "\"generation\":3,\"labels\":{\"l\":\"1\"},\"annotations\":{\"x\":\"2\"},"
                           "\"deletionTimestamp\":\"2999-01-01T00:00:00Z\",\"ownerReferences\":[{\"uid\":\"o1\"},"
                           "{\"uid\":\"o2\",\"controller\":false},{\"uid\":\"o3\",\"controller\":true}]}}");
    assert_string_equal(object_name(full), "a");
    assert_string_equal(object_namespace(full), "n");
    assert_string_equal(object_uid(full), "u");
    assert_string_equal(object_version(full), "7");
    assert_int_equal(object_generation(full), 3);
    assert_string_equal(object_label(full, "l"), "1");
    assert_null(object_label(full, "x"));
    assert_string_equal(object_annotation(full, "x"), "2");
    assert_true(object_is_being_deleted(full));
    assert_string_equal(json_string(json_get(object_controller(full), "uid")), "o3");

    AUTO_JSON empty = parse("{\"metadata\":{\"deletionTimestamp\":null,\"ownerReferences\":null}}");
    assert_string_equal(object_name(empty), "");
    assert_string_equal(object_version(empty), "");
    assert_int_equal(object_generation(empty), 0);
    assert_null(object_label(empty, "l"));
    assert_null(object_annotation(empty, "x"));
    assert_false(object_is_being_deleted(empty));
    assert_null(object_controller(empty));
    assert_string_equal(object_name(NULL), "");
}

static void versions_are_compared_as_decimals_of_any_length(void **state) {
    (void)state;
    static const struct {
        const char *a, *b;
        int order;
        bool comparable;
    } cases[] = {
        {"9", "10", -1, true},
        {"10", "9", 1, true},
        {"123", "124", -1, true},
        {"99999999999999999999999998", "99999999999999999999999999", -1, true},
        {"100000000000000000000", "99999999999999999999", 1, true},
        {"7", "7", 0, true},
        {"abc", "abc", 0, true},
        {"", "", 0, true},
        {"0", "1", 0, false},
        {"01", "2", 0, false},
        {"", "2", 0, false},
        {"a1", "2", 0, false},
        {"1a", "2", 0, false},
        {"-1", "2", 0, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool comparable = !cases[i].comparable;
        int order = object_version_compare(cases[i].a, cases[i].b, &comparable);
        assert_int_equal(comparable, cases[i].comparable);
        assert_int_equal(order < 0 ? -1 : order > 0, cases[i].order);
    }
}

static void of_an_object_that_is_too_large_there_is_a_stub(void **state) {
    (void)state;
    static const char text[] =
        "{\"apiVersion\":\"batch/v1\",\"metadata\":{\"managedFields\":[1,2],\"name\":\"a\",\"namespace\":\"n\",\"uid\":"
        "\"u\",\"resourceVersion\":\"7\",\"generation\":3,\"labels\":{\"team\":\"x\",\"wharf.dev/origin\":\"o\"},"
        "\"annotations\":{\"long\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\",\"wharf.dev/attempt\":\"2\"}},"
        "\"spec\":{\"more\":[1,2,3,4,5,6,7,8,9,10],\"runPolicy\":{\"managedBy\":\"wharf.dev/host\"}},\"status\":{}}";
    static const char stub[] =
        "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"7\",\"generation\":3,"
        "\"labels\":{\"wharf.dev/origin\":\"o\"},\"annotations\":{\"wharf.dev/attempt\":\"2\"}},\"apiVersion\":"
        "\"batch/v1\",\"spec\":{\"runPolicy\":{\"managedBy\":\"wharf.dev/host\"}},\"kind\":\"Job\"}";
    const char *const kept[] = {"/spec/runPolicy/managedBy", "/spec/absent/x", "/status", NULL};
    for (int by_nodes = 0; by_nodes < 2; by_nodes++) {
        struct budget budget;
        budget_init(&budget, 0, by_nodes ? 0 : 300, by_nodes ? 20 : 0, NULL);
        const struct object_limits limits = {.budget = &budget, .kept = kept, .api_version = "batch/v1", .kind = "Job"};
        struct object *object = NULL;
        assert_null(object_parse_bounded(text, sizeof text - 1, &limits, &object));
        assert_non_null(object->too_large);
        assert_non_null(strstr(object->too_large, by_nodes ? "more than 20 JSON values, which is maxObjectNodes"
                                                           : "bytes, and maxObjectSize is 300"));
        AUTO_JSON expected = NULL;
        assert_null(json_parse(stub, sizeof stub - 1, &expected));
        assert_true(json_set(expected, "status", json_new_object()));
        assert_true(json_equal(object->value, expected));
        object_free(object);
    }
    struct budget budget;
    budget_init(&budget, 0, 0, 0, NULL);
    const struct object_limits limits = {.budget = &budget};
    struct object *object = NULL;
    assert_null(object_parse_bounded(text, sizeof text - 1, &limits, &object));
    assert_null(object->too_large);
    assert_true(object_cost(object) > object->len);
    object_free(object);
}

static void reading_of_an_object_can_be_stopped(void **state) {
    (void)state;
    atomic_bool stop = true;
    struct budget budget;
    budget_init(&budget, 0, 0, 0, &stop);
    const struct object_limits limits = {.budget = &budget};
    static const char text[] = "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"7\"}}";
    struct object *object = NULL;
    struct error *error = object_parse_bounded(text, sizeof text - 1, &limits, &object);
    assert_non_null(error);
    assert_int_equal(error->code, ERROR_STOPPED);
    error_free(error);
}

static void the_kind_of_a_list_names_that_of_its_items(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t len;
    } lists[] = {{"JobList", 3}, {"List", 0}, {"ListList", 4}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        size_t len = 99;
        assert_true(object_kind_is_list(lists[i].text, &len));
        assert_int_equal(len, lists[i].len);
    }
    static const char *const others[] = {"", "Job", "ist", "Joblist", "JobLists"};
    size_t len;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(object_kind_is_list(others[i], &len));
    AUTO_JSON list = parse("{\"kind\":\"JobList\",\"items\":[]}");
    AUTO_JSON empty = parse("{\"kind\":\"PartialObjectMetadataList\",\"items\":null}"); // so do API servers write it
    AUTO_JSON object = parse("{\"kind\":\"MyList\",\"items\":{}}");
    assert_true(object_is_list(list));
    assert_true(object_is_list(empty));
    assert_false(object_is_list(object));
    assert_false(object_is_list(NULL));
}

static void a_text_costs_by_its_commas_and_brackets_wherever_they_are(void **state) {
    (void)state;
    char text[300];
    memset(text, 'x', sizeof text);
    for (size_t at = 0; at < sizeof text; at++) {
        assert_int_equal(object_text_cost(text, at), 64 + 2 * at); // those behind the end do not count
        for (const char *mark = ",{[}]:"; *mark; mark++) {
            text[at] = *mark;
            size_t counted = strchr(",{[", *mark) ? 2 : 1;
            assert_int_equal(object_text_cost(text, sizeof text), counted * 64 + 2 * sizeof text);
        }
        text[at] = 'x';
    }
    memset(text, ',', sizeof text);
    assert_int_equal(object_text_cost(text, sizeof text), (sizeof text + 1) * 64 + 2 * sizeof text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_costs_by_its_commas_and_brackets_wherever_they_are),
        cmocka_unit_test(the_kind_of_a_list_names_that_of_its_items),
        cmocka_unit_test(an_object_keeps_what_it_was_but_for_what_the_host_never_needs),
        cmocka_unit_test(what_is_no_object_is_refused_with_the_missing_part_named),
        cmocka_unit_test(metadata_can_be_read_and_absence_has_its_value),
        cmocka_unit_test(of_an_object_that_is_too_large_there_is_a_stub),
        cmocka_unit_test(reading_of_an_object_can_be_stopped),
        cmocka_unit_test(versions_are_compared_as_decimals_of_any_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
