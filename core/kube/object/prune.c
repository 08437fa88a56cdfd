// SPDX-License-Identifier: Apache-2.0
#include "core/kube/object/prune.h"

#include "core/base/buffer.h"
#include "core/json/scan.h"
#include "core/kube/object/span.h"

#include <string.h>

#define PATH_MAX_LEN ((size_t)256)

struct pruning {
    const char *const *kept;
    size_t max;              // of a value; 0: none
    char path[PATH_MAX_LEN]; // of the value at hand: "/spec/containers"
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
    for (const char *const *kept = pruning->kept; *kept; kept++) {
        size_t whole = strlen(*kept);
        if (strncmp(*kept, pruning->path, at < whole ? at : whole) != 0)
            continue;
        if (at == whole || (at > whole && (*kept)[whole - 1] == '/'))
            return TAKEN;
        if (at > whole)
            continue;
        if ((*kept)[at] == '/')
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

char *prune_text(const char *text, size_t len, const char *const *kept, size_t max, size_t *pruned) {
    struct pruning pruning = {.kept = kept, .max = max};
    size_t begin = scan_space(text, 0, len);
    buffer_init(&pruning.out, len + 2);
    if (begin < len && text[begin] == '{' && put_object(&pruning, text + begin, len - begin) && !pruning.out.failed)
        return buffer_take(&pruning.out, pruned);
    buffer_free(&pruning.out);
    return NULL;
}
