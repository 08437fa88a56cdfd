// SPDX-License-Identifier: Apache-2.0
#include "core/engine/mirror/mirror.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char first[] = "0123456789abcdef0123456789abcdef";
static const char second[] = "fedcba9876543210fedcba9876543210";
static const struct seal_subject subject = {"here", "jobs.batch", "default", "a", "u-1", "w1", 1};

static struct seal_keys *keys_of(const char *a, const char *b) {
    const void *const keys[] = {a, b};
    const size_t lens[] = {32, 32};
    struct seal_keys *made = NULL;
    assert_null(seal_keys_new(keys, lens, b ? 2 : 1, &made));
    return made;
}

static void a_seal_is_valid_for_what_it_was_made_of_and_nothing_else(void **state) {
    (void)state;
    static const struct seal_subject others[] = {
        {"there", "jobs.batch", "default", "a", "u-1", "w1", 1}, {"here", "jobsets.x", "default", "a", "u-1", "w1", 1},
        {"here", "jobs.batch", "team", "a", "u-1", "w1", 1},     {"here", "jobs.batch", "default", "b", "u-1", "w1", 1},
        {"here", "jobs.batch", "default", "a", "u-2", "w1", 1},  {"here", "jobs.batch", "default", "a", "u-1", "w2", 1},
        {"here", "jobs.batch", "default", "a", "u-1", "w1", 7},  {"here", "jobs.batch", "defaulta", "", "u-1", "w1", 1},
        {"herejobs", ".batch", "default", "a", "u-1", "w1", 1},
    };
    struct seal_keys *keys = keys_of(first, NULL);
    char seal[SEAL_TEXT_MAX];
    assert_true(seal_make(keys, &subject, seal));
    assert_int_equal(seal_check(keys, &subject, seal), SEAL_VALID);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(seal_check(keys, &others[i], seal), SEAL_INVALID);
    seal_keys_free(keys);
}

// Computed with Python's hmac and struct modules, so that the sealed fields cannot change unnoticed.
static void the_encoding_stays_as_it_is(void **state) {
    (void)state;
    struct seal_keys *keys = keys_of(first, NULL);
    char seal[SEAL_TEXT_MAX];
    assert_true(seal_make(keys, &subject, seal));
    assert_string_equal(seal, "v1:e8139388:7b882583995506d2d0e4c90613ff7a70acce13515e855e0c7ddc7c86298a5dcf");
    seal_keys_free(keys);
}

static void what_is_no_seal_is_told_from_none(void **state) {
    (void)state;
    struct seal_keys *keys = keys_of(first, NULL);
    char seal[SEAL_TEXT_MAX], longer[SEAL_TEXT_MAX + 1], other[SEAL_TEXT_MAX];
    assert_int_equal(seal_check(keys, &subject, NULL), SEAL_MISSING);
    assert_int_equal(seal_check(keys, &subject, ""), SEAL_INVALID);
    assert_int_equal(seal_check(keys, &subject, "v1:"), SEAL_INVALID);
    assert_true(seal_make(keys, &subject, seal));
    for (size_t i = 0; i < strlen(seal); i++) {
        memcpy(other, seal, sizeof other);
        other[i] = other[i] == '0' ? '1' : '0';
        assert_int_equal(seal_check(keys, &subject, other), SEAL_INVALID);
    }
    snprintf(longer, sizeof longer, "%s0", seal);
    assert_int_equal(seal_check(keys, &subject, longer), SEAL_INVALID);
    seal_keys_free(keys);
}

static void the_first_key_signs_and_all_of_them_verify(void **state) {
    (void)state;
    struct seal_keys *old = keys_of(first, NULL), *both = keys_of(second, first), *now = keys_of(second, NULL);
    char seal[SEAL_TEXT_MAX];
    assert_true(seal_make(old, &subject, seal));
    assert_int_equal(seal_check(both, &subject, seal), SEAL_OLD_KEY);
    assert_int_equal(seal_check(now, &subject, seal), SEAL_INVALID);
    assert_true(seal_make(both, &subject, seal));
    assert_int_equal(seal_check(now, &subject, seal), SEAL_VALID);
    assert_int_equal(seal_check(old, &subject, seal), SEAL_INVALID);
    seal_keys_free(old);
    seal_keys_free(both);
    seal_keys_free(now);
}

static void without_a_key_there_is_no_seal(void **state) {
    (void)state;
    struct seal_keys *none = NULL;
    char seal[SEAL_TEXT_MAX];
    assert_null(seal_keys_new(NULL, NULL, 0, &none));
    assert_false(seal_keys_any(none));
    assert_false(seal_make(none, &subject, seal));
    assert_false(seal_make(NULL, &subject, seal));
    seal_keys_free(none);
    seal_keys_free(NULL);
}

static void a_key_that_is_too_short_is_refused(void **state) {
    (void)state;
    const void *const keys[] = {first, first};
    const size_t lens[] = {32, 31};
    struct seal_keys *made = NULL;
    struct error *error = seal_keys_new(keys, lens, 2, &made);
    assert_non_null(error);
    assert_null(made);
    assert_string_equal(error_text(error), "key 2: found 31 bytes, expected 32 to 256");
    error_free(error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seal_is_valid_for_what_it_was_made_of_and_nothing_else),
        cmocka_unit_test(the_encoding_stays_as_it_is),
        cmocka_unit_test(what_is_no_seal_is_told_from_none),
        cmocka_unit_test(the_first_key_signs_and_all_of_them_verify),
        cmocka_unit_test(without_a_key_there_is_no_seal),
        cmocka_unit_test(a_key_that_is_too_short_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
