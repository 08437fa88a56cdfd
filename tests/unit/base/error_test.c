// SPDX-License-Identifier: Apache-2.0
#include "core/base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void an_error_has_a_code_and_a_sentence(void **state) {
    (void)state;
    struct error *error = error_new(ERROR_NOT_FOUND, "no file %s in %d places", "x", 3);
    assert_int_equal(error->code, ERROR_NOT_FOUND);
    assert_string_equal(error_text(error), "no file x in 3 places");
    error_free(error);
}

static void newlines_at_the_end_are_dropped(void **state) {
    (void)state;
    struct error *error = error_new(ERROR_IO, "broken\n\n");
    assert_string_equal(error_text(error), "broken");
    error_free(error);
}

static void wrapping_adds_context_and_keeps_the_code(void **state) {
    (void)state;
    struct error *error = error_wrap(error_new(ERROR_IO, "disk full"), "config %s", "a.yaml");
    error = error_wrap(error, "start");
    assert_int_equal(error->code, ERROR_IO);
    assert_string_equal(error_text(error), "start: config a.yaml: disk full");
    error_free(error);
}

static void what_an_error_is_about_stays_known(void **state) {
    (void)state;
    static const char text[] = "x";
    struct error *error = error_new(ERROR_INVALID, "found %s", text);
    assert_null(error->about);
    error = error_wrap(error_about(error, text), "config");
    assert_ptr_equal(error->about, text);
    error_free(error);
    assert_null(error_about(NULL, text));
    assert_null(error_about(error_no_memory(), text)->about);
}

static void wrapping_success_stays_success(void **state) {
    (void)state;
    assert_null(error_wrap(NULL, "context"));
    assert_string_equal(error_text(NULL), "no error");
    error_free(NULL);
}

static void out_of_memory_can_be_wrapped_and_freed_any_number_of_times(void **state) {
    (void)state;
    assert_ptr_equal(error_no_memory(), error_no_memory());
    error_free(error_no_memory());
    struct error *error = error_wrap(error_no_memory(), "reading x");
    assert_int_equal(error->code, ERROR_NO_MEMORY);
    assert_string_equal(error_text(error), "reading x: out of memory");
    error_free(error);
    assert_string_equal(error_text(error_no_memory()), "out of memory");
}

static void cleanup_frees_and_forgets(void **state) {
    (void)state;
    struct error *error = error_new(ERROR_INTERNAL, "x");
    error_cleanup(&error);
    assert_null(error);
    error_cleanup(&error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_has_a_code_and_a_sentence),
        cmocka_unit_test(newlines_at_the_end_are_dropped),
        cmocka_unit_test(wrapping_adds_context_and_keeps_the_code),
        cmocka_unit_test(what_an_error_is_about_stays_known),
        cmocka_unit_test(wrapping_success_stays_success),
        cmocka_unit_test(out_of_memory_can_be_wrapped_and_freed_any_number_of_times),
        cmocka_unit_test(cleanup_frees_and_forgets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
