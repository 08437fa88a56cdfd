// SPDX-License-Identifier: Apache-2.0
#include "core/kube/object/object.h"

#include "core/base/memory.h"

#include <inttypes.h>
#include <limits.h>

struct digits {
    char digit[QUANTITY_MAX + 20]; // values, not characters; with room for doubling 60 times
    int64_t count;
    int64_t point; // digits before the point; may be negative, or exceed the digits
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// Digits with at most one point. Returns the rest of the text, or NULL.
static const char *read_digits(const char *text, struct digits *out) {
    bool point = false;
    for (; is_digit(*text) || (*text == '.' && !point); text++) {
        if (*text == '.') {
            point = true;
            continue;
        }
        out->digit[out->count++] = (char)(*text - '0');
        out->point += !point;
    }
    return out->count > 0 ? text : NULL;
}

// "e3", "E-3": a sign is optional, a digit is not.
static bool read_exponent(const char *text, int64_t *decimal) {
    bool negative = text[0] == '-';
    text += text[0] == '-' || text[0] == '+';
    int64_t value = 0;
    if (*text == '\0')
        return false;
    for (; is_digit(*text); text++)
        value = value < 1000 ? value * 10 + (*text - '0') : value;
    *decimal = negative ? -value : value;
    return *text == '\0';
}

static bool read_suffix(const char *text, int64_t *decimal, unsigned *binary) {
    static const struct {
        const char *suffix;
        int decimal;
        unsigned binary;
    } suffixes[] = {{"", 0, 0},    {"n", -9, 0},  {"u", -6, 0},  {"m", -3, 0}, {"k", 3, 0},   {"M", 6, 0},
                    {"G", 9, 0},   {"T", 12, 0},  {"P", 15, 0},  {"E", 18, 0}, {"Ki", 0, 10}, {"Mi", 0, 20},
                    {"Gi", 0, 30}, {"Ti", 0, 40}, {"Pi", 0, 50}, {"Ei", 0, 60}};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (strcmp(text, suffixes[i].suffix) == 0) {
            *decimal = suffixes[i].decimal;
            *binary = suffixes[i].binary;
            return true;
        }
    return (*text == 'e' || *text == 'E') && read_exponent(text + 1, decimal);
}

// The digits before the point.
static int64_t whole_of(const struct digits *digits) {
    int64_t value = 0, first = 0;
    while (first < digits->count && digits->digit[first] == 0) // of 0 nothing saturates
        first++;
    for (int64_t i = first; i < digits->point && first < digits->count && value < INT64_MAX; i++)
        value = int64_plus(int64_times(value, 10), i < digits->count ? digits->digit[i] : 0);
    return value;
}

static void double_all(struct digits *digits) {
    int carry = 0;
    for (int64_t i = digits->count; i > 0; i--) {
        int twice = 2 * digits->digit[i - 1] + carry;
        digits->digit[i - 1] = (char)(twice % 10);
        carry = twice / 10;
    }
    if (carry == 0)
        return;
    memmove(digits->digit + 1, digits->digit, (size_t)digits->count);
    digits->digit[0] = 1;
    digits->count++;
    digits->point++;
}

static bool has_fraction(const struct digits *digits) {
    for (int64_t i = digits->point > 0 ? digits->point : 0; i < digits->count; i++)
        if (digits->digit[i] != 0)
            return true;
    return false;
}

bool quantity_parse(const char *text, bool milli, int64_t *value) {
    struct digits digits = {.count = 0};
    int64_t decimal = 0;
    unsigned binary = 0;
    if (strnlen(text, QUANTITY_MAX + 1) > QUANTITY_MAX)
        return false;
    bool negative = *text == '-';
    text = read_digits(text + (*text == '-' || *text == '+'), &digits);
    if (!text || !read_suffix(text, &decimal, &binary))
        return false;
    for (unsigned i = 0; i < binary; i++)
        double_all(&digits);
    digits.point += decimal + (milli ? 3 : 0);
    int64_t whole = whole_of(&digits);
    if (has_fraction(&digits) && whole < INT64_MAX)
        whole++;
    *value = negative ? -whole : whole;
    return true;
}

bool quantity_is_milli(const char *resource) {
    return strcmp(resource, "cpu") == 0;
}

static bool is_bytes(const char *resource) {
    return strcmp(resource, "memory") == 0 || strcmp(resource, "ephemeral-storage") == 0 ||
           text_has_prefix(resource, "hugepages-");
}

static void put_bytes(struct buffer *out, int64_t amount) {
    static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
    size_t unit = 0;
    int64_t size = 1;
    while (unit + 1 < sizeof units / sizeof units[0] && amount / size >= 1024) {
        size *= 1024;
        unit++;
    }
    int64_t whole = amount / size, rest = amount % size;
    int64_t tenths = (10 * rest + size - 1) / size;
    if (tenths >= 10) {
        whole++;
        tenths = 0;
    }
    if (tenths > 0)
        buffer_printf(out, "%" PRId64 ".%" PRId64 "%s", whole, tenths, units[unit]);
    else
        buffer_printf(out, "%" PRId64 "%s", whole, units[unit]);
}

void quantity_put(struct buffer *out, const char *resource, int64_t amount) {
    if (is_bytes(resource))
        put_bytes(out, amount);
    else if (!quantity_is_milli(resource))
        buffer_printf(out, "%" PRId64, amount);
    else if (amount % 1000 == 0)
        buffer_printf(out, "%" PRId64, amount / 1000);
    else
        buffer_printf(out, "%" PRId64 "m", amount);
}
