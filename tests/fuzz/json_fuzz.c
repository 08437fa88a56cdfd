// SPDX-License-Identifier: Apache-2.0
// Documents, what is made of two of them, and pointers into them. The input: two documents and a pointer, with a byte
// 0xFF between. What the parser takes comes back the same after printing; a patch leads from the one to the other; a
// span is what the parser finds.
#include "tests/fuzz/fuzz.h"

#include "core/base/text.h"
#include "core/json/json.h"
#include "core/json/pointer.h"
#include "core/kube/object/span.h"

#include <string.h>

static struct json *parsed(struct fuzz_part part) {
    struct json *value = NULL;
    error_free(json_parse(part.text, part.len, &value));
    return value;
}

static void comes_back(const struct json *value) {
    size_t len = 0;
    AUTO_TEXT text = json_text(value, &len);
    AUTO_JSON second = text ? parsed((struct fuzz_part){text, len}) : NULL;
    if (!second || !json_equal(value, second) || json_hash(value) != json_hash(second))
        fuzz_fail("a document does not come back from its text");
    AUTO_JSON copy = json_copy(value);
    AUTO_TEXT again = json_text(copy, NULL);
    if (!json_equal(value, copy) || !text_equal(text, again))
        fuzz_fail("a copy is another document");
}

static bool has_null(const struct json *value) {
    if (json_is(value, JSON_NULL))
        return true;
    bool container = json_is(value, JSON_OBJECT) || json_is(value, JSON_ARRAY);
    for (const struct json *m = container ? json_first(value) : NULL; m; m = json_next(m))
        if (has_null(m))
            return true;
    return false;
}

static void patch_leads(const struct json *from, const struct json *to) {
    if (!json_is(from, JSON_OBJECT) || !json_is(to, JSON_OBJECT))
        return;
    bool has_array = false;
    AUTO_JSON patch = patch_diff(from, to, &has_array);
    struct json *target = json_copy(from);
    if (!patch || !target || !patch_apply(&target, patch))
        fuzz_fail("a patch cannot be made or applied");
    AUTO_JSON reached = target;
    if (!has_null(from) && !has_null(to) && !json_equal(reached, to))
        fuzz_fail("a patch does not lead to what it was made for");
    AUTO_JSON rest = patch_diff(reached, to, NULL);
    if (!rest || json_size(rest) != 0)
        fuzz_fail("after a patch there is more to patch");
    if (has_array && json_size(patch) == 0)
        fuzz_fail("an empty patch replaces an array");
}

static bool found_again(void *ctx, const char *pointer, struct json *value) {
    if (pointer_find(ctx, pointer) != value)
        fuzz_fail("a pattern's pointer leads elsewhere");
    return true;
}

static void pointers(struct json *root, struct fuzz_part part) {
    AUTO_TEXT pointer = part.len < 4096 ? strndup(part.text, part.len) : NULL;
    if (!pointer)
        return;
    struct error *error = pointer_check(pointer, true);
    if (error) {
        error_free(error);
        return;
    }
    pointer_each(root, pointer, found_again, root);
    AUTO_JSON changed = json_copy(root);
    pointer_remove_all(changed, pointer);
    error = pointer_check(pointer, false);
    if (!error && *pointer && pointer_set(changed, pointer, json_new_string("set"))) {
        const char *last = strrchr(pointer, '/');
        if (strcmp(last, "/-") != 0 && !text_equal(json_string(pointer_find(changed, pointer)), "set"))
            fuzz_fail("what was set is not there");
    }
    error_free(error);
}

static void spans(struct fuzz_part part, const struct json *value) {
    size_t len = 0;
    AUTO_TEXT stripped = span_strip(part.text, part.len, &len);
    struct span span;
    bool found = span_member(part.text, part.len, "metadata", &span);
    if (found && (span.key > span.value || span.value > span.end || span.end > part.len))
        fuzz_fail("a span is out of its text");
    if (!value || !json_is(value, JSON_OBJECT))
        return;
    if (found == !json_get(value, "metadata") && !memchr(part.text, '\\', part.len))
        fuzz_fail("span and parser disagree about a member");
    AUTO_JSON left = stripped ? parsed((struct fuzz_part){stripped, len}) : NULL;
    if (!left)
        fuzz_fail("a document cannot be read after it was stripped");
}

void fuzz_one(const uint8_t *data, size_t size) {
    struct fuzz_part one = fuzz_next_part(&data, &size), two = fuzz_next_part(&data, &size);
    AUTO_JSON first = parsed(one);
    AUTO_JSON second = parsed(two);
    spans(one, first);
    if (!first)
        return;
    comes_back(first);
    pointers(first, fuzz_next_part(&data, &size));
    if (!second)
        return;
    patch_leads(first, second);
    patch_leads(second, first);
    struct json *target = json_copy(first);
    if (!target || !patch_apply(&target, second))
        fuzz_fail("a patch cannot be applied");
    json_free(target);
}
