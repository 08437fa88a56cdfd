// SPDX-License-Identifier: Apache-2.0
#include "core/json/pointer.h"

#include "tests/unit/json/values.h"

#include <string.h>

// RFC 7386 appendix A, all of it.
static void the_examples_of_the_rfc_are_applied(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
        {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
        {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
        {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
        {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
        {"[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]"},
        {"{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]"},
        {"{\"a\":\"foo\"}", "null", "null"},
        {"{\"a\":\"foo\"}", "\"bar\"", "\"bar\""},
        {"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
        {"[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}"},
        {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_JSON target = parsed(cases[i][0]);
        AUTO_JSON patch = parsed(cases[i][1]);
        assert_true(patch_apply(&target, patch));
        assert_text(target, cases[i][2]);
    }
}

static void nulls_in_arrays_of_a_patch_stay(void **state) {
    (void)state;
    AUTO_JSON target = parsed("{}");
    AUTO_JSON patch = parsed("{\"a\":[null,{\"b\":null}],\"c\":{\"d\":[{\"e\":null}]}}");
    assert_true(patch_apply(&target, patch));
    assert_text(target, "{\"a\":[null,{\"b\":null}],\"c\":{\"d\":[{\"e\":null}]}}");
}

static void a_patch_can_make_a_document_from_nothing(void **state) {
    (void)state;
    AUTO_JSON target = NULL;
    AUTO_JSON patch = parsed("{\"a\":1,\"b\":null}");
    assert_true(patch_apply(&target, patch));
    assert_text(target, "{\"a\":1}");
    assert_false(patch_apply(&target, NULL));
    assert_text(target, "{\"a\":1}");
}

static void a_diff_is_the_smallest_patch(void **state) {
    (void)state;
    static const struct {
        const char *from, *to, *patch;
        bool has_array;
    } cases[] = {
        {"{}", "{}", "{}", false},
        {"{\"a\":1}", "{\"a\":1.0}", "{}", false},
        {"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", "{}", false},
        {"{\"a\":9007199254740992}", "{\"a\":9007199254740993}", "{\"a\":9007199254740993}", false},
        {"{}", "{\"a\":1}", "{\"a\":1}", false},
        {"{\"a\":1}", "{}", "{\"a\":null}", false},
        {"{\"a\":1}", "{\"b\":1}", "{\"b\":1,\"a\":null}", false},
        {"{\"a\":{\"x\":1,\"y\":2},\"b\":{\"z\":1}}", "{\"a\":{\"x\":1,\"y\":3},\"b\":{\"z\":1}}", "{\"a\":{\"y\":3}}",
         false},
        {"{\"a\":{\"x\":1}}", "{\"a\":{}}", "{\"a\":{\"x\":null}}", false},
        {"{}", "{\"a\":{}}", "{\"a\":{}}", false},
        {"{\"a\":1}", "{\"a\":{\"x\":1}}", "{\"a\":{\"x\":1}}", false},
        {"{\"a\":{\"x\":1}}", "{\"a\":1}", "{\"a\":1}", false},
        {"{\"a\":[1,2]}", "{\"a\":[1,2]}", "{}", false},
        {"{\"a\":[1,2]}", "{\"a\":[1,3]}", "{\"a\":[1,3]}", true},
        {"{\"a\":[1,2]}", "{}", "{\"a\":null}", true},
        {"{\"a\":[1,2]}", "{\"a\":\"x\"}", "{\"a\":\"x\"}", true},
        {"{}", "{\"a\":[1]}", "{\"a\":[1]}", false},
        {"{\"s\":{\"c\":[{\"t\":1}]}}", "{\"s\":{\"c\":[{\"t\":2}]}}", "{\"s\":{\"c\":[{\"t\":2}]}}", true},
        {"{}", "{\"a\":null}", "{}", false},
        {"{\"a\":1}", "{\"a\":null}", "{\"a\":null}", false},
        {"{\"a\":null}", "{\"a\":null}", "{}", false},
        {"{\"a\":null}", "{}", "{}", false},
        {"{\"a\":null}", "{\"a\":2}", "{\"a\":2}", false},
        {"{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1,\"c\":null}}", "{}", false},
        {"{}", "{\"a\":{\"b\":null,\"c\":[null]}}", "{\"a\":{\"c\":[null]}}", false},
        {"{\"a\":[{}]}", "{\"a\":[{\"b\":null}]}", "{}", false},
        {"{\"a\":[{\"b\":null}]}", "{\"a\":[{}]}", "{}", false},
        {"{\"a\":[{\"b\":null,\"c\":1}]}", "{\"a\":[{\"d\":null,\"c\":1}]}", "{}", false},
        {"{\"a\":[[{\"b\":null}],null]}", "{\"a\":[[{}],null]}", "{}", false},
        {"{\"a\":[null]}", "{\"a\":[]}", "{\"a\":[]}", true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_JSON from = parsed(cases[i].from);
        AUTO_JSON to = parsed(cases[i].to);
        bool has_array = !cases[i].has_array;
        AUTO_JSON patch = patch_diff(from, to, &has_array);
        assert_text(patch, cases[i].patch);
        assert_int_equal(has_array, cases[i].has_array);
    }
}

// What the API server keeps of a document: no null members, neither in objects nor in the items of arrays.
static void prune(struct json *value) {
    for (struct json *child = json_first(value), *next; child; child = next) {
        next = json_next(child);
        if (json_is(value, JSON_OBJECT) && json_is(child, JSON_NULL))
            json_remove_child(value, child);
        else
            prune(child);
    }
}

static void a_patch_with_nulls_is_made_once(void **state) {
    (void)state;
    static const char *const wanted[] = {
        "{\"a\":null}",
        "{\"a\":{\"b\":null}}",
        "{\"conditions\":[{\"type\":\"Ready\",\"lastProbeTime\":null}],\"n\":[null,[{\"x\":null}]]}",
    };
    static const char *const there[] = {
        "{}",
        "{\"a\":null}",
        "{\"a\":1}",
        "{\"a\":{\"b\":null}}",
        "{\"conditions\":null}",
        "{\"conditions\":[{\"type\":\"Ready\",\"lastTransitionTime\":null}]}",
    };
    for (size_t i = 0; i < COUNT(wanted) * COUNT(there); i++) {
        AUTO_JSON to = parsed(wanted[i / COUNT(there)]);
        AUTO_JSON kept = parsed(there[i % COUNT(there)]);
        AUTO_JSON patch = patch_diff(kept, to, NULL);
        assert_true(patch_apply(&kept, patch));
        AUTO_JSON again = patch_diff(kept, to, NULL);
        assert_text(again, "{}");
        AUTO_JSON nothing = patch_diff(to, kept, NULL);
        assert_text(nothing, "{}");
        prune(kept);
        AUTO_JSON once_more = patch_diff(kept, to, NULL);
        assert_text(once_more, "{}");
    }
}

static void only_objects_have_a_diff(void **state) {
    (void)state;
    AUTO_JSON object = parsed("{}");
    AUTO_JSON array = parsed("[]");
    assert_null(patch_diff(object, array, NULL));
    assert_null(patch_diff(array, object, NULL));
    assert_null(patch_diff(NULL, object, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_of_the_rfc_are_applied),      cmocka_unit_test(nulls_in_arrays_of_a_patch_stay),
        cmocka_unit_test(a_patch_can_make_a_document_from_nothing), cmocka_unit_test(a_diff_is_the_smallest_patch),
        cmocka_unit_test(a_patch_with_nulls_is_made_once),          cmocka_unit_test(only_objects_have_a_diff),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
