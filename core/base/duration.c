// SPDX-License-Identifier: Apache-2.0
// Durations in Go's format (clock.h).
#include "core/base/clock.h"

#include "core/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int64_t ns;
} units[] = {
    {"ns", 1},           {"us", 1000},        {"\xC2\xB5s", 1000}, // U+00B5, micro sign
    {"\xCE\xBCs", 1000},                                           // U+03BC, Greek mu
    {"ms", CLOCK_MS},    {"s", CLOCK_SECOND}, {"m", CLOCK_MINUTE}, {"h", 60 * CLOCK_MINUTE},
};

// A unit ends where the next number begins.
static int64_t take_unit(const char **text) {
    size_t len = strcspn(*text, "0123456789.");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (len == strlen(units[i].name) && strncmp(*text, units[i].name, len) == 0) {
            *text += len;
            return units[i].ns;
        }
    }
    return 0;
}

// One "1.5h", added to *sum.
static bool take_part(const char **text, int64_t *sum) {
    int64_t whole = 0;
    const char *first = *text;
    for (; **text >= '0' && **text <= '9'; (*text)++)
        if (__builtin_mul_overflow(whole, 10, &whole) || __builtin_add_overflow(whole, **text - '0', &whole))
            return false;
    size_t digits = (size_t)(*text - first);
    const char *fraction = NULL;
    size_t fraction_digits = 0;
    if (**text == '.') {
        fraction = ++*text;
        fraction_digits = strspn(fraction, "0123456789");
        *text += fraction_digits;
    }
    if (digits + fraction_digits == 0)
        return false;
    int64_t unit = take_unit(text);
    if (unit == 0 || __builtin_mul_overflow(whole, unit, &whole) || __builtin_add_overflow(*sum, whole, sum))
        return false;
    // The twelfth decimal of an hour is less than a nanosecond; 3.6e12 * 1e6 fits, so the digits are added in two
    // halves.
    int64_t rest = 0;
    int64_t scale = 1;
    for (size_t i = 0; i < fraction_digits && i < 6; i++, scale *= 10)
        rest = rest * 10 + (fraction[i] - '0');
    int64_t low = 0;
    int64_t low_scale = 1;
    for (size_t i = 6; i < fraction_digits && i < 12; i++, low_scale *= 10)
        low = low * 10 + (fraction[i] - '0');
    int64_t part = (unit * rest + unit * low / low_scale) / scale;
    return !__builtin_add_overflow(*sum, part, sum);
}

bool clock_parse_duration(const char *text, int64_t *duration_ns) {
    if (!text)
        return false;
    if (*text == '+')
        text++;
    int64_t sum = 0;
    if (!text_equal(text, "0")) {
        if (!*text)
            return false;
        while (*text)
            if (!take_part(&text, &sum))
                return false;
    }
    *duration_ns = sum;
    return true;
}

// "1.5s", "250ms": below a minute: one unit, with as many decimals as needed.
static void write_seconds(uint64_t ns, char *out, size_t size) {
    static const struct {
        uint64_t ns;
        int digits;
        const char *name;
    } scale[] = {{CLOCK_SECOND, 9, "s"}, {CLOCK_MS, 6, "ms"}, {1000, 3, "us"}, {1, 0, "ns"}};
    size_t i = 0;
    while (i < 3 && ns < scale[i].ns)
        i++;
    int written = snprintf(out, size, "%" PRIu64, ns / scale[i].ns);
    uint64_t rest = ns % scale[i].ns;
    size_t len = (size_t)written;
    if (rest > 0) {
        int digits = scale[i].digits;
        for (; rest % 10 == 0; rest /= 10)
            digits--;
        len += (size_t)snprintf(out + len, size - len, ".%0*" PRIu64, digits, rest);
    }
    snprintf(out + len, size - len, "%s", scale[i].name);
}

void clock_duration_text(int64_t duration_ns, char out[CLOCK_RFC3339_MAX]) {
    uint64_t ns = duration_ns < 0 ? 0 - (uint64_t)duration_ns : (uint64_t)duration_ns;
    uint64_t minute = CLOCK_MINUTE;
    uint64_t hours = ns / (60 * minute);
    uint64_t minutes = ns / minute % 60;
    uint64_t rest = ns % minute;
    size_t size = CLOCK_RFC3339_MAX;
    size_t len = (size_t)snprintf(out, size, "%s", duration_ns < 0 ? "-" : "");
    if (hours > 0)
        len += (size_t)snprintf(out + len, size - len, "%" PRIu64 "h", hours);
    if (minutes > 0)
        len += (size_t)snprintf(out + len, size - len, "%" PRIu64 "m", minutes);
    if (ns == 0)
        snprintf(out, size, "0s");
    else if (rest > 0)
        write_seconds(rest, out + len, size - len);
}
