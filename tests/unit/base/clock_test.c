// SPDX-License-Identifier: Apache-2.0
#include "core/base/clock.h"

#include "core/base/text.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void both_clocks_go_forward(void **state) {
    (void)state;
    struct moment a = clock_now();
    struct moment b = clock_now();
    assert_true(b.mono_ns >= a.mono_ns && a.mono_ns > 0);
    assert_true(a.wall_ns > INT64_C(1700000000) * CLOCK_SECOND);
}

static void times_are_written_as_kubernetes_writes_them(void **state) {
    (void)state;
    static const struct {
        int64_t wall_ns;
        const char *seconds, *micro;
    } cases[] = {
        {0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"},
        {INT64_C(1767323045) * CLOCK_SECOND + 6789, "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000006Z"},
        {INT64_C(1709210096) * CLOCK_SECOND + 999999999, "2024-02-29T12:34:56Z", "2024-02-29T12:34:56.999999Z"},
        {-1, "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.999999Z"},
        {INT64_MAX, "2262-04-11T23:47:16Z", "2262-04-11T23:47:16.854775Z"},
        {INT64_MIN, "1677-09-21T00:12:43Z", "1677-09-21T00:12:43.145224Z"},
    };
    char out[CLOCK_RFC3339_MAX];
    for (size_t i = 0; i < COUNT(cases); i++) {
        clock_rfc3339(cases[i].wall_ns, out);
        assert_string_equal(out, cases[i].seconds);
        clock_rfc3339_micro(cases[i].wall_ns, out);
        assert_string_equal(out, cases[i].micro);
    }
}

static void times_of_any_offset_and_fraction_are_read(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t seconds, ns;
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0, 0},
        {"2026-01-02T03:04:05Z", 1767323045, 0},
        {"2026-01-02t03:04:05z", 1767323045, 0},
        {"2026-01-02T03:04:05.5Z", 1767323045, 500000000},
        {"2026-01-02T03:04:05.123456789Z", 1767323045, 123456789},
        {"2026-01-02T03:04:05.1234567899999Z", 1767323045, 123456789},
        {"2026-01-02T05:04:05+02:00", 1767323045, 0},
        {"2026-01-01T19:34:05-07:30", 1767323045, 0},
        {"2024-02-29T00:00:00-00:00", 1709164800, 0},
        {"2016-12-31T23:59:60Z", 1483228800, 0},
        {"2017-01-01T01:59:60+02:00", 1483228800, 0},
        {"1969-12-31T23:59:59.25Z", -1, 250000000},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t wall_ns;
        assert_true(clock_parse_rfc3339(cases[i].text, &wall_ns));
        assert_int_equal(wall_ns, cases[i].seconds * CLOCK_SECOND + cases[i].ns);
    }
}

static void what_is_no_time_is_refused(void **state) {
    (void)state;
    static const char *const cases[] = {
        "",
        "2026",
        "2026-01-02",
        "2026-01-02T03:04:05",
        "2026-01-02 03:04:05Z",
        "2026-01-02T03:04:05.Z",
        "2026-01-02T03:04:05Zx",
        "2026-1-02T03:04:05Z",
        "2026-13-02T03:04:05Z",
        "2026-00-02T03:04:05Z",
        "2026-02-29T03:04:05Z",
        "2024-02-30T03:04:05Z",
        "1900-02-29T03:04:05Z",
        "2026-01-32T03:04:05Z",
        "2026-01-02T24:04:05Z",
        "2026-01-02T03:60:05Z",
        "2026-01-02T03:04:61Z",
        "2026-01-02T03:04:60Z",
        "2026-01-02T03:04:05+24:00",
        "2026-01-02T03:04:05+0200",
        "2026-01-02T03:04:05+02:60",
        "-026-01-02T03:04:05Z",
        "9999-01-02T03:04:05Z",
        "0001-01-01T00:00:00Z",
        "1800-01-01T00:00:00Z",
        "2200-01-01T00:00:00Z",
        "2026-01-02T03:04:05",
    };
    int64_t wall_ns;
    assert_false(clock_parse_rfc3339(NULL, &wall_ns));
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_false(clock_parse_rfc3339(cases[i], &wall_ns));
}

static void what_is_written_is_read_back(void **state) {
    (void)state;
    struct random random = {3};
    for (int i = 0; i < 20000; i++) {
        int64_t wall_ns = (int64_t)random_next(&random) / 2;
        int64_t whole = wall_ns - ((wall_ns % 1000) + 1000) % 1000;
        int64_t read;
        char out[CLOCK_RFC3339_MAX];
        clock_rfc3339_micro(wall_ns, out);
        assert_true(clock_parse_rfc3339(out, &read));
        assert_int_equal(read, whole);
    }
}

static void go_durations_are_read(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"0", 0},
        {"0s", 0},
        {"+5s", 5 * CLOCK_SECOND},
        {"15m", 15 * CLOCK_MINUTE},
        {"1h30m", 90 * CLOCK_MINUTE},
        {"250ms", 250 * CLOCK_MS},
        {"1.5h", 90 * CLOCK_MINUTE},
        {".5s", CLOCK_SECOND / 2},
        {"1.s", CLOCK_SECOND},
        {"1us", 1000},
        {"1\xC2\xB5s", 1000},
        {"1\xCE\xBCs", 1000},
        {"3ns2h", 120 * CLOCK_MINUTE + 3},
        {"0.000000001s", 1},
        {"0.0000000001s", 0},
        {"1.123456789123456789s", 1123456789},
        {"0.999999999999h", 3599999999996},
        {"2562047h47m16.854775807s", INT64_MAX},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t ns;
        assert_true(clock_parse_duration(cases[i].text, &ns));
        assert_int_equal(ns, cases[i].ns);
    }
}

static void what_is_no_duration_is_refused(void **state) {
    (void)state;
    static const char *const cases[] = {
        "",
        "5",
        "s",
        "-5s",
        "5 s",
        "5s ",
        "5d",
        "1h30",
        "1.2.3s",
        ".s",
        "+",
        "1hh",
        "2562048h",
        "9999999999999999999s",
        "9223372036854775808ns",
        "2562047h47m16.854775808s",
        "0x5s",
        "5S",
    };
    int64_t ns;
    assert_false(clock_parse_duration(NULL, &ns));
    for (size_t i = 0; i < COUNT(cases); i++)
        if (clock_parse_duration(cases[i], &ns))
            fail_msg("\"%s\" was taken for %" PRId64 " ns", cases[i], ns);
}

static void durations_are_written_short(void **state) {
    (void)state;
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "0s"},
        {1, "1ns"},
        {1500, "1.5us"},
        {250 * CLOCK_MS, "250ms"},
        {1500 * CLOCK_MS, "1.5s"},
        {15 * CLOCK_MINUTE, "15m"},
        {90 * CLOCK_MINUTE, "1h30m"},
        {60 * CLOCK_MINUTE + 5 * CLOCK_SECOND, "1h5s"},
        {-2 * CLOCK_SECOND, "-2s"},
        {INT64_MAX, "2562047h47m16.854775807s"},
        {INT64_MIN, "-2562047h47m16.854775808s"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char out[CLOCK_RFC3339_MAX];
        clock_duration_text(cases[i].ns, out);
        assert_string_equal(out, cases[i].text);
    }
    struct random random = {9};
    for (int i = 0; i < 20000; i++) {
        int64_t ns = (int64_t)(random_next(&random) >> (1 + random_below(&random, 63)));
        int64_t read;
        char out[CLOCK_RFC3339_MAX];
        clock_duration_text(ns, out);
        assert_true(clock_parse_duration(out, &read));
        assert_int_equal(read, ns);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_clocks_go_forward),
        cmocka_unit_test(times_are_written_as_kubernetes_writes_them),
        cmocka_unit_test(times_of_any_offset_and_fraction_are_read),
        cmocka_unit_test(what_is_no_time_is_refused),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(go_durations_are_read),
        cmocka_unit_test(what_is_no_duration_is_refused),
        cmocka_unit_test(durations_are_written_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
