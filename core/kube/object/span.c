// SPDX-License-Identifier: Apache-2.0
#include "core/kube/object/span.h"

#include "core/base/buffer.h"
#include "core/json/writer.h"

#include <stdlib.h>
#include <string.h>

#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

// The offset after the value at `at`, or `len` if it is incomplete.
static size_t skip_value(const char *text, size_t at, size_t len) {
    struct scan scan = {0};
    return scan_value(&scan, text, &at, len) ? at : len;
}

// Reads the key at `at` and finds its value; false if there is none.
static bool read_key(const char *text, size_t at, size_t len, struct span *out) {
    if (at >= len || text[at] != '"')
        return false;
    out->key = at;
    size_t colon = scan_space(text, skip_value(text, at, len), len);
    if (colon >= len || text[colon] != ':')
        return false;
    out->value = scan_space(text, colon + 1, len);
    return true;
}

static bool read_end(const char *text, size_t len, struct span *out) {
    out->end = skip_value(text, out->value, len);
    return out->end > out->value && out->end < len;
}

// The offset of the bracket before the first element, or of the comma before the next one; `len` if neither is found.
static size_t before_next(const char *text, size_t len, size_t at, char bracket) {
    size_t next = scan_space(text, at, len);
    return next < len && text[next] == (at == 0 ? bracket : ',') ? next : len;
}

// The key of the next member, as span_next_member.
static bool next_key(const char *text, size_t len, size_t at, struct span *out) {
    size_t before = before_next(text, len, at, '{');
    return before < len && read_key(text, scan_space(text, before + 1, len), len, out);
}

bool span_next_member(const char *text, size_t len, size_t *at, struct span *out) {
    if (!next_key(text, len, *at, out) || !read_end(text, len, out))
        return false;
    *at = out->end;
    return true;
}

enum span_step span_next_item(const char *text, size_t len, size_t *at, struct span *out) {
    size_t next = scan_space(text, *at, len);
    if (*at > 0 && next < len && text[next] == ']')
        return SPAN_END;
    size_t before = before_next(text, len, *at, '[');
    if (before == len)
        return SPAN_BAD;
    out->value = scan_space(text, before + 1, len);
    if (*at == 0 && out->value < len && text[out->value] == ']')
        return SPAN_END;
    out->end = skip_value(text, out->value, len);
    *at = out->end;
    return out->end > out->value && out->end < len ? SPAN_ITEM : SPAN_BAD;
}

bool span_is_closed(const char *text, size_t len) {
    size_t at = scan_space(text, 0, len);
    if (at == len || (text[at] != '{' && text[at] != '['))
        return false;
    char close = text[at] == '{' ? '}' : ']';
    size_t end = skip_value(text, at, len);
    return text[end - 1] == close && end > at + 1 && scan_space(text, end, len) == len;
}

static bool is_key(const char *text, const struct span *member, const char *key, size_t len) {
    return member->value - member->key > len + 2 && memcmp(text + member->key + 1, key, len) == 0 &&
           text[member->key + 1 + len] == '"';
}

bool span_member_len(const char *text, size_t len, const char *key, size_t key_len, struct span *out) {
    size_t at = 0;
    while (span_next_member(text, len, &at, out))
        if (is_key(text, out, key, key_len))
            return true;
    return false;
}

bool span_member(const char *text, size_t len, const char *key, struct span *out) {
    return span_member_len(text, len, key, strlen(key), out);
}

// Extends a member by its comma.
static void take_comma(const char *text, size_t len, struct span *member) {
    size_t after = scan_space(text, member->end, len);
    if (after < len && text[after] == ',') {
        member->end = after + 1;
        return;
    }
    size_t before = member->key;
    while (before > 0 && scan_space(text, before - 1, before) == before)
        before--;
    if (before > 0 && text[before - 1] == ',')
        member->key = before - 1;
}

// Counts the offsets of a member inside the value of another one from the start of the text.
static void shift(struct span *member, size_t by) {
    member->key += by;
    member->value += by;
    member->end += by;
}

// The offset of the value of `key`, without finding the value's end; 0 if absent.
static size_t value_of(const char *text, size_t len, const char *key) {
    struct span member = {0};
    while (next_key(text, len, member.end, &member)) {
        if (is_key(text, &member, key, strlen(key)))
            return member.value;
        if (!read_end(text, len, &member))
            break;
    }
    return 0;
}

// The members of metadata that are stripped, in their order. Each byte is scanned once: managedFields are
// often larger than all the rest.
static size_t find_cuts(const char *text, size_t len, struct span cuts[2]) {
    size_t metadata = value_of(text, len, "metadata"), at = 0, count = 0;
    bool fields = false, annotations = false;
    struct span member;
    while (metadata > 0 && count < 2 && span_next_member(text + metadata, len - metadata, &at, &member)) {
        shift(&member, metadata);
        if (!fields && is_key(text, &member, "managedFields", strlen("managedFields"))) {
            fields = true;
            cuts[count] = member;
            take_comma(text, len, &cuts[count++]);
        } else if (!annotations && is_key(text, &member, "annotations", strlen("annotations"))) {
            annotations = true;
            if (!span_member(text + member.value, member.end - member.value, LAST_APPLIED, &cuts[count]))
                continue;
            shift(&cuts[count], member.value);
            take_comma(text, member.end, &cuts[count++]);
        }
    }
    return count;
}

char *span_strip(const char *text, size_t len, size_t *stripped) {
    struct span cuts[2];
    size_t count = find_cuts(text, len, cuts);
    size_t removed = 0;
    for (size_t i = 0; i < count; i++)
        removed += cuts[i].end - cuts[i].key;
    char *copy = malloc(len - removed + 1);
    if (!copy)
        return NULL;
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

#define PATH_MAX_LEN ((size_t)256)

struct pruning {
    const char *const *kept[2]; // lists of patterns; NULL: none
    size_t max;                 // of a value; 0: none
    char path[PATH_MAX_LEN];    // of the value at hand: "/spec/containers"
    size_t path_len;
    struct buffer out;
};

enum match { DROPPED, ENTERED, TAKEN };

// Adds a segment to the path and searches the path. *before is the path_len to restore afterwards.
static enum match enter(struct pruning *pruning, const char *segment, size_t len, size_t *before) {
    size_t at = *before = pruning->path_len;
    if (at + 1 + len >= PATH_MAX_LEN)
        return DROPPED;
    pruning->path[at] = '/';
    memcpy(pruning->path + at + 1, segment, len);
    pruning->path_len = at += 1 + len;
    enum match best = DROPPED;
    for (size_t i = 0; i < 2; i++)
        for (const char *const *kept = pruning->kept[i]; kept && *kept; kept++) {
            size_t whole = strlen(*kept);
            if (strncmp(*kept, pruning->path, at < whole ? at : whole) != 0)
                continue;
            if (at == whole || (at > whole && (*kept)[whole - 1] == '/'))
                return TAKEN;
            if (at < whole && (*kept)[at] == '/')
                best = ENTERED;
        }
    return best;
}

static bool put_value(struct pruning *pruning, const char *text, size_t len, enum match match);

static bool is_too_long(const struct pruning *pruning, const char *text, size_t len, enum match match) {
    bool whole = match == TAKEN || (*text != '{' && *text != '[');
    return whole && pruning->max > 0 && (len > pruning->max || pruning->out.len > PRUNE_VALUES * pruning->max);
}

static bool put_member(struct pruning *pruning, const char *text, const struct span *member, bool *first) {
    const char *key = text + member->key + 1;
    const char *end = memchr(key, '"', member->value - member->key - 1);
    size_t before = 0;
    if (!end)
        return false;
    enum match match = enter(pruning, key, (size_t)(end - key), &before);
    bool ok = true;
    if (match != DROPPED && !is_too_long(pruning, text + member->value, member->end - member->value, match)) {
        if (!*first)
            buffer_char(&pruning->out, ',');
        *first = false;
        buffer_append(&pruning->out, key - 1, (size_t)(end - key) + 2);
        buffer_char(&pruning->out, ':');
        ok = put_value(pruning, text + member->value, member->end - member->value, match);
    }
    pruning->path_len = before;
    return ok;
}

// Whether the text ends with the bracket after `at`.
static bool is_closed(const char *text, size_t len, size_t at, char bracket) {
    size_t end = scan_space(text, at > 0 ? at : 1, len);
    return end < len && text[end] == bracket;
}

static bool put_object(struct pruning *pruning, const char *text, size_t len) {
    struct span member;
    size_t at = 0;
    bool first = true;
    buffer_char(&pruning->out, '{');
    while (span_next_member(text, len, &at, &member))
        if (!put_member(pruning, text, &member, &first))
            return false;
    buffer_char(&pruning->out, '}');
    return is_closed(text, len, at, '}');
}

static bool put_array(struct pruning *pruning, const char *text, size_t len) {
    struct span item;
    size_t at = 0, before = 0;
    enum match match = enter(pruning, "*", 1, &before);
    enum span_step step = SPAN_END;
    bool first = true, ok = true;
    buffer_char(&pruning->out, '[');
    while (ok && match != DROPPED && (step = span_next_item(text, len, &at, &item)) == SPAN_ITEM) {
        if (!first)
            buffer_char(&pruning->out, ',');
        first = false;
        ok = put_value(pruning, text + item.value, item.end - item.value, match);
    }
    buffer_char(&pruning->out, ']');
    pruning->path_len = before;
    return ok && step == SPAN_END;
}

static bool put_value(struct pruning *pruning, const char *text, size_t len, enum match match) {
    if (match == ENTERED && *text == '{')
        return put_object(pruning, text, len);
    if (match == ENTERED && *text == '[')
        return put_array(pruning, text, len);
    return buffer_append(&pruning->out, text, len);
}

char *prune_text(const char *text, size_t len, const char *const *kept, const char *const *more, size_t max,
                 size_t *pruned) {
    struct pruning pruning = {.kept = {kept, more}, .max = max};
    size_t begin = scan_space(text, 0, len);
    buffer_init(&pruning.out, len + 2);
    if (begin < len && text[begin] == '{' && put_object(&pruning, text + begin, len - begin) && !pruning.out.failed)
        return buffer_take(&pruning.out, pruned);
    buffer_free(&pruning.out);
    return NULL;
}
