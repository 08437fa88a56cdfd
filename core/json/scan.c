// SPDX-License-Identifier: Apache-2.0
#include "core/json/scan.h"

#include <string.h>

// How many backslashes are before `end`, at most to `begin`.
static size_t backslashes(const char *text, size_t begin, size_t end) {
    size_t at = end;
    while (at > begin && text[at - 1] == '\\')
        at--;
    return end - at;
}

// The offset after the closing quote, or `len` if scan->in_string is still set.
static size_t scan_string(struct scan *scan, const char *text, size_t at, size_t len) {
    scan->in_string = true;
    if (scan->escaped && at < len) {
        scan->escaped = false;
        at++;
    }
    while (at < len) {
        const char *quote = memchr(text + at, '"', len - at);
        size_t end = quote ? (size_t)(quote - text) : len;
        bool escaped = backslashes(text, at, end) % 2 != 0;
        if (!quote) {
            scan->escaped = escaped;
            return len;
        }
        at = end + 1;
        if (!escaped) {
            scan->in_string = false;
            break;
        }
    }
    return at;
}

// Scans outside of strings. Returns the offset after the value's last byte; sets *ended for a complete value.
static size_t scan_nested(struct scan *scan, const char *text, size_t at, size_t len, bool *ended) {
    size_t depth = scan->depth;
    *ended = false;
    while (at < len && !*ended) {
        char c = text[at];
        if (depth == 0 && (c == ',' || c == '}' || c == ']' || scan_is_space(c))) {
            *ended = true; // after a number or a word
            break;
        }
        at++;
        if (c == '"') {
            at = scan_string(scan, text, at, len);
            *ended = !scan->in_string && depth == 0;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            *ended = --depth == 0;
        }
    }
    scan->depth = depth;
    return at;
}

bool scan_value(struct scan *scan, const char *text, size_t *at, size_t len) {
    bool ended = false;
    if (scan->in_string) {
        *at = scan_string(scan, text, *at, len);
        ended = !scan->in_string && scan->depth == 0;
    }
    if (!ended)
        *at = scan_nested(scan, text, *at, len, &ended);
    return ended;
}
