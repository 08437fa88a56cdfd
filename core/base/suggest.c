// SPDX-License-Identifier: Apache-2.0
#include "core/base/suggest.h"

#include "core/base/memory.h"

#include <stdbool.h>
#include <string.h>

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
