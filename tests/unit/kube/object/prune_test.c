// SPDX-License-Identifier: Apache-2.0
#include "core/kube/object/span.h"

#include "core/base/text.h"
#include "core/kube/object/object.h"

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

#include <string.h>

static const char *const kept[] = {"/metadata/name", "/spec/a/*/b", "/spec/c", "/x/*", NULL};

static void only_what_is_named_is_kept(void **state) {
    (void)state;
    static const struct {
        const char *text, *pruned; // NULL: malformed
    } cases[] = {
        {"{\"kind\":\"Pod\",\"metadata\":{\"uid\":\"u\",\"name\":\"n\",\"labels\":{}}}",
         "{\"metadata\":{\"name\":\"n\"}}"},
        {" { \"spec\" : { \"a\" : [ {\"b\" : {\"d\":[1]} , \"e\":2} , {} , 7 ] } } \n",
         "{\"spec\":{\"a\":[{\"b\":{\"d\":[1]}},{},7]}}"},
        {"{\"spec\":{\"c\":[1,2],\"cc\":3,\"a\":null}}", "{\"spec\":{\"c\":[1,2],\"a\":null}}"},
        {"{\"x\":[1,{\"y\":2}],\"spec\":[{\"c\":1}]}", "{\"x\":[1,{\"y\":2}],\"spec\":[]}"},
        {"{\"metadata\":{\"a\\\"b\":1,\"name\":\"}\"}}", "{\"metadata\":{\"name\":\"}\"}}"},
        {"{}", "{}"},
        {"{\"spec\":{\"a\":[]}}", "{\"spec\":{\"a\":[]}}"},
        {"[]", NULL},
        {"", NULL},
        {"{\"a\":1", NULL},
        {"{\"a\":1 2}", NULL},
        {"{\"spec\":{\"a\":[1 2]}}", NULL},
        {"{\"metadata\":{name:1}}", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t len = 0;
        AUTO_TEXT pruned = prune_text(cases[i].text, strlen(cases[i].text), kept, NULL, 0, &len);
        if (!text_equal(pruned, cases[i].pruned))
            fail_msg("%s: found %s", cases[i].text, pruned ? pruned : "nothing");
    }
}

static void an_object_is_cut_before_it_is_parsed_and_one_that_is_malformed_is_refused_as_before(void **state) {
    (void)state;
    static const char *const only[] = {"/metadata/name", "/metadata/uid", "/metadata/resourceVersion", NULL};
    const char *text =
        "{\"metadata\":{\"name\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"1\",\"labels\":{\"a\":\"b\"}},"
        "\"spec\":{\"a\":1}}";
    const struct object_limits limits = {.only = only, .api_version = "v1", .kind = "Pod"};
    struct object *object = NULL;
    assert_null(object_parse_bounded(text, strlen(text), &limits, &object));
    assert_string_equal(object_name(object->value), "n");
    assert_null(json_get(object->value, "spec"));
    assert_string_equal(json_string(json_get(object->value, "kind")), "Pod");
    object_free(object);
    text = "{\"metadata\":{\"name\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"1\"},\"spec\" 1}";
    struct error *error = object_parse_bounded(text, strlen(text), &limits, &object);
    assert_non_null(error);
    assert_int_equal(error->code, ERROR_INVALID);
    error_free(error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_named_is_kept),
        cmocka_unit_test(an_object_is_cut_before_it_is_parsed_and_one_that_is_malformed_is_refused_as_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
