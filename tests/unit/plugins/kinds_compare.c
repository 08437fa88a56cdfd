// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/plugins/kinds.h"

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/json/pointer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POINTER_MAX 4096
#define SHOWN_MAX 300

void kinds_fail(const struct tale *tale, const char *format, ...) {
    char sentence[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    if (tale->file)
        fail_msg("%s:%zu: %s", tale->file, tale->line, sentence);
    if (tale->step)
        fail_msg("%s/%s/%s.yaml:%zu: %s", KINDS_FIXTURES, tale->fixture->plural, tale->story->name, tale->step->line,
                 sentence);
    fail_msg("%s/%s: %s", KINDS_FIXTURES, tale->fixture->plural, sentence);
    abort();
}

static bool is_time(const struct json *value) {
    int64_t ns = 0;
    return json_string(value) && clock_parse_rfc3339(json_string(value), &ns);
}

// The first place where both differ, appended to `path`, and the two values there. False if they are the same.
static bool differ(const struct json **found, const struct json **expected, struct buffer *path) {
    const struct json *a = *found, *b = *expected;
    if (json_equal(a, b) || (text_equal(json_string(b), "now") && is_time(a)))
        return false;
    bool objects = json_is(a, JSON_OBJECT) && json_is(b, JSON_OBJECT);
    if (!objects && !(json_is(a, JSON_ARRAY) && json_is(b, JSON_ARRAY) && json_size(a) == json_size(b)))
        return true;
    size_t len = path->len, index = 0;
    for (const struct json *m = json_first(b); m; m = json_next(m), index++) {
        *expected = m;
        *found = objects ? json_get(a, json_key(m)) : json_at(a, index);
        if (objects)
            pointer_append(path, json_key(m));
        else
            buffer_printf(path, "/%zu", index);
        if (differ(found, expected, path))
            return true;
        path->data[path->len = len] = '\0';
    }
    for (const struct json *m = json_first(objects ? a : NULL); m; m = json_next(m)) {
        if (json_get(b, json_key(m)))
            continue;
        *found = m;
        *expected = NULL;
        pointer_append(path, json_key(m));
        return true;
    }
    return false;
}

void kinds_expect_same(const struct tale *tale, const char *what, const struct json *found,
                       const struct json *expected) {
    AUTO_BUFFER(path, POINTER_MAX);
    assert_true(buffer_text(&path, ""));
    if (!differ(&found, &expected, &path))
        return;
    AUTO_TEXT here = found ? json_text(found, NULL) : strdup("nothing");
    AUTO_TEXT there = expected ? json_text(expected, NULL) : strdup("nothing");
    kinds_fail(tale, "%s%s: found %.*s, expected %.*s", what, path.data, SHOWN_MAX, here, SHOWN_MAX, there);
}

// managedBy at any depth: no controller of the worker would reconcile a mirror that has it.
static void check_no_managed_by(const struct tale *tale, const struct json *value) {
    for (const struct json *m = json_first(value); m; m = json_next(m)) {
        if (json_key(m) && strcmp(json_key(m), "managedBy") == 0)
            kinds_fail(tale, "the mirror has a field managedBy (%s)", json_string_or(m, "no string"));
        check_no_managed_by(tale, m);
    }
}

static bool report(void *ctx, const char *pointer, struct json *value) {
    (void)value;
    kinds_fail(ctx, "the mirror has %s, which is to be removed", pointer);
}

void kinds_check_mirror(const struct tale *tale, const struct json *mirror) {
    static const char *const foreign[] = {"ownerReferences", "finalizers", "managedFields"};
    const struct json *metadata = json_get(mirror, "metadata");
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (json_get(metadata, foreign[i]))
            kinds_fail(tale, "the mirror has metadata.%s", foreign[i]);
    if (json_path(metadata, "annotations", "kubectl.kubernetes.io/last-applied-configuration", NULL))
        kinds_fail(tale, "the mirror has what kubectl applied to the workload");
    if (pointer_find(mirror, tale->kind->abi.managed_by))
        kinds_fail(tale, "the mirror has %s", tale->kind->abi.managed_by);
    check_no_managed_by(tale, mirror);
    for (const char *const *p = tale->kind->abi.removed; p && *p; p++)
        assert_true(pointer_each(mirror, *p, report, (void *)(uintptr_t)tale));
}

static void remove_private(struct json *metadata, const char *map) {
    struct json *keys = json_get(metadata, map);
    for (struct json *m = json_first(keys), *next; m; m = next) {
        next = json_next(m);
        if (mirror_key_is_private(json_key(m)))
            json_remove_child(keys, m);
    }
    if (keys && json_size(keys) == 0)
        json_remove(metadata, map);
}

struct json *kinds_bare(const struct json *mirror) {
    struct json *bare = json_copy(mirror);
    assert_non_null(bare);
    struct json *metadata = json_get(bare, "metadata");
    for (struct json *m = json_first(metadata), *next; m; m = next) {
        next = json_next(m);
        if (strcmp(json_key(m), "labels") != 0 && strcmp(json_key(m), "annotations") != 0)
            json_remove_child(metadata, m);
    }
    remove_private(metadata, "labels");
    remove_private(metadata, "annotations");
    if (metadata && json_size(metadata) == 0)
        json_remove(bare, "metadata");
    json_remove(bare, "status");
    return bare;
}
