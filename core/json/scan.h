// SPDX-License-Identifier: Apache-2.0
// Where a JSON value ends, by its nesting: nothing is decoded or checked, so this is as fast as a text can be gone
// through, and a text that arrives in pieces is gone through once. What must be right is given to json_parse.
#ifndef WHARF_JSON_SCAN_H
#define WHARF_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

// RFC 8259 section 2.
static inline bool scan_is_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

// The offset of the first byte from `at` that is no white space, or `len`.
static inline size_t scan_space(const char *text, size_t at, size_t len) {
    while (at < len && scan_is_space(text[at]))
        at++;
    return at;
}

// How far a value was read: all zero before its first byte.
struct scan {
    size_t depth; // of brackets that are open
    bool in_string, escaped;
};

// Reads on in a value from *at, where its first byte is (or, with the same `scan`, the byte that follows what was read
// of it). True: it ended, and *at is behind it. False: all is read, *at is `len`, and the value goes on. The end of a
// number or a word is what follows it, a comma, a bracket or white space, so at the end of all it is not seen.
bool scan_value(struct scan *scan, const char *text, size_t *at, size_t len);

#endif
