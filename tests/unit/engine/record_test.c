// SPDX-License-Identifier: Apache-2.0
// The record of a mirror: records of this and earlier versions are read, and invalid ones are ignored.
#include "core/engine/mirror/mirror.h"
#include "tests/unit/quoted.h"

#include <stdio.h>

static char *text_of(struct record *record, const struct record *before) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX / 4);
    assert_true(record_print(record, before, &text));
    return buffer_take(&text, NULL);
}

static const struct record none;

static void what_is_written_is_read_again(void **state) {
    (void)state;
    static const enum record_word words[] = {RECORD_UNKNOWN, RECORD_RUNS, RECORD_SUSPENDED, RECORD_WORKER};
    AUTO_JSON value = parsed("{'a':1}");
    for (size_t i = 0; i < 16; i++) {
        AUTO_RECORD record = {.word = words[i % 4], .shared = i & 4 || i % 4 == 3, .bare = i & 8};
        assert_true(record_add(&record.carried, record_pointer("/metadata/labels/a")));
        assert_true(record_add(&record.carried, record_pointer("/spec/suspend")));
        assert_true(record_add(&record.values, record_value("/spec/x", value)));
        AUTO_TEXT text = text_of(&record, &none);
        AUTO_RECORD again = {0};
        assert_true(record_read(&again, text, NULL, false));
        assert_int_equal(again.word, record.word);
        assert_int_equal(again.shared, record.shared);
        assert_int_equal(again.bare, record.bare);
        assert_false(again.old);
        assert_true(record_knows(&again, record_pointer("/spec/suspend")));
        assert_false(record_knows(&again, record_pointer("/spec/x")));
        assert_true(record_has_value(&again, record_value("/spec/x", value)));
        assert_true(record_covers(&again, &record) && record_covers(&record, &again));
        AUTO_TEXT same = text_of(&again, &none);
        assert_string_equal(same, text);
    }
}

static void a_list_of_pointers_is_read(void **state) {
    (void)state;
    AUTO_RECORD record = {0};
    assert_true(record_read(&record, NULL, "/metadata/labels/team /metadata/annotations/a~1b  /spec/replicas", false));
    assert_true(record.old);
    assert_int_equal(record.word, RECORD_UNKNOWN);
    assert_true(record_knows(&record, record_pointer("/metadata/labels/team")));
    assert_true(record_knows(&record, record_pointer("/metadata/annotations/a~1b")));
    assert_true(record_knows(&record, record_pointer("/spec/replicas")));
    assert_int_equal(record.carried.count, 3);
}

static void what_the_host_knows_counts_beside_what_the_annotation_says(void **state) {
    (void)state;
    AUTO_RECORD one = {.word = RECORD_SUSPENDED}, two = {.word = RECORD_RUNS};
    assert_true(record_add(&one.carried, record_pointer("/a")));
    assert_true(record_add(&two.carried, record_pointer("/b")));
    AUTO_TEXT known = text_of(&one, &none);
    AUTO_TEXT annotation = text_of(&two, &none);
    AUTO_RECORD record = {0};
    assert_true(record_read(&record, known, annotation, false));
    assert_int_equal(record.word, RECORD_SUSPENDED);
    assert_true(record_knows(&record, record_pointer("/a")) && record_knows(&record, record_pointer("/b")));
    AUTO_RECORD late = {0}; // a patch of the host's that arrived after others
    assert_true(record_read(&late, annotation, known, false));
    assert_int_equal(late.word, RECORD_SUSPENDED);
    AUTO_RECORD unsure = {0}; // the last one was done, as the annotation says
    assert_true(record_read(&unsure, known, annotation, true));
    assert_int_equal(unsure.word, RECORD_RUNS);
    assert_true(record_knows(&unsure, record_pointer("/a")) && record_knows(&unsure, record_pointer("/b")));
}

static void nonsense_is_read_as_little(void **state) {
    (void)state;
    static const char *const texts[] = {"v2:",
                                        "v2::::",
                                        "v2:r",
                                        "v2:r:AAAA",
                                        "v2:r:AAAAAAAA:!!",
                                        "v2:xyz:        :",
                                        "v2:rsw:AAAAAAAAA::BBBBBBBB:CCCCCCCC:::::",
                                        " ",
                                        "v2",
                                        "\xff"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        AUTO_RECORD record = {0};
        assert_true(record_read(&record, texts[i], texts[(i + 1) % (sizeof texts / sizeof texts[0])], false));
        assert_true(record.carried.count <= 2 && record.values.count <= 1 && record.gone.count <= 2);
    }
}

// Labels that come and go do not grow it without bound.
static void of_what_was_taken_away_the_last_are_remembered(void **state) {
    (void)state;
    AUTO_TEXT text = strdup("v2:r:::");
    for (int i = 0; i < 3 * RECORD_GONE_MAX; i++) {
        char pointer[32];
        snprintf(pointer, sizeof pointer, "/metadata/labels/%d", i);
        AUTO_RECORD before = {0}, after = {.word = RECORD_RUNS};
        assert_true(record_read(&before, text, NULL, false));
        assert_true(record_add(&after.carried, record_pointer(pointer)));
        char *next = text_of(&after, &before);
        free(text);
        text = next;
    }
    AUTO_RECORD record = {0};
    assert_true(record_read(&record, text, NULL, false));
    assert_int_equal(record.gone.count, RECORD_GONE_MAX);
    assert_true(record_knows(&record, record_pointer("/metadata/labels/766")));
    assert_true(record_knows(&record, record_pointer("/metadata/labels/600")));
    assert_false(record_knows(&record, record_pointer("/metadata/labels/400")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(a_list_of_pointers_is_read),
        cmocka_unit_test(what_the_host_knows_counts_beside_what_the_annotation_says),
        cmocka_unit_test(nonsense_is_read_as_little),
        cmocka_unit_test(of_what_was_taken_away_the_last_are_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
