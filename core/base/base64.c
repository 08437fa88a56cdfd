// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"

// 0 to 63; -1 for what is not in the alphabet of RFC 4648 section 4.
static int digit_value(char c) {
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct group {
    uint32_t bits;
    unsigned digits, padding;
};

static void flush_group(struct group *group, struct buffer *out) {
    const char bytes[3] = {(char)(group->bits >> 16 & 0xff), (char)(group->bits >> 8 & 0xff),
                           (char)(group->bits & 0xff)};
    buffer_append(out, bytes, 3 - group->padding);
    group->bits = 0;
    group->digits = 0;
}

// False if `c` may not stand here.
static bool add_to_group(struct group *group, char c) {
    int value = digit_value(c);
    if (c == '=' && group->digits >= 2) {
        group->padding++;
        value = 0;
    } else if (value < 0 || group->padding > 0) {
        return false;
    }
    group->bits = group->bits << 6 | (uint32_t)value;
    group->digits++;
    return true;
}

struct error *text_base64_decode(const char *text, struct buffer *out) {
    struct group group = {0};
    size_t at = 0;
    if (!buffer_append(out, "", 0)) // so that nothing at all is an empty text, not NULL
        return error_no_memory();
    for (; text[at]; at++) {
        if (is_space(text[at]))
            continue;
        if (!add_to_group(&group, text[at]))
            return error_new(ERROR_INVALID, "not base64: unexpected character at offset %zu", at);
        if (group.digits == 4)
            flush_group(&group, out);
        if (out->failed)
            return error_new(ERROR_LIMIT, "base64 text is too long");
    }
    if (group.digits != 0)
        return error_new(ERROR_INVALID, "not base64: it ends at offset %zu within a group of four", at);
    return NULL;
}
