// SPDX-License-Identifier: Apache-2.0
// String literals, RFC 8259 section 7 (node.h).
#include "core/base/text.h"
#include "core/json/node.h"

#include <string.h>

static int hex_value(char c) {
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
    if (rune < 0x80) {
        out[0] = (char)rune;
        return 1;
    }
    if (rune < 0x800) {
        out[0] = (char)(0xC0 | rune >> 6);
        out[1] = (char)(0x80 | (rune & 0x3F));
        return 2;
    }
    if (rune < 0x10000) {
        out[0] = (char)(0xE0 | rune >> 12);
        out[1] = (char)(0x80 | (rune >> 6 & 0x3F));
        out[2] = (char)(0x80 | (rune & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | rune >> 18);
    out[1] = (char)(0x80 | (rune >> 12 & 0x3F));
    out[2] = (char)(0x80 | (rune >> 6 & 0x3F));
    out[3] = (char)(0x80 | (rune & 0x3F));
    return 4;
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
