// SPDX-License-Identifier: Apache-2.0
#include "core/serve/pods/logs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool collect(void *ctx, const void *bytes, size_t len) {
    return buffer_append(ctx, bytes, len);
}

static bool refuse(void *ctx, const void *bytes, size_t len) {
    (void)ctx, (void)bytes, (void)len;
    return false;
}

static void lines_come_out_as_they_are_wanted(void **state) {
    (void)state;
    static const struct {
        const char *prefix;
        bool stamped, keep;
        const char *in, *out;
    } cases[] = {
        {NULL, false, false, "a\nb\n", "a\nb\n"},
        {NULL, false, false, "a\nb", "a\nb"},
        {NULL, false, false, "", ""},
        {NULL, false, false, "\n\n", "\n\n"},
        {"[p/c] ", false, false, "a\nb\n", "[p/c] a\n[p/c] b\n"},
        {"[p/c] ", false, false, "a\nb", "[p/c] a\n[p/c] b\n"},
        {"[p/c] ", false, false, "\n", "[p/c] \n"},
        {NULL, true, false, "2026-01-01T00:00:00.000000001Z a b\n2026-01-01T00:00:00.000000002Z \n", "a b\n\n"},
        {NULL, true, true, "2026-01-01T00:00:00.000000001Z a\n", "2026-01-01T00:00:00.000000001Z a\n"},
        {"[p/c] ", true, false, "2026-01-01T00:00:00.000000001Z a\n", "[p/c] a\n"},
        {NULL, true, false, "no timestamp\n", "no timestamp\n"}, // what the kubelet itself says
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t chunk = 1; chunk <= 64; chunk *= 4) {
            struct log_lines lines;
            AUTO_BUFFER(out, 4096);
            buffer_text(&out, "");
            log_lines_init(&lines, cases[i].prefix, cases[i].stamped, cases[i].keep);
            size_t len = strlen(cases[i].in);
            for (size_t at = 0; at < len; at += chunk)
                assert_true(
                    log_lines_put(&lines, cases[i].in + at, len - at < chunk ? len - at : chunk, collect, &out));
            assert_true(log_lines_end(&lines, collect, &out));
            assert_string_equal(out.data, cases[i].out);
            log_lines_free(&lines);
        }
}

static void a_resumed_log_repeats_nothing_and_leaves_nothing_out(void **state) {
    (void)state;
    struct log_lines lines;
    AUTO_BUFFER(out, 4096);
    static const char first[] = "2026-01-01T00:00:01.000000001Z a\n2026-01-01T00:00:01.000000002Z b\n"
                                "2026-01-01T00:00:01.000000003Z cut o";
    static const char again[] = "2026-01-01T00:00:01.000000001Z a\n2026-01-01T00:00:01.000000002Z b\n"
                                "2026-01-01T00:00:01.000000003Z cut off\n2026-01-01T00:00:02.000000000Z d\n";
    log_lines_init(&lines, NULL, true, false);
    assert_true(log_lines_put(&lines, first, sizeof first - 1, collect, &out));
    log_lines_resume(&lines);
    assert_string_equal(lines.before, "2026-01-01T00:00:01.000000002Z");
    assert_true(log_lines_put(&lines, again, sizeof again - 1, collect, &out));
    assert_string_equal(out.data, "a\nb\ncut off\nd\n");
    log_lines_free(&lines);
}

static void a_long_line_is_passed_on_in_parts(void **state) {
    (void)state;
    size_t len = 3 * LOG_LINE_MAX + 7;
    char *text = malloc(len + 1);
    assert_non_null(text);
    memset(text, '7', len);
    text[len] = '\n';
    for (int several = 0; several < 2; several++) {
        struct log_lines lines;
        AUTO_BUFFER(out, (size_t)1 << 20);
        log_lines_init(&lines, several ? "> " : NULL, true, false);
        assert_true(log_lines_put(&lines, text, len, collect, &out));
        assert_true(log_lines_put(&lines, text + len, 1, collect, &out));
        assert_int_equal(out.len, several ? len + 1 + 4 * 2 + 3 : len + 1);
        log_lines_free(&lines);
    }
    free(text);
}

static void a_reader_that_is_gone_ends_it(void **state) {
    (void)state;
    struct log_lines lines;
    log_lines_init(&lines, "> ", false, false);
    assert_false(log_lines_put(&lines, "a\n", 2, refuse, NULL));
    log_lines_free(&lines);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_out_as_they_are_wanted),
        cmocka_unit_test(a_resumed_log_repeats_nothing_and_leaves_nothing_out),
        cmocka_unit_test(a_long_line_is_passed_on_in_parts),
        cmocka_unit_test(a_reader_that_is_gone_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
