// SPDX-License-Identifier: Apache-2.0
// UTF-8 (text.h).
#include "core/base/text.h"

#include <string.h>

// RFC 3629 section 4: the second byte's range depends on the first (overlong forms, surrogates, above U+10FFFF).
size_t text_utf8_sequence(const char *text, size_t len) {
    const unsigned char *s = (const unsigned char *)text;
    if (len == 0)
        return 0;
    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xC2 || s[0] > 0xF4)
        return 0;
    size_t need = s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
    unsigned char low = s[0] == 0xE0 ? 0xA0 : s[0] == 0xF0 ? 0x90 : 0x80;
    unsigned char high = s[0] == 0xED ? 0x9F : s[0] == 0xF4 ? 0x8F : 0xBF;
    if (len < need || s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < need; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    return need;
}

size_t text_utf8_valid(const char *text, size_t len) {
    size_t at = 0;
    while (at < len) {
        size_t sequence = text_utf8_sequence(text + at, len - at);
        if (sequence == 0)
            break;
        at += sequence;
    }
    return at;
}

#define ONES UINT64_C(0x0101010101010101)
#define HIGH UINT64_C(0x8080808080808080)

// True if one of the eight bytes is below 0x20, above 0x7f, a quote or a backslash.
static bool has_special(const char *text) {
    uint64_t word;
    memcpy(&word, text, sizeof word);
    uint64_t quote = word ^ (ONES * '"');
    uint64_t backslash = word ^ (ONES * '\\');
    uint64_t control = word - ONES * 0x20;
    return ((word | control | ((quote - ONES) & ~quote) | ((backslash - ONES) & ~backslash)) & HIGH) != 0;
}

size_t text_json_clean(const char *text, size_t len) {
    size_t i = 0;
    for (;;) {
        while (len - i >= 8 && !has_special(text + i))
            i += 8;
        if (i == len || (unsigned char)text[i] < 0x20 || text[i] == '"' || text[i] == '\\')
            return i;
        size_t sequence = text_utf8_sequence(text + i, len - i);
        if (sequence == 0)
            return i;
        i += sequence;
    }
}
