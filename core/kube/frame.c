// SPDX-License-Identifier: Apache-2.0
#include "core/kube/reflector.h"

static bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

// The offset behind the closing quote, or `len`.
static size_t skip_string(struct frame_scanner *scanner, const char *bytes, size_t at, size_t len) {
    bool escaped = scanner->escaped;
    while (at < len) {
        char c = bytes[at++];
        if (escaped) {
            escaped = false;
        } else if (c == '\\') {
            escaped = true;
        } else if (c == '"') {
            scanner->in_string = false;
            break;
        }
    }
    scanner->escaped = escaped;
    return at;
}

// The offset of the first bracket, or `len`.
static size_t skip_space(struct frame_scanner *scanner, const char *bytes, size_t at, size_t len, bool *bad) {
    while (at < len && is_space(bytes[at]))
        at++;
    if (at < len) {
        scanner->started = bytes[at] == '{' || bytes[at] == '[';
        *bad = !scanner->started;
    }
    return at;
}

size_t frame_next(struct frame_scanner *scanner, const char *bytes, size_t len, bool *bad) {
    size_t at = scanner->scanned;
    *bad = false;
    if (!scanner->started)
        at = skip_space(scanner, bytes, at, len, bad);
    while (scanner->started && at < len) {
        if (scanner->in_string) {
            at = skip_string(scanner, bytes, at, len);
            continue;
        }
        char c = bytes[at++];
        if (c == '"') {
            scanner->in_string = true;
        } else if (c == '{' || c == '[') {
            scanner->depth++;
        } else if ((c == '}' || c == ']') && --scanner->depth == 0) {
            *scanner = (struct frame_scanner){0};
            return at;
        }
    }
    scanner->scanned = at;
    return 0;
}
