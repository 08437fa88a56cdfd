// SPDX-License-Identifier: Apache-2.0
// Finds the end of a JSON value by nesting: fast, since without decoding or validation, and with a single scan of a
// text that arrives in pieces. Validation is left to json_parse.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// RFC 8259 section 2.
static inline bool scan_is_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

// The offset of the first byte from `at` that is not white space, or `len`.
static inline size_t scan_space(const char *text, size_t at, size_t len) {
    while (at < len && scan_is_space(text[at]))
        at++;
    return at;
}

// State of scanning a value: all zero before the first byte.
struct scan {
    size_t depth; // number of open brackets
    bool in_string, escaped;
};

// Scans a value from *at, the first byte (or, with the same `scan`, the next unscanned byte). True: *at is after the
// value. False: *at is `len`, and the value is incomplete. A number or a word ends at a comma, a bracket or white
// space, not at the end of the text.
bool scan_value(struct scan *scan, const char *text, size_t *at, size_t len);
