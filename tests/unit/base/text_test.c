// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void texts_are_formatted_and_compared(void **state) {
    (void)state;
    AUTO_TEXT text = text_format("%s-%d", "a", 5);
    assert_string_equal(text, "a-5");
    assert_true(text_equal("a", "a"));
    assert_false(text_equal("a", "b"));
    assert_false(text_equal("a", NULL));
    assert_false(text_equal(NULL, "a"));
    assert_true(text_equal(NULL, NULL));
    assert_true(text_has_prefix("abc", "ab"));
    assert_true(text_has_prefix("abc", ""));
    assert_false(text_has_prefix("ab", "abc"));
    assert_true(text_has_suffix("abc", "bc"));
    assert_true(text_has_suffix("abc", ""));
    assert_false(text_has_suffix("bc", "abc"));
    assert_false(text_has_suffix("abcd", "abc"));
}

static void copies_are_cut_between_characters(void **state) {
    (void)state;
    static const struct {
        size_t size;
        const char *text, *expected;
    } cases[] = {
        {10, "abc", "abc"},
        {4, "abc", "abc"},
        {3, "abc", "ab"},
        {1, "abc", ""},
        {5, "ab\xE2\x82\xAC", "ab"},
        {6, "ab\xE2\x82\xAC", "ab\xE2\x82\xAC"},
        {4, "\xF0\x9F\x98\x80", ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char out[10] = "xxxxxxxxx";
        text_copy(out, cases[i].size, cases[i].text);
        assert_string_equal(out, cases[i].expected);
    }
    char untouched = 'x';
    text_copy(&untouched, 0, "abc");
    assert_int_equal(untouched, 'x');
}

static void a_sentence_is_shortened_between_words(void **state) {
    (void)state;
    static const struct {
        size_t size;
        const char *text, *expected;
    } cases[] = {
        {20, "cannot connect", "cannot connect"},
        {15, "cannot connect", "cannot connect"},
        {14, "cannot connect", "cannot\u2026"},
        {12, "cannot, connect", "cannot\u2026"},
        {9, "connection", "conne\u2026"},
        {9, "\u20ac\u20ac\u20ac", "\u20ac\u2026"},
        {3, "connection", "co"},
        {1, "connection", ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char out[24] = "xxxxxxxxx";
        text_shorten(out, cases[i].size, cases[i].text);
        assert_string_equal(out, cases[i].expected);
    }
}

static void only_whole_decimal_numbers_that_fit_are_read(void **state) {
    (void)state;
    int64_t value;
    assert_true(text_to_int64("0", &value) && value == 0);
    assert_true(text_to_int64("007", &value) && value == 7);
    assert_true(text_to_int64("9223372036854775807", &value) && value == INT64_MAX);
    static const char *const bad[] = {
        "", "-1", "+1", " 1", "1 ", "1x", "0x1", "1.0", "9223372036854775808", "99999999999999999999"};
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(text_to_int64(bad[i], &value));
    assert_false(text_to_int64(NULL, &value));
}

static void everything_but_unreserved_characters_is_percent_encoded(void **state) {
    (void)state;
    struct buffer out;
    buffer_init(&out, 1000);
    assert_true(text_percent_encode(&out, "aZ09-._~"));
    assert_string_equal(out.data, "aZ09-._~");
    buffer_reset(&out);
    assert_true(text_percent_encode(&out, "a b/c?d=e&f+\xC3\xA4%,"));
    assert_string_equal(out.data, "a%20b%2Fc%3Fd%3De%26f%2B%C3%A4%25%2C");
    buffer_free(&out);
}

static void base64_is_decoded(void **state) {
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"", ""},
        {"Zg==", "f"},
        {"Zm8=", "fo"},
        {"Zm9v", "foo"},
        {"Zm9vYg==", "foob"},
        {" Zm9v\r\nYmE=\n", "fooba"},
        {"Z m\t9 v Y m F y", "foobar"},
        {"+/+/", "\xfb\xff\xbf"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buffer out;
        buffer_init(&out, 1000);
        assert_null(text_base64_decode(cases[i].text, &out));
        assert_int_equal(out.len, strlen(cases[i].expected));
        assert_string_equal(out.data, cases[i].expected);
        buffer_free(&out);
    }
}

static void base64_is_encoded_with_padding(void **state) {
    (void)state;
    static const struct {
        const char *bytes, *expected;
    } cases[] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"foobar", "Zm9vYmFy"},
        {"\xfb\xff\xbf", "+/+/"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_BUFFER(out, 1000);
        assert_true(text_base64_encode(cases[i].bytes, strlen(cases[i].bytes), &out));
        assert_string_equal(out.data ? out.data : "", cases[i].expected);
    }
    AUTO_BUFFER(small, 7);
    assert_false(text_base64_encode("foob", 4, &small));
}

static void what_is_not_base64_is_refused_with_its_offset(void **state) {
    (void)state;
    static const struct {
        const char *text, *offset;
    } cases[] = {
        {"Zg", "offset 2"},    {"Zg=", "offset 3"},      {"Z", "offset 1"},         {"Zg==Zg==", NULL},
        {"Zg===", "offset 4"}, {"=Zg=", "offset 0"},     {"Z===", "offset 1"},      {"Zm9v-", "offset 4"},
        {"Zg=g", "offset 3"},  {"Zm9v\xC3", "offset 4"}, {"Zm9vZg==x", "offset 8"}, {"Zm-v", "offset 2"},
        {"Zm9v=", "offset 4"}, {"Zm9v\v", "offset 4"},   {"Zm9v\n-", "offset 5"},   {"Zm_v", "offset 2"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buffer out;
        buffer_init(&out, 1000);
        struct error *error = text_base64_decode(cases[i].text, &out);
        assert_non_null(error);
        assert_int_equal(error->code, ERROR_INVALID);
        if (cases[i].offset && !strstr(error->message, cases[i].offset))
            fail_msg("%s: %s", cases[i].text, error->message);
        error_free(error);
        buffer_free(&out);
    }
}

static void utf8_is_checked_as_rfc_3629_has_it(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t len, valid;
    } cases[] = {
        {"abc", 3, 3},
        {"a\0b", 3, 3},
        {"\x7f", 1, 1},
        {"\xC2\x80", 2, 2},
        {"\xDF\xBF", 2, 2},
        {"\xE0\xA0\x80", 3, 3},
        {"\xED\x9F\xBF", 3, 3},
        {"\xEE\x80\x80", 3, 3},
        {"\xEF\xBF\xBF", 3, 3},
        {"\xF0\x90\x80\x80", 4, 4},
        {"\xF4\x8F\xBF\xBF", 4, 4},
        {"a\x80", 2, 1},            // continuation alone
        {"a\xBF", 2, 1},            //
        {"\xC0\x80", 2, 0},         // overlong
        {"\xC1\xBF", 2, 0},         //
        {"\xE0\x9F\xBF", 3, 0},     //
        {"\xF0\x8F\xBF\xBF", 4, 0}, //
        {"\xED\xA0\x80", 3, 0},     // surrogates
        {"\xED\xBF\xBF", 3, 0},     //
        {"\xF4\x90\x80\x80", 4, 0}, // above U+10FFFF
        {"\xF5\x80\x80\x80", 4, 0}, //
        {"\xFF", 1, 0},             //
        {"\xFE", 1, 0},             //
        {"ab\xC3", 3, 2},           // cut off
        {"ab\xE2\x82", 4, 2},       //
        {"ab\xF0\x9F\x98", 5, 2},   //
        {"ab\xE2\x28\xA1", 5, 2},   // not continued
        {"ab\xE2\x82\x28", 5, 2},   //
        {"ab\xF0\x28\x8C\xBC", 6, 2},
        {"ab\xF0\x90\x28\xBC", 6, 2},
        {"ab\xF0\x90\x8C\x28", 6, 2},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(text_utf8_valid(cases[i].text, cases[i].len), cases[i].valid);
        for (size_t padding = 1; padding < 20; padding++) { // ASCII around it is checked in words
            char text[64];
            memset(text, 'x', sizeof text);
            memcpy(text + padding, cases[i].text, cases[i].len);
            size_t all = padding + cases[i].len;
            assert_int_equal(text_utf8_valid(text, all), padding + cases[i].valid);
            bool whole = cases[i].valid == cases[i].len;
            assert_int_equal(text_utf8_valid(text, all + 9), whole ? all + 9 : padding + cases[i].valid);
        }
    }
    assert_int_equal(text_utf8_sequence("", 0), 0);
}

static void clean_text_ends_where_json_needs_an_escape(void **state) {
    (void)state;
    static const char *const ends[] = {"\"", "\\", "\n", "\x1f", "\x80", "\xff", "\xC3", "\xED\xA0\x80"};
    for (size_t padding = 0; padding < 20; padding++) {
        AUTO_TEXT clean = text_format("%.*s\xC3\xA4 \x7f", (int)padding, "xxxxxxxxxxxxxxxxxxxx");
        assert_int_equal(text_json_clean(clean, strlen(clean)), strlen(clean));
        for (size_t i = 0; i < COUNT(ends); i++) {
            AUTO_TEXT text = text_format("%s%s", clean, ends[i]);
            assert_int_equal(text_json_clean(text, strlen(text)), strlen(clean));
            AUTO_TEXT longer = text_format("%sxxxxxxxxxxxx", text);
            assert_int_equal(text_json_clean(longer, strlen(longer)), strlen(clean));
        }
    }
}

static void names_are_judged_as_kubernetes_does(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool label, subdomain, path;
    } cases[] = {
        {"a", true, true, false},
        {"a-b9", true, true, false},
        {"9a", true, true, false},
        {"", false, false, false},
        {"-a", false, false, false},
        {"a-", false, false, false},
        {"A", false, false, false},
        {"a_b", false, false, false},
        {"a.b", false, true, false},
        {"a..b", false, false, false},
        {".a", false, false, false},
        {"a.", false, false, false},
        {"a.-b", false, false, false},
        {"\xC3\xA4", false, false, false},
        {"wharf.dev/host", false, false, true},
        {"kueue.x-k8s.io/multikueue", false, false, true},
        {"a/b/c", false, false, true},
        {"a/B_~%!$&'()*+,;=:", false, false, true},
        {"a/", false, false, false},
        {"/b", false, false, false},
        {"A/b", false, false, false},
        {"a/b c", false, false, false},
        {"a/b\"", false, false, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(text_is_dns_label(cases[i].text), cases[i].label);
        assert_int_equal(text_is_dns_subdomain(cases[i].text), cases[i].subdomain);
        assert_int_equal(text_is_domain_prefixed_path(cases[i].text), cases[i].path);
    }
}

static void names_end_where_they_must(void **state) {
    (void)state;
    char text[300];
    memset(text, 'a', sizeof text);
    for (size_t len = 1; len < 260; len++) {
        text[len] = '\0';
        assert_int_equal(text_is_dns_label(text), len <= 63);
        assert_int_equal(text_is_dns_subdomain(text), len <= 253);
        text[len] = 'a';
    }
}

static void files_are_read_whole_or_not_at_all(void **state) {
    (void)state;
    char path[] = "/tmp/wharf-text-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    struct buffer out;
    buffer_init(&out, 1 << 20);
    assert_null(text_read_file(path, 10, &out));
    assert_string_equal(out.data, "");
    static char big[40000];
    memset(big, 'y', sizeof big);
    assert_int_equal(write(fd, big, sizeof big), sizeof big);
    assert_null(text_read_file(path, sizeof big, &out));
    assert_int_equal(out.len, sizeof big);
    assert_int_equal(out.data[out.len], '\0');
    buffer_reset(&out);
    struct error *error = text_read_file(path, sizeof big - 1, &out);
    assert_int_equal(error->code, ERROR_LIMIT);
    assert_non_null(strstr(error->message, path));
    error_free(error);
    close(fd);
    unlink(path);
    error = text_read_file(path, 10, &out);
    assert_int_equal(error->code, ERROR_NOT_FOUND);
    error_free(error);
    error = text_read_file("/", 10, &out);
    assert_int_equal(error->code, ERROR_IO);
    error_free(error);
    buffer_free(&out);
}

static void a_buffer_too_small_for_a_file_is_a_limit(void **state) {
    (void)state;
    struct buffer out;
    buffer_init(&out, 3);
    struct error *error = text_read_file("/proc/self/status", 1 << 20, &out);
    assert_int_equal(error->code, ERROR_LIMIT);
    error_free(error);
    buffer_free(&out);
}

static void paths_are_resolved_against_a_folder(void **state) {
    (void)state;
    static const struct {
        const char *directory, *path, *expected;
    } cases[] = {
        {"/etc/wharf", "a.yaml", "/etc/wharf/a.yaml"},
        {"/etc/wharf/", "a.yaml", "/etc/wharf/a.yaml"},
        {"/etc", "/root/x", "/root/x"},
        {"", "x", "x"},
        {".", "x", "./x"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_TEXT path = text_resolve_path(cases[i].directory, cases[i].path);
        assert_string_equal(path, cases[i].expected);
    }
    static const char *const folders[][2] = {
        {"/etc/wharf/a.yaml", "/etc/wharf"}, {"a.yaml", "."}, {"/a", "/"}, {"x/a", "x"}, {"x//a", "x"}, {"//a", "/"},
    };
    for (size_t i = 0; i < COUNT(folders); i++) {
        AUTO_TEXT folder = text_directory(folders[i][0]);
        assert_string_equal(folder, folders[i][1]);
    }
}

static void random_numbers_follow_from_the_seed(void **state) {
    (void)state;
    struct random a = {0};
    assert_true(random_next(&a) == UINT64_C(0xE220A8397B1DCDAF)); // splitmix64's first from seed 0
    struct random b = {5};
    struct random c = {5};
    for (int i = 0; i < 100; i++)
        assert_true(random_next(&b) == random_next(&c));
    assert_true(random_system() != random_system());
}

static void bounded_random_numbers_are_even(void **state) {
    (void)state;
    struct random random = {1};
    size_t counts[7] = {0};
    for (int i = 0; i < 70000; i++)
        counts[random_below(&random, 7)]++;
    for (size_t i = 0; i < 7; i++)
        assert_in_range(counts[i], 9500, 10500);
    for (int i = 0; i < 100; i++)
        assert_int_equal(random_below(&random, 1), 0);
}

static void what_acts_on_a_terminal_is_shown_escaped(void **state) {
    (void)state;
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"", ""},
        {"plain ~ text", "plain ~ text"},
        {"gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80", "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80"},
        {"two\nlines\tand\r", "two lines and "},
        {"\x1b[31mred\x7f", "\\u001b[31mred\\u007f"},
        {"\xC2\x80 \xC2\x9F \xC2\xA0", "\\u0080 \\u009f \xC2\xA0"},
        {"\xD8\x9C \xE2\x80\x8E \xE2\x80\x8F", "\\u061c \\u200e \\u200f"},
        {"\xE2\x80\xAA \xE2\x80\xAE \xE2\x81\xA6 \xE2\x81\xA9", "\\u202a \\u202e \\u2066 \\u2069"},
        {"\xE2\x80\xA8 \xE2\x80\xAF \xE2\x81\xA5 \xEF\xBB\xBF", "\\u2028 \xE2\x80\xAF \xE2\x81\xA5 \\ufeff"},
        {"bad \xff\xC2", "bad \xEF\xBF\xBD\xEF\xBF\xBD"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buffer out;
        buffer_init(&out, 1000);
        assert_true(text_show(&out, cases[i].text));
        assert_string_equal(out.data ? out.data : "", cases[i].shown);
        assert_int_equal(text_visible(out.data ? out.data : "", out.len), out.len);
        buffer_free(&out);
    }
}

static void labels_are_told_from_what_no_label_is(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool key, value;
    } cases[] = {
        {"", false, true},        {"a", true, true},           {"A.b_c-1", true, true}, {"-a", false, false},
        {"a.", false, false},     {"a b", false, false},       {"x.y/a", true, false},  {"X.y/a", false, false},
        {"/a", false, false},     {"x.y/", false, false},      {"a/b/c", false, false}, {"x..y/a", false, false},
        {"x.y/-a", false, false}, {"a\xC3\xBC", false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(text_is_label_key(cases[i].text), cases[i].key);
        assert_int_equal(text_is_label_value(cases[i].text), cases[i].value);
    }
    char text[400];
    for (size_t len = 62; len <= 64; len++) {
        memset(text, 'a', len);
        text[len] = '\0';
        assert_int_equal(text_is_label_value(text), len <= 63);
        assert_int_equal(text_is_label_key(text), len <= 63);
    }
    for (size_t len = 252; len <= 300; len++) {
        memset(text, 'a', len);
        snprintf(text + len, sizeof(text) - len, "/k");
        assert_int_equal(text_is_label_key(text), len <= 253);
    }
}

static void a_word_is_quoted_for_the_shell_where_that_is_needed(void **state) {
    (void)state;
    static const struct {
        const char *word, *quoted;
    } cases[] = {{"ls", "ls"},       {"/bin/sh", "/bin/sh"}, {"", "''"},        {"a b", "'a b'"},
                 {"$(x)", "'$(x)'"}, {"it's", "'it'\\''s'"}, {"a\nb", "'a\nb'"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO_BUFFER(out, 256);
        assert_true(text_shell_word(&out, cases[i].word));
        assert_string_equal(out.data, cases[i].quoted);
    }
}

static void a_list_has_words(void **state) {
    (void)state;
    static const struct {
        const char *list;
        const char *words[4];
    } cases[] = {{NULL, {NULL}},
                 {"", {NULL}},
                 {"a", {"a"}},
                 {"a,bc", {"a", "bc"}},
                 {"a,  b c, d", {"a", "b c", "d"}},
                 {"a,,b", {"a", "", "b"}},
                 {",a", {"", "a"}},
                 {"a,", {"a"}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO_WORDS words = text_words(cases[i].list, ',');
        size_t n = 0;
        for (; cases[i].words[n]; n++)
            assert_string_equal(words[n], cases[i].words[n]);
        assert_null(words[n]);
    }
}

static void a_text_is_replaced_by_a_copy_and_nothing_by_nothing(void **state) {
    (void)state;
    char *slot = NULL, text[] = "one";
    assert_true(text_set(&slot, text));
    text[0] = 'O';
    assert_string_equal(slot, "one");
    assert_true(text_set(&slot, slot)); // a copy of what is replaced
    assert_string_equal(slot, "one");
    assert_true(text_set(&slot, ""));
    assert_string_equal(slot, "");
    assert_true(text_set_filled(&slot, "two"));
    assert_string_equal(slot, "two");
    assert_true(text_set_filled(&slot, ""));
    assert_null(slot);
    assert_true(text_set(&slot, NULL));
    assert_null(slot);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_has_words),
        cmocka_unit_test(a_text_is_replaced_by_a_copy_and_nothing_by_nothing),
        cmocka_unit_test(what_acts_on_a_terminal_is_shown_escaped),
        cmocka_unit_test(texts_are_formatted_and_compared),
        cmocka_unit_test(copies_are_cut_between_characters),
        cmocka_unit_test(a_sentence_is_shortened_between_words),
        cmocka_unit_test(only_whole_decimal_numbers_that_fit_are_read),
        cmocka_unit_test(everything_but_unreserved_characters_is_percent_encoded),
        cmocka_unit_test(base64_is_decoded),
        cmocka_unit_test(base64_is_encoded_with_padding),
        cmocka_unit_test(what_is_not_base64_is_refused_with_its_offset),
        cmocka_unit_test(utf8_is_checked_as_rfc_3629_has_it),
        cmocka_unit_test(clean_text_ends_where_json_needs_an_escape),
        cmocka_unit_test(names_are_judged_as_kubernetes_does),
        cmocka_unit_test(names_end_where_they_must),
        cmocka_unit_test(files_are_read_whole_or_not_at_all),
        cmocka_unit_test(a_buffer_too_small_for_a_file_is_a_limit),
        cmocka_unit_test(paths_are_resolved_against_a_folder),
        cmocka_unit_test(random_numbers_follow_from_the_seed),
        cmocka_unit_test(bounded_random_numbers_are_even),
        cmocka_unit_test(labels_are_told_from_what_no_label_is),
        cmocka_unit_test(a_word_is_quoted_for_the_shell_where_that_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
