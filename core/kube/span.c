// SPDX-License-Identifier: Apache-2.0
#include "core/kube/span.h"

#include <stdlib.h>
#include <string.h>

static size_t skip_space(const char *text, size_t at, size_t len) {
    while (at < len && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t')) {
        at++;
    }
    return at;
}

// `at` is behind the opening quote. The offset behind the closing one, or `len`.
static size_t skip_string(const char *text, size_t at, size_t len) {
    while (at < len) {
        const char *quote = memchr(text + at, '"', len - at);
        if (quote == NULL) {
            return len;
        }
        size_t end = (size_t)(quote - text), escapes = end;
        while (escapes > at && text[escapes - 1] == '\\') {
            escapes--;
        }
        at = end + 1;
        if ((end - escapes) % 2 == 0) {
            return at;
        }
    }
    return len;
}

// The offset behind the value at `at`, or `len` if it does not end.
static size_t skip_value(const char *text, size_t at, size_t len) {
    size_t depth = 0;
    while (at < len) {
        char c = text[at];
        if (c == '"') {
            at = skip_string(text, at + 1, len);
            if (depth == 0) {
                return at;
            }
            continue;
        }
        if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            if (depth == 0) {
                return at; // behind a number or a word
            }
            if (--depth == 0) {
                return at + 1;
            }
        } else if (depth == 0 && (c == ',' || c == ' ' || c == '\n' || c == '\r' || c == '\t')) {
            return at;
        }
        at++;
    }
    return len;
}

// Reads the member whose key is at `at`; false if there is none.
static bool read_member(const char *text, size_t at, size_t len, struct span *out) {
    if (at >= len || text[at] != '"') {
        return false;
    }
    out->key = at;
    size_t colon = skip_space(text, skip_string(text, at + 1, len), len);
    if (colon >= len || text[colon] != ':') {
        return false;
    }
    out->value = skip_space(text, colon + 1, len);
    out->end = skip_value(text, out->value, len);
    return out->end > out->value && out->end < len;
}

bool span_member(const char *text, size_t len, const char *key, struct span *out) {
    size_t key_len = strlen(key);
    size_t at = skip_space(text, 0, len);
    if (at >= len || text[at] != '{') {
        return false;
    }
    do {
        at = skip_space(text, at + 1, len);
        if (!read_member(text, at, len, out)) {
            return false;
        }
        if (out->end - out->key > key_len + 1 && memcmp(text + out->key + 1, key, key_len) == 0 &&
            text[out->key + 1 + key_len] == '"') {
            return true;
        }
        at = skip_space(text, out->end, len);
    } while (at < len && text[at] == ',');
    return false;
}

// Widens a member by the comma that goes with it.
static void take_comma(const char *text, size_t len, struct span *member) {
    size_t after = skip_space(text, member->end, len);
    if (after < len && text[after] == ',') {
        member->end = after + 1;
        return;
    }
    size_t before = member->key;
    while (before > 0 && skip_space(text, before - 1, before) == before) {
        before--;
    }
    if (before > 0 && text[before - 1] == ',') {
        member->key = before - 1;
    }
}

// A member inside the value of another one; offsets count from the start of the text.
static bool member_in(const char *text, const struct span *outer, const char *key, struct span *out) {
    if (!span_member(text + outer->value, outer->end - outer->value, key, out)) {
        return false;
    }
    out->key += outer->value;
    out->value += outer->value;
    out->end += outer->value;
    return true;
}

char *span_strip(const char *text, size_t len, size_t *stripped) {
    struct span metadata, annotations, cuts[2];
    size_t count = 0;
    if (span_member(text, len, "metadata", &metadata)) {
        if (member_in(text, &metadata, "annotations", &annotations) &&
            member_in(text, &annotations, "kubectl.kubernetes.io/last-applied-configuration", &cuts[count])) {
            take_comma(text, annotations.end, &cuts[count++]);
        }
        if (member_in(text, &metadata, "managedFields", &cuts[count])) {
            take_comma(text, metadata.end, &cuts[count++]);
        }
    }
    if (count == 2 && cuts[0].key > cuts[1].key) {
        struct span later = cuts[0];
        cuts[0] = cuts[1];
        cuts[1] = later;
    }
    size_t removed = 0;
    for (size_t i = 0; i < count; i++) {
        removed += cuts[i].end - cuts[i].key;
    }
    char *copy = malloc(len - removed + 1);
    if (copy == NULL) {
        return NULL;
    }
    size_t from = 0, to = 0;
    for (size_t i = 0; i < count; i++) {
        memcpy(copy + to, text + from, cuts[i].key - from);
        to += cuts[i].key - from;
        from = cuts[i].end;
    }
    memcpy(copy + to, text + from, len - from);
    *stripped = to + len - from;
    copy[*stripped] = '\0';
    return copy;
}
