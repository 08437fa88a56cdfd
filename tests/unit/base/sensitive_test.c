// SPDX-License-Identifier: Apache-2.0
// What is sensitive, and stays so. tests/integration/sensitive_test.c searches the memory.
#include "core/base/text.h"
#include "core/json/json.h"
#include "core/kube/object/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OBJECT "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"1\"},\"data\":{\"k\":\"dg==\"}}"

static struct json *parse(const char *text) {
    struct json *value = NULL;
    assert_null(json_parse(text, strlen(text), &value));
    return value;
}

static bool prints_sensitive(const struct json *value) {
    AUTO_BUFFER(out, 4096);
    assert_true(json_print(value, &out));
    return out.sensitive;
}

static void sections_nest(void **state) {
    (void)state;
    assert_false(sensitive_section);
    {
        SENSITIVE_WHILE(false);
        assert_false(sensitive_section);
    }
    {
        SENSITIVE_WHILE(true);
        {
            SENSITIVE_WHILE(false);
            assert_true(sensitive_section);
        }
        assert_true(sensitive_section);
    }
    assert_false(sensitive_section);
}

static void a_buffer_that_grows_in_a_section_stays_sensitive(void **state) {
    (void)state;
    AUTO_BUFFER(buffer, 4096);
    assert_true(buffer_text(&buffer, "before"));
    {
        SENSITIVE_WHILE(true);
        for (int i = 0; i < 100; i++)
            assert_true(buffer_text(&buffer, " secret"));
    }
    assert_true(buffer.sensitive);
    assert_int_equal(buffer.len, 6 + 100 * 7);
    assert_true(text_has_prefix(buffer.data, "before secret secret"));
    const char *memory = buffer.data;
    buffer_reset(&buffer);
    for (size_t i = 0; i < buffer.cap; i++)
        assert_int_equal(memory[i], 0);
    buffer_free(&buffer);
    assert_false(buffer.sensitive);
}

static void documents_of_a_section_and_their_copies_are_sensitive(void **state) {
    (void)state;
    AUTO_JSON ordinary = parse(OBJECT);
    AUTO_JSON document = NULL;
    AUTO_JSON single = NULL;
    {
        SENSITIVE_WHILE(true);
        document = parse(OBJECT);
        single = json_new_string("secret");
    }
    AUTO_JSON copy = json_copy(document);
    AUTO_JSON part = json_copy(json_path(copy, "data", NULL));
    AUTO_JSON leaf = json_copy(json_path(copy, "data", "k", NULL));
    assert_true(prints_sensitive(document) && prints_sensitive(copy) && prints_sensitive(part));
    assert_true(prints_sensitive(single) && prints_sensitive(leaf));
    assert_false(prints_sensitive(ordinary));
    assert_true(json_equal(ordinary, copy));
}

static void an_object_of_a_section_is_sensitive(void **state) {
    (void)state;
    struct object *object = NULL;
    {
        SENSITIVE_WHILE(true);
        assert_null(object_parse(OBJECT, strlen(OBJECT), "v1", "Secret", &object));
    }
    assert_true(object->sensitive && prints_sensitive(object->value));
    object_free(object);
    assert_null(object_parse(OBJECT, strlen(OBJECT), "v1", "ConfigMap", &object));
    assert_false(object->sensitive || prints_sensitive(object->value));
    object_free(object);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_nest),
        cmocka_unit_test(a_buffer_that_grows_in_a_section_stays_sensitive),
        cmocka_unit_test(documents_of_a_section_and_their_copies_are_sensitive),
        cmocka_unit_test(an_object_of_a_section_is_sensitive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
