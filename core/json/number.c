// SPDX-License-Identifier: Apache-2.0
// Numbers by their text, RFC 8259 section 6 (node.h).
#include "core/json/node.h"

#include <stdlib.h>
#include <string.h>

static size_t digits_at(const char *text, size_t len, size_t at) {
    size_t i = at;
    while (i < len && text[i] >= '0' && text[i] <= '9')
        i++;
    return i - at;
}

// Requires a digit at *at; advances over all digits.
static bool scan_digits(const char *text, size_t len, size_t *at) {
    size_t digits = digits_at(text, len, *at);
    *at += digits;
    return digits > 0;
}

size_t number_scan(const char *text, size_t len, size_t *bad) {
    size_t i = len > 0 && text[0] == '-' ? 1 : 0;
    bool ok = true;
    if (i < len && text[i] == '0')
        i++;
    else
        ok = scan_digits(text, len, &i);
    if (ok && i < len && text[i] == '.') {
        i++;
        ok = scan_digits(text, len, &i);
    }
    if (ok && i < len && (text[i] == 'e' || text[i] == 'E')) {
        i++;
        if (i < len && (text[i] == '+' || text[i] == '-'))
            i++;
        ok = scan_digits(text, len, &i);
    }
    *bad = i;
    return ok ? i : 0;
}

// A number regardless of notation: +-0.d1d2d3... * 10^exponent with d1 != 0 and the last digit != 0. The digits are the
// token's from `first` to `last`, without the point. Zero has no digits.
struct decimal {
    bool negative;
    const char *first, *last; // both included; NULL for zero
    size_t count;
    int64_t exponent;
    bool huge; // the exponent is out of range
};

#define EXPONENT_MAX INT64_C(1000000000000000)

static int64_t read_exponent(const char *text, bool *huge) {
    bool negative = *text == '-';
    if (*text == '-' || *text == '+')
        text++;
    int64_t value = 0;
    for (; *text; text++) {
        value = value * 10 + (*text - '0');
        if (value > EXPONENT_MAX) {
            *huge = true;
            return 0;
        }
    }
    return negative ? -value : value;
}

static struct decimal decimal_of(const char *token) {
    struct decimal d = {.negative = *token == '-'};
    token += d.negative;
    int64_t before_point = 0;
    bool point = false;
    for (; *token && *token != 'e' && *token != 'E'; token++) {
        if (*token == '.') {
            point = true;
            continue;
        }
        if (d.first || *token != '0')
            before_point += point ? 0 : 1;
        else if (point)
            before_point--;
        if (*token != '0') {
            d.first = d.first ? d.first : token;
            d.last = token;
        }
    }
    if (!d.first)
        return (struct decimal){0};
    for (const char *c = d.first; c <= d.last; c++)
        d.count += *c != '.';
    d.exponent = before_point;
    if (*token)
        d.exponent += read_exponent(token + 1, &d.huge);
    return d;
}

static bool is_integral(const struct decimal *d) {
    return !d->first || (d->exponent > 0 && (uint64_t)d->exponent >= d->count);
}

static bool same_digits(const struct decimal *a, const struct decimal *b) {
    if (a->count != b->count)
        return false;
    const char *x = a->first;
    const char *y = b->first;
    for (size_t i = 0; i < a->count; i++, x++, y++) {
        x += *x == '.';
        y += *y == '.';
        if (*x != *y)
            return false;
    }
    return true;
}

// Compares exactly; fractions that differ are compared as float64, as in the API server.
bool number_equal(const char *a, const char *b) {
    if (strcmp(a, b) == 0)
        return true;
    struct decimal x = decimal_of(a);
    struct decimal y = decimal_of(b);
    if (x.huge || y.huge)
        return false;
    if (x.negative == y.negative && x.exponent == y.exponent && same_digits(&x, &y))
        return true;
    if (is_integral(&x) || is_integral(&y))
        return false;
    return !(strtod(a, NULL) < strtod(b, NULL)) && !(strtod(a, NULL) > strtod(b, NULL));
}

bool number_to_int64(const char *token, int64_t *value) {
    struct decimal d = decimal_of(token);
    if (d.huge || !is_integral(&d) || d.exponent > 19)
        return false;
    int64_t sum = 0;
    const char *c = d.first;
    for (int64_t i = 0; i < d.exponent; i++) {
        int digit = 0;
        if (i < (int64_t)d.count) {
            c += *c == '.';
            digit = *c++ - '0';
        }
        if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_add_overflow(sum, d.negative ? -digit : digit, &sum))
            return false;
    }
    *value = sum;
    return true;
}
