// SPDX-License-Identifier: Apache-2.0
// core/json with each allocation failing.
#include "core/base/text.h"
#include "core/json/json.h"
#include "core/json/pointer.h"
#include "core/json/yaml.h"
#include "tests/unit/fault/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FROM "{\"a\":{\"b\":[1,2,{\"c\":\"\\u0000x\"}],\"k\":\"v\"},\"n\":9007199254740993,\"gone\":true,\"l\":[]}"
#define TO "{\"a\":{\"b\":[1,2],\"k\":\"w\",\"new\":{\"deep\":{\"er\":1.0}}},\"n\":9007199254740994,\"l\":[1e400]}"
#define YAML                                                                                                           \
    "base: &base {x: 1, w: [a, b]}\nmore:\n  <<: *base\n  z: \"q\\u00e9\"\nlist:\n- *base\n- |\n  text\n- 1_000\n- "   \
    "~\n"

static struct json *from, *to; // made before anything fails

static int setup(void **state) {
    (void)state;
    struct error *error = json_parse(FROM, strlen(FROM), &from);
    if (!error)
        error = json_parse(TO, strlen(TO), &to);
    error_free(error);
    return from && to ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    json_free(from);
    json_free(to);
    return 0;
}

static void drop_json(void *value) {
    json_free(value);
}

static struct error *given(void **out, void *value) {
    *out = value;
    return value ? NULL : error_no_memory();
}

static struct error *parse(void **out) {
    struct json *value = NULL;
    struct error *error = json_parse(FROM, strlen(FROM), &value);
    *out = value;
    return error;
}

static bool is_from(const void *value) {
    return json_equal(value, from);
}

static bool is_to(const void *value) {
    return json_equal(value, to);
}

static struct error *copy(void **out) {
    return given(out, json_copy(from));
}

static struct error *print(void **out) {
    return given(out, json_text(from, NULL));
}

static bool is_from_text(const void *text) {
    return strcmp(text, FROM) == 0;
}

static struct error *diff(void **out) {
    return given(out, patch_diff(from, to, NULL));
}

static bool leads_from_to(const void *patch) {
    struct json *target = json_copy(from);
    bool right = patch_apply(&target, patch) && json_equal(target, to);
    json_free(target);
    return right;
}

static struct error *apply(void **out) {
    fault_pause();
    struct json *target = json_copy(from), *patch = patch_diff(from, to, NULL);
    fault_resume();
    bool done = patch_apply(&target, patch);
    json_free(patch);
    *out = target;
    if (done)
        return NULL;
    json_free(target);
    return error_no_memory();
}

static struct error *set(void **out) {
    fault_pause();
    struct json *root = json_copy(from);
    fault_resume();
    *out = root;
    if (pointer_set(root, "/x~1y/z", json_new_string("deep")) && pointer_set(root, "/a/b/-", json_new_int64(7)))
        return NULL;
    json_free(root);
    return error_no_memory();
}

static bool is_set(const void *root) {
    const char *text = json_string(pointer_find(root, "/x~1y/z"));
    return text && strcmp(text, "deep") == 0 && json_int64(pointer_find(root, "/a/b/3"), 0) == 7;
}

static bool count_visit(void *ctx, const char *pointer, struct json *value) {
    (void)pointer;
    (void)value;
    ++*(size_t *)ctx;
    return true;
}

static struct error *each(void **out) {
    static size_t count;
    count = 0;
    *out = &count;
    return pointer_each(from, "/a/*", count_visit, &count) ? NULL : error_no_memory();
}

static bool is_two(const void *count) {
    return *(const size_t *)count == 2;
}

static struct error *read_yaml(void **out) {
    struct yaml yaml = {.value = NULL};
    struct error *error = yaml_parse("a.yaml", YAML, strlen(YAML), &yaml);
    *out = yaml.value;
    return error;
}

static bool is_yaml(const void *value) {
    return json_int64(pointer_find(value, "/more/x"), 0) == 1 && json_size(pointer_find(value, "/list")) == 4 &&
           json_int64(pointer_find(value, "/list/2"), 0) == 1000 && json_size(pointer_find(value, "/list/0/w")) == 2;
}

static struct error *print_yaml(void **out) {
    struct buffer text;
    buffer_init(&text, 1 << 16);
    char *taken = yaml_print(from, &text) ? buffer_take(&text, NULL) : NULL;
    buffer_free(&text);
    return given(out, taken);
}

#define WIDE 200

// An index is a help, which may fail to be made or to grow: what is there is found all the same.
static struct error *look_up_in_wide_ones(void **out) {
    fault_pause();
    struct json *root = json_new_object();
    bool made = json_set(root, "object", json_new_object()) && json_set(root, "array", json_new_array());
    char pointer[32];
    for (int i = 0; made && i < WIDE; i++) {
        struct json *item = json_new_object();
        snprintf(pointer, sizeof pointer, "/object/k%d", i);
        made = pointer_set(root, pointer, json_new_int64(i)) && json_set(item, "name", json_new_string(pointer)) &&
               json_append(json_get(root, "array"), item);
    }
    struct json *copy = made ? json_copy(root) : NULL;
    json_free(root);
    fault_resume();
    *out = copy;
    struct json *object = json_get(copy, "object"), *array = json_get(copy, "array");
    for (int i = 0; i < 2 * WIDE; i++) {
        int at = WIDE - 1 - i % WIDE;
        snprintf(pointer, sizeof pointer, "/object/k%d", at);
        const struct json *item = json_find_item(array, "name", pointer);
        made = made && json_int64(json_get(object, pointer + 8), -1) == at && item &&
               item == json_at(array, (size_t)at) && !json_find_item(array, "name", "none");
        snprintf(pointer, sizeof pointer, "more%d", i);
        if (!made || !json_set(object, pointer, json_new_null()) || !json_append(array, json_new_null())) {
            json_free(copy);
            return made ? error_no_memory() : error_new(ERROR_INTERNAL, "something is not found");
        }
    }
    return NULL;
}

static bool has_all(const void *value) {
    return json_size(json_get(value, "object")) == (size_t)3 * WIDE &&
           json_size(json_get(value, "array")) == (size_t)3 * WIDE;
}

static struct error *index_items(void **out) {
    fault_pause();
    struct json *array = NULL;
    const char *text = "[{\"name\":\"a\"},{\"name\":\"b\"}]";
    struct error *error = json_parse(text, strlen(text), &array);
    fault_resume();
    struct json_index index;
    bool made = !error && json_index_init(&index, array, "name");
    if (made)
        json_index_free(&index);
    *out = array;
    if (made)
        return NULL;
    json_free(array);
    return error ? error : error_no_memory();
}

static void an_allocation_that_fails_is_an_error_and_nothing_else(void **state) {
    (void)state;
    static const struct fault_case cases[] = {
        {"json_parse", parse, is_from, drop_json},
        {"json_copy", copy, is_from, drop_json},
        {"json_text", print, is_from_text, free},
        {"patch_diff", diff, leads_from_to, drop_json},
        {"patch_apply", apply, is_to, drop_json},
        {"pointer_set", set, is_set, drop_json},
        {"pointer_each", each, is_two, NULL},
        {"yaml_parse", read_yaml, is_yaml, drop_json},
        {"yaml_print", print_yaml, NULL, free},
        {"json_get, json_at, json_find_item", look_up_in_wide_ones, has_all, drop_json},
        {"json_index_init", index_items, NULL, drop_json},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        fault_try(&cases[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_allocation_that_fails_is_an_error_and_nothing_else)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
