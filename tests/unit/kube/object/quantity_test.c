// SPDX-License-Identifier: Apache-2.0
#include "core/kube/object/object.h"

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

#include <inttypes.h>
#include <string.h>

static void a_quantity_is_read_exactly(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t units, millis;
    } cases[] = {
        {"0", 0, 0},
        {"1", 1, 1000},
        {"+1", 1, 1000},
        {"-1", -1, -1000},
        {"007", 7, 7000},
        {"1.", 1, 1000},
        {".5", 1, 500},
        {"0.1", 1, 100},
        {"100m", 1, 100},
        {"-100m", -1, -100},
        {"1500m", 2, 1500},
        {"1m", 1, 1},
        {"1u", 1, 1},
        {"1n", 1, 1},
        {"1000000n", 1, 1},
        {"1000001n", 1, 2},
        {"0n", 0, 0},
        {"2k", 2000, 2000000},
        {"1.5M", 1500000, 1500000000},
        {"1e3", 1000, 1000000},
        {"1E3", 1000, 1000000},
        {"1e+3", 1000, 1000000},
        {"12e-1", 2, 1200},
        {"1e-3", 1, 1},
        {"1e-999", 1, 1},
        {"0e999", 0, 0},
        {"1E", 1000000000000000000, INT64_MAX},
        {"1Ki", 1024, 1024000},
        {"0.5Ki", 512, 512000},
        {"0.0001Ki", 1, 103},
        {"0.0009765625Ki", 1, 1000},
        {"1.5Gi", 1610612736, 1610612736000},
        {"0.1Gi", 107374183, 107374182400},
        {"0.3333333333333333333333333Ei", 384307168202282326, INT64_MAX},
        {"7Ei", 8070450532247928832, INT64_MAX},
        {"8Ei", INT64_MAX, INT64_MAX},
        {"-8Ei", -INT64_MAX, -INT64_MAX},
        {"9223372036854775807", INT64_MAX, INT64_MAX},
        {"9223372036854775806", INT64_MAX - 1, INT64_MAX},
        {"9223372036854775806.5", INT64_MAX, INT64_MAX},
        {"99999999999999999999999999", INT64_MAX, INT64_MAX},
        {"1e999", INT64_MAX, INT64_MAX},
        {"0.000000000000000000000000000001", 1, 1},
        {"100000000000000000000000000e-26", 1, 1000},
        {"1.00000000000000000000000000000", 1, 1000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t units = -7, millis = -7;
        if (!quantity_parse(cases[i].text, false, &units) || !quantity_parse(cases[i].text, true, &millis))
            fail_msg("%s is refused", cases[i].text);
        if (units != cases[i].units || millis != cases[i].millis)
            fail_msg("%s: found %" PRId64 " and %" PRId64 ", expected %" PRId64 " and %" PRId64, cases[i].text, units,
                     millis, cases[i].units, cases[i].millis);
    }
}

static void what_is_not_a_quantity_is_refused(void **state) {
    (void)state;
    static const char *const texts[] = {"",     ".",   "-",   "+",   "e3",    "1e",    "1e+",  "1K",
                                        "1ki",  "1mi", "1 ",  " 1",  "1..",   "1.2.3", "1Gib", "0x1",
                                        "1e3m", "m",   "one", "--1", "1e1.5", "1Zi"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int64_t value = 0;
        if (quantity_parse(texts[i], false, &value))
            fail_msg("\"%s\" is taken as %" PRId64, texts[i], value);
    }
    char text[QUANTITY_MAX + 2];
    memset(text, '0', sizeof text);
    text[QUANTITY_MAX] = '\0';
    int64_t value = 0;
    assert_true(quantity_parse(text, true, &value));
    text[QUANTITY_MAX] = '0';
    text[QUANTITY_MAX + 1] = '\0';
    assert_false(quantity_parse(text, true, &value));
}

static void an_amount_is_shown_in_the_unit_of_its_resource(void **state) {
    (void)state;
    static const struct {
        const char *resource;
        int64_t amount;
        const char *text;
    } cases[] = {
        {"cpu", 3000, "3"},
        {"cpu", 1500, "1500m"},
        {"memory", 1023, "1023"},
        {"memory", 1024, "1Ki"},
        {"memory", 1610612736, "1.5Gi"},
        {"memory", 1073741825, "1.1Gi"},
        {"memory", 2147483647, "2Gi"},
        {"hugepages-1Gi", 1073741824, "1Gi"},
        {"ephemeral-storage", INT64_MAX, "8192Pi"},
        {"nvidia.com/gpu", 8, "8"},
        {"pods", 110, "110"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_BUFFER(out, 100);
        quantity_put(&out, cases[i].resource, cases[i].amount);
        assert_string_equal(out.data, cases[i].text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quantity_is_read_exactly),
        cmocka_unit_test(what_is_not_a_quantity_is_refused),
        cmocka_unit_test(an_amount_is_shown_in_the_unit_of_its_resource),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
