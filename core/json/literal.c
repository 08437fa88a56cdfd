// SPDX-License-Identifier: Apache-2.0
// The texts of scalars (node.h): string literals, RFC 8259 section 7, and numbers, section 6.
#include "core/base/text.h"
#include "core/json/node.h"

int hex_value(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

// The value of four hexadecimal digits; -1 if invalid.
static int32_t hex_unit(const char *digits) {
    int32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        int value = hex_value(digits[i]);
        if (value < 0)
            return -1;
        unit = unit * 16 + value;
    }
    return unit;
}

// *at is on the backslash, and after the escape on success.
static const char *scan_escape(const char *text, size_t len, size_t *at, struct literal *out) {
    if (len - *at < 2)
        return "the text ends inside a string";
    out->escaped = true;
    if (text[*at + 1] != 'u') {
        if (text[*at + 1] == '\0' || !strchr("\"\\/bfnrt", text[*at + 1]))
            return "unknown escape in a string";
        *at += 2;
        return NULL;
    }
    if (len - *at < 6)
        return "the text ends inside a string";
    int32_t unit = hex_unit(text + *at + 2);
    if (unit < 0)
        return "\\u without four hexadecimal digits in a string";
    out->has_nul = out->has_nul || unit == 0;
    *at += 6;
    return NULL;
}

// The message for a byte that is neither allowed nor a quote nor a backslash.
static const char *bad_byte(char c) {
    return (unsigned char)c < 0x20 ? "control character in a string (it must be escaped)" : "invalid UTF-8 in a string";
}

const char *literal_scan(const char *text, size_t len, size_t *at, struct literal *out) {
    size_t i = *at + 1;
    *out = (struct literal){.text = text + i};
    const char *problem = NULL;
    while (!problem) {
        i += text_json_clean(text + i, len - i);
        if (i == len) {
            problem = "the text ends inside a string";
        } else if (text[i] == '"') {
            out->len = i - *at - 1;
            *at = i + 1;
            return NULL;
        } else {
            problem = text[i] == '\\' ? scan_escape(text, len, &i, out) : bad_byte(text[i]);
        }
    }
    *at = i;
    return problem;
}

static size_t put_utf8(uint32_t rune, char *out) {
    static const unsigned char first[] = {0, 0, 0xC0, 0xE0, 0xF0};
    size_t len = (size_t)1 + (rune >= 0x80) + (rune >= 0x800) + (rune >= 0x10000);
    for (size_t i = len; --i > 0; rune >>= 6)
        out[i] = (char)(0x80 | (rune & 0x3F));
    out[0] = (char)(first[len] | rune);
    return len;
}

// Decodes a \u escape; a high surrogate together with the following low one.
static size_t decode_unit(const char *text, size_t len, size_t *at, char *out) {
    uint32_t rune = (uint32_t)hex_unit(text + *at + 2);
    *at += 6;
    if (rune >= 0xD800 && rune < 0xDC00 && len - *at >= 6 && text[*at] == '\\' && text[*at + 1] == 'u') {
        uint32_t low = (uint32_t)hex_unit(text + *at + 2);
        if (low >= 0xDC00 && low < 0xE000) {
            *at += 6;
            return put_utf8(0x10000 + ((rune - 0xD800) << 10) + (low - 0xDC00), out);
        }
    }
    return put_utf8(rune >= 0xD800 && rune < 0xE000 ? 0xFFFD : rune, out);
}

static char unescape(char letter) {
    static const char pairs[] = "b\bf\fn\nr\rt\t";
    for (size_t i = 0; i + 1 < sizeof pairs; i += 2)
        if (pairs[i] == letter)
            return pairs[i + 1];
    return letter;
}

size_t literal_decode(const struct literal *literal, char *out) {
    if (!literal->escaped) {
        memcpy(out, literal->text, literal->len);
        return literal->len;
    }
    const char *text = literal->text;
    size_t len = 0;
    for (size_t i = 0; i < literal->len;) {
        const char *escape = memchr(text + i, '\\', literal->len - i);
        size_t run = (escape ? (size_t)(escape - text) : literal->len) - i;
        memcpy(out + len, text + i, run);
        len += run;
        i += run;
        if (!escape)
            break;
        if (text[i + 1] == 'u') {
            len += decode_unit(text, literal->len, &i, out + len);
        } else {
            out[len++] = unescape(text[i + 1]);
            i += 2;
        }
    }
    return len;
}

// -- numbers --

// Requires a digit at *at; advances over all digits.
static bool scan_digits(const char *text, size_t len, size_t *at) {
    size_t i = *at, first = i;
    while (i < len && text[i] >= '0' && text[i] <= '9')
        i++;
    *at = i;
    return i > first;
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
