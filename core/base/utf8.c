// SPDX-License-Identifier: Apache-2.0
// UTF-8 (text.h).
#include "core/base/text.h"

#include <endian.h>

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

#define ONES UINT64_C(0x0101010101010101)
#define HIGH UINT64_C(0x8080808080808080)

static bool is_ascii_word(const char *text) {
    uint64_t word;
    memcpy(&word, text, sizeof word);
    return (word & HIGH) == 0;
}

size_t text_utf8_valid(const char *text, size_t len) {
    size_t at = 0;
    while (at < len) {
        if (len - at >= 8 && is_ascii_word(text + at)) {
            at += 8;
            continue;
        }
        size_t sequence = (unsigned char)text[at] < 0x80 ? 1 : text_utf8_sequence(text + at, len - at);
        if (sequence == 0)
            break;
        at += sequence;
    }
    return at;
}

// How many of the next eight bytes come before one that is below 0x20, above 0x7f, a quote or a backslash. A borrow can
// set bits only above the first such byte.
static size_t plain_bytes(const char *text) {
    uint64_t word;
    memcpy(&word, text, sizeof word);
    word = le64toh(word);
    uint64_t quote = word ^ (ONES * '"');
    uint64_t backslash = word ^ (ONES * '\\');
    uint64_t control = word - ONES * 0x20;
    uint64_t special = (word | control | ((quote - ONES) & ~quote) | ((backslash - ONES) & ~backslash)) & HIGH;
    return special ? (size_t)__builtin_ctzll(special) / 8 : 8;
}

static bool is_plain(unsigned char c) {
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

size_t text_json_clean(const char *text, size_t len) {
    size_t i = 0;
    for (;;) {
        size_t plain = 8;
        while (plain == 8 && len - i >= 8) {
            plain = plain_bytes(text + i);
            i += plain;
        }
        while (i < len && is_plain((unsigned char)text[i]))
            i++;
        size_t sequence = i < len && (unsigned char)text[i] >= 0x80 ? text_utf8_sequence(text + i, len - i) : 0;
        if (sequence == 0)
            return i;
        i += sequence;
    }
}

static uint32_t code_point(const unsigned char *s, size_t len) {
    switch (len) {
    case 1:
        return s[0];
    case 2:
        return (s[0] & 0x1FU) << 6 | (s[1] & 0x3FU);
    case 3:
        return (s[0] & 0x0FU) << 12 | (s[1] & 0x3FU) << 6 | (s[2] & 0x3FU);
    default:
        return 0x10000; // not in any of the ranges tested
    }
}

uint32_t text_invisible(const char *character, size_t len) {
    static const struct {
        uint32_t first, last;
    } ranges[] = {{0x00, 0x1F},     {0x7F, 0x9F},     {0x61C, 0x61C},   {0x200E, 0x200F},
                  {0x2028, 0x202E}, {0x2066, 0x2069}, {0xFEFF, 0xFEFF}, {0xFFFE, 0xFFFF}};
    uint32_t code = code_point((const unsigned char *)character, len);
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return code ? code : 1;
    return 0;
}

size_t text_visible(const char *text, size_t len) {
    size_t at = 0;
    while (at < len) {
        size_t sequence = text_utf8_sequence(text + at, len - at);
        unsigned char first = (unsigned char)text[at];
        bool plain = first >= 0x20 && first < 0x7f;
        if (sequence == 0 || (!plain && text_invisible(text + at, sequence)))
            break;
        at += sequence;
    }
    return at;
}

bool text_show(struct buffer *out, const char *text) {
    for (size_t left = strlen(text); left > 0;) {
        size_t clean = text_visible(text, left);
        buffer_append(out, text, clean);
        text += clean;
        left -= clean;
        if (left == 0)
            break;
        size_t len = text_utf8_sequence(text, left);
        if (len == 0)
            buffer_text(out, "\xEF\xBF\xBD");
        else if (*text == '\t' || *text == '\n' || *text == '\r')
            buffer_char(out, ' ');
        else
            buffer_printf(out, "\\u%04x", (unsigned)text_invisible(text, len));
        text += len ? len : 1;
        left -= len ? len : 1;
    }
    return !out->failed;
}

void text_print_line(FILE *out, const char *text) {
    AUTO_BUFFER(shown, SIZE_MAX / 4);
    bool ok = text_show(&shown, text);
    fprintf(out, "%s\n", !ok ? "(out of memory)" : shown.data ? shown.data : "");
}
