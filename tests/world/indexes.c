// SPDX-License-Identifier: Apache-2.0
#include "tests/world/indexes.h"
#include "core/base/text.h"

#include <stdio.h>
#include <string.h>

struct interval {
    int64_t first, last;
};

// Copies the piece up to `stop` (or the end) and returns what follows it, or NULL at the end.
static const char *cut(const char *text, char stop, char out[64]) {
    const char *end = strchr(text, stop);
    size_t len = end ? (size_t)(end - text) : strlen(text);
    if (len > 63)
        len = 63;
    memcpy(out, text, len);
    out[len] = '\0';
    return end ? end + 1 : NULL;
}

static bool read_index(const char *text, int64_t completions, int64_t *index, char message[160]) {
    if (!text_to_int64(text, index)) {
        snprintf(message, 160, "cannot convert string to integer for index: \"%s\"", text);
        return false;
    }
    if (*index >= completions)
        snprintf(message, 160, "too large index: \"%s\"", text);
    return *index < completions;
}

static bool read_interval(const char *text, int64_t completions, struct interval *out, char message[160]) {
    char part[64];
    const char *second = cut(text, '-', part);
    if (second && strchr(second, '-')) {
        snprintf(message, 160,
                 "the fragment \"%.50s\" violates the requirement that an index interval can have at most two parts "
                 "separated by '-'",
                 text);
        return false;
    }
    if (!read_index(part, completions, &out->first, message))
        return false;
    out->last = out->first;
    if (!second)
        return true;
    if (!read_index(second, completions, &out->last, message))
        return false;
    if (out->first >= out->last)
        snprintf(message, 160, "non-increasing order, previous: %lld, current: %lld", (long long)out->first,
                 (long long)out->last);
    return out->first < out->last;
}

bool indexes_check(const char *text, int64_t completions, char message[160]) {
    int64_t previous = -1;
    bool any = false;
    for (const char *rest = *text ? text : NULL; rest;) {
        char piece[64];
        struct interval interval;
        rest = cut(rest, ',', piece);
        if (!read_interval(piece, completions, &interval, message))
            return false;
        if (any && previous >= interval.first) {
            snprintf(message, 160, "non-increasing order, previous: %lld, current: %lld", (long long)previous,
                     (long long)interval.first);
            return false;
        }
        previous = interval.last;
        any = true;
    }
    return true;
}

int64_t indexes_overlap(const char *a, const char *b, int64_t completions) {
    char piece[64], message[160];
    struct interval x, y;
    for (const char *left = *a ? a : NULL; left;) {
        left = cut(left, ',', piece);
        if (!read_interval(piece, completions, &x, message))
            continue;
        for (const char *right = *b ? b : NULL; right;) {
            right = cut(right, ',', piece);
            if (read_interval(piece, completions, &y, message) && x.first <= y.last && y.first <= x.last)
                return x.first > y.first ? x.first : y.first;
        }
    }
    return -1;
}

void indexes_print(const bool *set, size_t count, struct buffer *out) {
    size_t start = out->len;
    for (size_t i = 0; i < count; i++) {
        if (!set[i])
            continue;
        size_t last = i;
        while (last + 1 < count && set[last + 1])
            last++;
        buffer_printf(out, "%s%zu", out->len > start ? "," : "", i);
        if (last > i)
            buffer_printf(out, "%c%zu", last == i + 1 ? ',' : '-', last);
        i = last;
    }
}

void indexes_read(const char *text, bool *set, size_t count) {
    char message[160];
    for (const char *rest = *text ? text : NULL; rest;) {
        char piece[64];
        struct interval interval;
        rest = cut(rest, ',', piece);
        if (!read_interval(piece, INT64_MAX, &interval, message))
            continue;
        for (int64_t i = interval.first; i <= interval.last && i < (int64_t)count; i++)
            set[i] = true;
    }
}
