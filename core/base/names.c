// SPDX-License-Identifier: Apache-2.0
// Names and labels of Kubernetes, patterns for names, suggestions for unknown words (text.h).
#include "core/base/memory.h"
#include "core/base/text.h"

#define WORD_MAX                                                                                                       \
    63 // apimachinery validation.LabelValueMaxLength; also the maximum of a key's name part, and of a DNS label

#define LOWER "abcdefghijklmnopqrstuvwxyz0123456789"
#define ANY_CASE LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// Whether a text is not empty and has only these characters, and `inner` ones between the first and the last.
static bool is_made_of(const char *text, size_t len, const char *chars, const char *inner) {
    for (size_t i = 0; i < len; i++)
        if (!strchr(chars, text[i]) && (i == 0 || i + 1 == len || !strchr(inner, text[i])))
            return false;
    return len > 0;
}

// [a-z0-9]([-a-z0-9]*[a-z0-9])?
static bool is_dns_part(const char *text, size_t len) {
    return is_made_of(text, len, LOWER, "-");
}

bool text_is_dns_label(const char *text) {
    return text_is_within(text, WORD_MAX) && is_dns_part(text, strlen(text));
}

// Kubernetes limits the length of the whole name, not of each part.
static bool is_dns_subdomain(const char *text, size_t len) {
    const char *end = text + len, *dot = text;
    for (; len <= 253; text = dot + 1) {
        dot = memchr(text, '.', (size_t)(end - text));
        if (!dot || !is_dns_part(text, (size_t)(dot - text)))
            return !dot && is_dns_part(text, (size_t)(end - text));
    }
    return false;
}

bool text_is_dns_subdomain(const char *text) {
    return is_dns_subdomain(text, strlen(text));
}

bool text_is_domain_prefixed_path(const char *text) {
    const char *slash = strchr(text, '/');
    if (!slash || !slash[1] || !is_dns_subdomain(text, (size_t)(slash - text)))
        return false;
    return slash[1 + strspn(slash + 1, ANY_CASE "/-._~%!$&'()*+,;=:")] == '\0';
}

static bool is_word(const char *text) {
    return text_is_within(text, WORD_MAX) && is_made_of(text, strlen(text), ANY_CASE, "-_.");
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

// -- suggestions --

#define LEN_MAX 40 // longer words get no suggestion

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same(char a, char b) {
    return lower(a) == lower(b);
}

// Optimal string alignment: the last three rows of the matrix of distances between the beginnings of both words.
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len) {
    size_t rows[3][LEN_MAX + 1];
    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i - 1) % 3];
        const size_t *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            row[j] =
                size_least(size_least(row[j - 1], above[j]) + 1, above[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1));
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                row[j] = size_least(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_len % 3][b_len];
}

const char *suggest(const char *word, const char *const *known, size_t count) {
    size_t len = strlen(word);
    const char *nearest = NULL;
    size_t bound = len / 3 + (len > 1 ? 2 : 1); // exclusive bound of the distance
    for (size_t i = 0; i < count && len <= LEN_MAX; i++) {
        size_t known_len = strlen(known[i]);
        if (known_len > LEN_MAX)
            continue;
        size_t steps = distance(word, len, known[i], known_len);
        if (steps < bound && steps < known_len) {
            bound = steps;
            nearest = known[i];
        }
    }
    return nearest;
}
