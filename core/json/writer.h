// SPDX-License-Identifier: Apache-2.0
// JSON text without values.
#pragma once

#include "core/base/buffer.h"

#include <stdint.h>

// Writes a document straight into a buffer. A key is NULL for items of arrays and for the document itself. A buffer
// that is full or out of memory is seen at the end (buffer.failed).
struct writer {
    struct buffer *out;
    bool comma; // before the next member or item
};

void writer_object(struct writer *writer, const char *key); // to be closed with writer_end(writer, '}')
void writer_array(struct writer *writer, const char *key);  // with ']'
void writer_end(struct writer *writer, char bracket);

void writer_string(struct writer *writer, const char *key, const char *text); // NULL: null
void writer_int(struct writer *writer, const char *key, int64_t value);
void writer_uint(struct writer *writer, const char *key, uint64_t value);
void writer_double(struct writer *writer, const char *key, double value); // finite
void writer_bool(struct writer *writer, const char *key, bool value);
void writer_null(struct writer *writer, const char *key);
// Seconds with up to six digits after the point.
void writer_seconds(struct writer *writer, const char *key, int64_t ns);
// metav1.Time; 0: null.
void writer_time(struct writer *writer, const char *key, int64_t wall_ns);

// The scanner finds the end of a value by nesting: fast, since without decoding or validation, and with a single scan
// of a text that arrives in pieces. Validation is left to json_parse.

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
