// SPDX-License-Identifier: Apache-2.0
#include "core/json/yaml/scalar.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// Exact spellings: "yEs" is a string.
static const struct {
    const char *text;
    enum scalar scalar;
} words[] = {
    {"", SCALAR_NULL},           {"~", SCALAR_NULL},          {"null", SCALAR_NULL},       {"Null", SCALAR_NULL},
    {"NULL", SCALAR_NULL},       {"true", SCALAR_TRUE},       {"True", SCALAR_TRUE},       {"TRUE", SCALAR_TRUE},
    {"y", SCALAR_TRUE},          {"Y", SCALAR_TRUE},          {"yes", SCALAR_TRUE},        {"Yes", SCALAR_TRUE},
    {"YES", SCALAR_TRUE},        {"on", SCALAR_TRUE},         {"On", SCALAR_TRUE},         {"ON", SCALAR_TRUE},
    {"false", SCALAR_FALSE},     {"False", SCALAR_FALSE},     {"FALSE", SCALAR_FALSE},     {"n", SCALAR_FALSE},
    {"N", SCALAR_FALSE},         {"no", SCALAR_FALSE},        {"No", SCALAR_FALSE},        {"NO", SCALAR_FALSE},
    {"off", SCALAR_FALSE},       {"Off", SCALAR_FALSE},       {"OFF", SCALAR_FALSE},       {".nan", SCALAR_NOT_FINITE},
    {".NaN", SCALAR_NOT_FINITE}, {".NAN", SCALAR_NOT_FINITE}, {".inf", SCALAR_NOT_FINITE}, {".Inf", SCALAR_NOT_FINITE},
    {".INF", SCALAR_NOT_FINITE},
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_sign(char c) {
    return c == '+' || c == '-';
}

static bool find_word(const char *text, size_t len, enum scalar *scalar) {
    // The infinities have a sign before the dot, nothing else that is listed has.
    bool sign = len > 1 && is_sign(text[0]) && text[1] == '.';
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const char *word = words[i].text;
        if (sign && (word[0] != '.' || (word[1] | 0x20) != 'i'))
            continue;
        if (strlen(word) == len - sign && memcmp(word, text + sign, len - sign) == 0) {
            *scalar = words[i].scalar;
            return true;
        }
    }
    return false;
}

// The base of the prefix; advances *text past the prefix. A leading zero is octal, as in Go.
static unsigned take_base(const char **text) {
    const char *t = *text;
    if (t[0] != '0' || t[1] == '\0')
        return 10;
    char letter = (char)(t[1] | 0x20);
    unsigned base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    *text += base ? 2 : 1;
    return base ? base : 8;
}

static unsigned digit_value(char c) {
    if (is_digit(c))
        return (unsigned)(c - '0');
    char letter = (char)(c | 0x20);
    return letter >= 'a' && letter <= 'f' ? (unsigned)(letter - 'a') + 10 : 99;
}

// An integer with a prefix. False for anything else.
static bool resolve_based(const char *digits, unsigned base, bool negative, struct buffer *token, enum scalar *scalar) {
    uint64_t value = 0;
    bool overflow = false;
    if (!*digits)
        return false;
    for (; *digits; digits++) {
        unsigned digit = digit_value(*digits);
        if (digit >= base)
            return false;
        overflow =
            overflow || __builtin_mul_overflow(value, base, &value) || __builtin_add_overflow(value, digit, &value);
    }
    if (overflow || (negative && value > UINT64_C(1) << 63)) {
        *scalar = SCALAR_TOO_LARGE;
        return true;
    }
    *scalar = SCALAR_INTEGER;
    buffer_printf(token, "%s%" PRIu64, negative && value > 0 ? "-" : "", value);
    return true;
}

static bool resolve_integer(const char *text, struct buffer *token, enum scalar *scalar) {
    bool negative = *text == '-';
    text += is_sign(*text);
    const char *digits = text;
    unsigned base = take_base(&digits);
    if (base != 10) {
        bool leading_zero = digits == text + 1;
        if (!resolve_based(digits, base, negative, token, scalar))
            return false;
        return *scalar != SCALAR_TOO_LARGE || !leading_zero; // then Go reads a float
    }
    size_t len = strspn(digits, "0123456789");
    if (len == 0 || digits[len] != '\0')
        return false;
    *scalar = SCALAR_INTEGER;
    buffer_text(token, negative && digits[0] != '0' ? "-" : "");
    buffer_append(token, digits, len);
    return true;
}

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? that a float64 can hold, written as in JSON: a digit on both
// sides of the point, no leading zeros.
static bool resolve_float(const char *text, struct buffer *token) {
    bool negative = *text == '-';
    text += is_sign(*text);
    size_t whole = strspn(text, "0123456789");
    const char *fraction = text + whole + (text[whole] == '.');
    size_t fraction_len = text[whole] == '.' ? strspn(fraction, "0123456789") : 0;
    const char *exponent = fraction + fraction_len;
    if (whole + fraction_len == 0)
        return false;
    if (*exponent) {
        const char *digits = exponent + 1 + is_sign(exponent[1]);
        if ((*exponent | 0x20) != 'e' || !*digits || digits[strspn(digits, "0123456789")] != '\0')
            return false;
    }
    if (isinf(strtod(text, NULL)))
        return false;
    while (whole > 0 && *text == '0') {
        text++;
        whole--;
    }
    buffer_text(token, negative ? "-" : "");
    buffer_append(token, whole ? text : "0", whole ? whole : 1);
    if (fraction_len > 0) {
        buffer_char(token, '.');
        buffer_append(token, fraction, fraction_len);
    }
    buffer_text(token, exponent);
    return true;
}

static enum scalar resolve_number(const char *text, struct buffer *token) {
    enum scalar scalar;
    if (text[0] != '.' && resolve_integer(text, token, &scalar))
        return scalar;
    return resolve_float(text, token) ? SCALAR_FLOAT : SCALAR_STRING;
}

enum scalar scalar_resolve(const char *text, size_t len, struct buffer *token) {
    enum scalar scalar;
    if (find_word(text, len, &scalar))
        return scalar;
    if (!is_digit(text[0]) && !is_sign(text[0]) && text[0] != '.')
        return SCALAR_STRING;
    if (memchr(text, '\0', len))
        return SCALAR_STRING;
    AUTO_BUFFER(plain, SIZE_MAX / 4);
    for (size_t i = 0; i < len; i++)
        if (text[i] != '_' || text[0] == '.') // Go drops underscores where an integer is tried first
            buffer_char(&plain, text[i]);
    if (plain.failed) {
        token->failed = true;
        return SCALAR_STRING;
    }
    return resolve_number(plain.data, token);
}
