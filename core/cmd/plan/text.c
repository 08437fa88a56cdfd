// SPDX-License-Identifier: Apache-2.0
// Output: comments and YAML documents.
#include "core/base/memory.h"
#include "core/cmd/plan/plan_internal.h"

#include <stdlib.h>
#include <string.h>

#define VALUE_MAX 160 // bytes of a value that a comment shows

void plan_comment(struct buffer *out, const char *format, ...) {
    AUTO_BUFFER(text, (size_t)1 << 20);
    va_list args;
    va_start(args, format);
    bool written = buffer_vprintf(&text, format, args);
    va_end(args);
    buffer_text(out, "# ");
    text_show(out, written ? text.data : "(too long to print)");
    buffer_char(out, '\n');
}

// The value as JSON, truncated if it is long.
static void show(const struct json *value, char out[VALUE_MAX + 4]) {
    AUTO_TEXT text = json_text(value, NULL);
    text_copy(out, VALUE_MAX, !text ? "?" : text);
    if (text && strlen(text) >= VALUE_MAX)
        memcpy(out + strlen(out), "...", sizeof("..."));
}

void plan_comment_change(struct buffer *out, const char *label, const struct plan_change *change, const char *why) {
    char from[VALUE_MAX + 4] = "", to[VALUE_MAX + 4] = "";
    if (change->from)
        show(change->from, from);
    if (change->to)
        show(change->to, to);
    const char *arrow = change->from && change->to ? " -> " : "";
    plan_comment(out, "%s %s: %s%s%s%s%s%s", label, change->pointer, from, arrow, to, why ? " (" : "", why ? why : "",
                 why ? ")" : "");
}

static bool put(struct json *to, const struct json *from, const char *key) {
    const struct json *member = json_get(from, key);
    return !member || json_set(to, key, json_copy(member));
}

bool plan_order(struct json **value) {
    static const char *const first[] = {"apiVersion", "kind", "metadata"};
    AUTO_JSON ordered = json_new_object();
    bool ok = ordered;
    for (size_t i = 0; ok && i < sizeof(first) / sizeof(first[0]); i++)
        ok = put(ordered, *value, first[i]);
    for (const struct json *member = json_first(*value); ok && member; member = json_next(member))
        ok = json_get(ordered, json_key(member)) || json_set(ordered, json_key(member), json_copy(member));
    if (!ok)
        return false;
    json_free(*value);
    *value = TAKE(ordered);
    return true;
}
