// SPDX-License-Identifier: Apache-2.0
// Names and labels of Kubernetes, and patterns for names (text.h).
#include "core/base/text.h"

#include <string.h>

#define WORD_MAX 63 // apimachinery validation.LabelValueMaxLength; also the maximum of a key's name part

static bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_dns_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

// [a-z0-9]([-a-z0-9]*[a-z0-9])?
static bool is_dns_part(const char *text, size_t len) {
    if (len == 0 || !is_dns_char(text[0]) || !is_dns_char(text[len - 1]))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_dns_char(text[i]) && text[i] != '-')
            return false;
    return true;
}

bool text_is_dns_label(const char *text) {
    size_t len = strlen(text);
    return len <= 63 && is_dns_part(text, len);
}

// Kubernetes limits the length of the whole name, not of each part.
static bool is_dns_subdomain(const char *text, size_t len) {
    if (len > 253)
        return false;
    for (;;) {
        const char *dot = memchr(text, '.', len);
        if (!dot)
            return is_dns_part(text, len);
        size_t part = (size_t)(dot - text);
        if (!is_dns_part(text, part))
            return false;
        text = dot + 1;
        len -= part + 1;
    }
}

bool text_is_dns_subdomain(const char *text) {
    return is_dns_subdomain(text, strlen(text));
}

bool text_is_domain_prefixed_path(const char *text) {
    const char *slash = strchr(text, '/');
    if (!slash || !slash[1] || !is_dns_subdomain(text, (size_t)(slash - text)))
        return false;
    for (const char *c = slash + 1; *c; c++)
        if (!is_letter_or_digit(*c) && !strchr("/-._~%!$&'()*+,;=:", *c))
            return false;
    return true;
}

static bool is_word(const char *text) {
    size_t len = strlen(text);
    if (len == 0 || len > WORD_MAX || !is_letter_or_digit(text[0]) || !is_letter_or_digit(text[len - 1]))
        return false;
    for (; *text != '\0'; text++)
        if (!is_letter_or_digit(*text) && !strchr("-_.", *text))
            return false;
    return true;
}

bool text_is_label_value(const char *text) {
    return text[0] == '\0' || is_word(text);
}

bool text_is_label_key(const char *text) {
    const char *slash = strchr(text, '/');
    if (!slash)
        return is_word(text);
    return is_dns_subdomain(text, (size_t)(slash - text)) && is_word(slash + 1);
}

bool text_matches(const char *pattern, size_t pattern_len, const char *text, size_t len) {
    const char *at = text, *end = text + len, *stop = pattern + pattern_len;
    const char *star = NULL, *mark = NULL; // the last '*', and where the text that it stands for ends
    while (at < end || pattern < stop) {
        if (pattern < stop && *pattern == '*') {
            star = ++pattern;
            mark = at;
        } else if (pattern < stop && at < end && *pattern == *at) {
            pattern++;
            at++;
        } else if (star && mark < end) {
            pattern = star;
            at = ++mark;
        } else {
            return false;
        }
    }
    return true;
}
