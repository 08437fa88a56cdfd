// SPDX-License-Identifier: Apache-2.0
// The difference of two documents, applied to the first, is the second: byte for byte.
#include "core/adapter/process/delta.h"
#include "tests/unit/quoted.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

// Returns the bytes of the difference.
static size_t check(const struct json *from, const struct json *to, bool root_stays) {
    AUTO_BUFFER(out, 1 << 20);
    AUTO_TEXT expected = json_text(to, NULL);
    AUTO_JSON value = from ? json_copy(from) : NULL;
    (void)delta_write(&out, from, to);
    assert_false(out.failed);
    struct wire wire = wire_of(out.data, out.len);
    assert_true(delta_apply(&wire, &value, root_stays, NULL));
    assert_true(wire_is_done(&wire));
    AUTO_TEXT found = json_text(value, NULL);
    assert_string_equal(found, expected);
    return out.len;
}

static const char *const documents[] = {
    "{}",
    "[]",
    "null",
    "1.50",
    "\"a\\u0000b\"",
    "{\"a\":1,\"b\":2,\"c\":3}",
    "{\"a\":1.0,\"b\":2,\"c\":3}",
    "{\"c\":3,\"b\":2,\"a\":1}",
    "{\"b\":2,\"a\":1,\"c\":3}",
    "{\"a\":null,\"c\":[1,{\"x\":[]},3]}",
    "{\"a\":null,\"c\":[1,{\"x\":[]},3],\"d\":{\"e\":{\"f\":\"g\"}}}",
    "{\"new\":true,\"a\":null,\"c\":[0,1,{\"x\":[]},3],\"d\":{\"e\":{\"f\":\"h\"}}}",
    "{\"a\":\"a\\u0000b\",\"d\":{\"e\":{}}}",
    "[1,2,3]",
    "[2,3]",
    "[0,1,2,3,[4]]",
    "[{\"name\":\"a\"},{\"name\":\"b\"}]",
    "[{\"name\":\"b\"}]",
};

static void every_pair_of_documents_comes_through(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(documents); i++)
        for (size_t j = 0; j < COUNT(documents); j++) {
            AUTO_JSON from = parsed(documents[i]);
            AUTO_JSON to = parsed(documents[j]);
            check(from, to, false);
            check(NULL, to, false);
            if (json_is_container(from) && json_type(from) == json_type(to))
                check(from, to, true);
        }
}

static struct json *random_value(struct random *random, unsigned depth) {
    switch (random_below(random, depth == 0 ? 4 : 6)) {
    case 0:
        return json_new_null();
    case 1:
        return json_new_bool(random_below(random, 2) == 0);
    case 2:
        return json_new_int64((int64_t)random_below(random, 4));
    case 3:
        return json_new_string(random_below(random, 2) == 0 ? "x" : "");
    case 4: {
        struct json *array = json_new_array();
        for (uint64_t n = random_below(random, 5); n > 0; n--)
            assert_true(json_append(array, random_value(random, depth - 1)));
        return array;
    }
    default: {
        struct json *made = json_new_object();
        for (uint64_t n = random_below(random, 6); n > 0; n--) {
            const char key[2] = {(char)('a' + random_below(random, 8)), '\0'};
            assert_true(json_set(made, key, random_value(random, depth - 1)));
        }
        return made;
    }
    }
}

static void random_documents_come_through(void **state) {
    (void)state;
    struct random random = {7};
    for (int i = 0; i < 20000; i++) {
        AUTO_JSON from = random_value(&random, 4);
        AUTO_JSON to = random_value(&random, 4);
        check(from, to, false);
    }
}

static void a_small_change_of_a_large_document_is_small(void **state) {
    (void)state;
    AUTO_JSON from = json_new_object();
    for (int i = 0; i < 1000; i++) {
        AUTO_TEXT key = text_format("key-%d", i);
        assert_true(json_set(from, key, json_new_string("some text of ordinary length")));
    }
    AUTO_JSON to = json_copy(from);
    assert_true(json_remove(to, "key-17") && json_set(to, "key-500", json_new_null()) &&
                json_set(to, "last", json_new_bool(true)));
    assert_in_range(check(from, to, true), 1, 100);
    assert_int_equal(check(from, from, true), 1);
}

static void a_difference_that_does_not_fit_is_garbage(void **state) {
    (void)state;
    AUTO_JSON from = parsed(documents[10]);
    AUTO_JSON to = parsed(documents[11]);
    AUTO_BUFFER(out, 1 << 20);
    (void)delta_write(&out, from, to);
    for (size_t len = 0; len < out.len; len++) { // cut off
        AUTO_JSON value = json_copy(from);
        struct wire wire = wire_of(out.data, len);
        assert_false(delta_apply(&wire, &value, true, NULL));
    }
    AUTO_JSON other = parsed("[1]"); // of another document
    struct wire wire = wire_of(out.data, out.len);
    assert_false(delta_apply(&wire, &other, true, NULL));
    AUTO_JSON array = parsed("[]"); // another root
    AUTO_BUFFER(whole, 1 << 20);
    (void)delta_write(&whole, NULL, to);
    wire = wire_of(whole.data, whole.len);
    assert_false(delta_apply(&wire, &array, true, NULL));
}

static bool keep(void *ctx, struct json *value) {
    struct json *kept = ctx;
    return json_append(kept, value);
}

static void what_is_replaced_is_kept(void **state) {
    (void)state;
    AUTO_JSON from = parsed("{\"a\":1,\"b\":[2,3],\"c\":4}");
    AUTO_JSON to = parsed("{\"a\":5,\"b\":[3],\"d\":6}");
    AUTO_JSON kept = json_new_array();
    AUTO_BUFFER(out, 1 << 20);
    (void)delta_write(&out, from, to);
    struct wire wire = wire_of(out.data, out.len);
    struct json *value = from;
    assert_true(delta_apply(&wire, &value, true, &(struct delta_memory){keep, kept}));
    assert_ptr_equal(value, from);
    AUTO_TEXT text = json_text(kept, NULL);
    assert_string_equal(text, "[1,2,3,4]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_documents_comes_through),
        cmocka_unit_test(random_documents_come_through),
        cmocka_unit_test(a_small_change_of_a_large_document_is_small),
        cmocka_unit_test(a_difference_that_does_not_fit_is_garbage),
        cmocka_unit_test(what_is_replaced_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
