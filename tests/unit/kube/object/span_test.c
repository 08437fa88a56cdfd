// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/kube/object/object.h"
#include "core/kube/object/span.h"

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

#include <stdlib.h>
#include <string.h>

static void a_member_is_found_by_its_nesting(void **state) {
    (void)state;
    static const struct {
        const char *text, *key, *value; // value NULL: not found
    } cases[] = {
        {"{\"a\":1,\"b\":{\"a\":2}}", "a", "1"},
        {"{\"b\":{\"a\":2},\"a\":\"x\"}", "a", "\"x\""},
        {" { \"b\" : [1,{\"a\":3}] , \"a\" : true } ", "a", "true"},
        {"{\"b\":\"\\\"a\\\":1\",\"a\":{\"c\":\"}\"}}", "a", "{\"c\":\"}\"}"},
        {"{\"b\":\"\\\\\",\"a\":[]}", "a", "[]"},
        {"{\"ab\":1}", "a", NULL},
        {"{\"a", "a", NULL},
        {"{\"a\":", "a", NULL},
        {"{\"a\":1", "a", NULL},
        {"[{\"a\":1}]", "a", NULL},
        {"{}", "a", NULL},
        {"", "a", NULL},
        {"{,\"a\":1}", "a", NULL},
        {"{\"b\" 1,\"a\":1}", "a", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct span span;
        bool found = span_member(cases[i].text, strlen(cases[i].text), cases[i].key, &span);
        if (found == !cases[i].value)
            fail_msg("%s: found %d", cases[i].text, found);
        if (!found)
            continue;
        assert_int_equal(span.end - span.value, strlen(cases[i].value));
        assert_memory_equal(cases[i].text + span.value, cases[i].value, span.end - span.value);
    }
}

#define HEAD                                                                                                           \
    "{\"apiVersion\":\"v1\",\"kind\":\"X\",\"metadata\":{\"name\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"1\""
#define APPLIED "\"kubectl.kubernetes.io/last-applied-configuration\":\"{\\\"managedFields\\\":[]}\\n\""

static void what_the_host_never_needs_is_cut_out_and_nothing_else(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {HEAD ",\"managedFields\":[{\"a\":\"]\"}]}}", HEAD "}}"},
        {HEAD ",\"managedFields\":[{\"f:x\":{}}],\"labels\":{\"l\":\"1\"}}}", HEAD ",\"labels\":{\"l\":\"1\"}}}"},
        {HEAD ",\"annotations\":{" APPLIED ",\"b\":\"2\"},\"managedFields\":[]}}",
         HEAD ",\"annotations\":{\"b\":\"2\"}}}"},
        {HEAD ",\"managedFields\":[],\"annotations\":{\"b\":\"2\"," APPLIED "}}}",
         HEAD ",\"annotations\":{\"b\":\"2\"}}}"},
        {HEAD "},\"spec\":{\"managedFields\":[1]}}", HEAD "},\"spec\":{\"managedFields\":[1]}}"},
        {HEAD ",\"labels\":{\"managedFields\":\"1\"},\"annotations\":{" APPLIED "},\"managedFields\":[{}]}}",
         HEAD ",\"labels\":{\"managedFields\":\"1\"},\"annotations\":{}}}"},
        {HEAD ",\"annotations\":{\"managedFields\":\"1\"}},\"managedFields\":[]}",
         HEAD ",\"annotations\":{\"managedFields\":\"1\"}},\"managedFields\":[]}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct object *object = NULL;
        assert_null(object_parse(cases[i][0], strlen(cases[i][0]), NULL, NULL, &object));
        assert_string_equal(object->text, cases[i][1]);
        assert_int_equal(object->len, strlen(cases[i][1]));
        AUTO_TEXT printed = json_text(object->value, NULL);
        assert_string_equal(printed, cases[i][1]);
        object_free(object);
    }
}

static void an_object_cut_short_anywhere_is_refused(void **state) {
    (void)state;
    static const char text[] =
        HEAD ",\"annotations\":{" APPLIED "},\"managedFields\":[{\"a\":[\"\\\"\"]}]},\"spec\":{\"b\":-1.5e3}}";
    for (size_t len = 0; len < sizeof text - 1; len++) {
        AUTO_TEXT part = strndup(text, len); // so that a sanitizer sees reads behind the end
        struct object *object = NULL;
        struct error *error = object_parse(part, len, NULL, NULL, &object);
        assert_non_null(error);
        assert_null(object);
        error_free(error);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_is_found_by_its_nesting),
        cmocka_unit_test(what_the_host_never_needs_is_cut_out_and_nothing_else),
        cmocka_unit_test(an_object_cut_short_anywhere_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
