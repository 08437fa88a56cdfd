// SPDX-License-Identifier: Apache-2.0
#include "tests/world/strict.h"

static bool is_empty(const struct json *value) {
    return json_is(value, JSON_NULL) || (json_is(value, JSON_NUMBER) && json_int64(value, 1) == 0) ||
           (json_is(value, JSON_STRING) && !*json_string_or(value, "x")) ||
           (json_is(value, JSON_ARRAY) && json_size(value) == 0);
}

static void compare(const struct json *before, const struct json *after, struct buffer *path, struct buffer *out) {
    for (const struct json *member = json_first(before); member; member = json_next(member)) {
        const struct json *kept = json_get(after, json_key(member));
        size_t len = path->len;
        if (!buffer_printf(path, "%s%s", len ? "." : "", json_key(member)))
            world_oom();
        if (!kept && !is_empty(member))
            buffer_printf(out, "%sunknown field \"%s\"", out->len ? ", " : "", path->data);
        else if (json_is(member, JSON_OBJECT) && json_is(kept, JSON_OBJECT))
            compare(member, kept, path, out);
        path->len = len;
    }
}

void strict_unknown(const struct json *before, const struct json *after, struct buffer *out) {
    AUTO_BUFFER(path, (size_t)1 << 20);
    compare(before, after, &path, out);
}
