// SPDX-License-Identifier: Apache-2.0
// Every operation on JSON is about linear in the size of the document: four times the members are four times the
// steps. A quadratic one takes sixteen times as many.
#include "core/base/text.h"
#include "core/json/json.h"
#include "core/json/pointer.h"
#include "core/json/yaml.h"
#include "core/kube/object/object.h"
#include "tests/support/steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FEW ((size_t)10000)
#define MANY ((size_t)40000)
#define RATIO 5 // 4, and room for tables that double

struct documents {
    size_t count;
    struct json *object;   // {"k0": {"n": 0}, ...}
    struct json *backward; // its members in the opposite order
    struct json *other;    // its keys with other values, in no order
    struct json *array;    // [{"name": "k0"}, ...]
    char *text;            // of `object`
    char *doubled;         // its members twice
    char *escaped;         // keys with "/" and "~"
    char *yaml;
};

// The i-th number below count in no order; `count` is no multiple of 7.
static size_t scattered(size_t i, size_t count) {
    return i * 7 % count;
}

// Appends `member` with the number for each '#'.
static void add(struct buffer *out, const char *member, size_t number) {
    for (; *member; member++)
        if (*member == '#')
            buffer_printf(out, "%zu", number);
        else
            buffer_char(out, *member);
}

// "<open>member,member...<close>", from the last to the first if `backward`.
static char *text_of(const char *open, const char *member, size_t count, bool backward, const char *close) {
    struct buffer out;
    buffer_init(&out, (size_t)1 << 28);
    buffer_text(&out, open);
    for (size_t i = 0; i < count; i++)
        add(&out, member, backward ? count - 1 - i : i);
    if (out.data[out.len - 1] == ',')
        buffer_truncate(&out, out.len - 1);
    buffer_text(&out, close);
    return buffer_take(&out, NULL);
}

static struct json *parsed(char *text) {
    struct json *value = NULL;
    assert_null(json_parse(text, strlen(text), &value));
    free(text);
    return value;
}

static void make(struct documents *d, size_t count) {
    d->count = count;
    d->text = text_of("{", "\"k#\":{\"n\":#},", count, false, "}");
    d->object = parsed(strdup(d->text));
    d->backward = parsed(text_of("{", "\"k#\":{\"n\":#},", count, true, "}"));
    d->other = json_new_object();
    for (size_t i = 0; i < count; i++) {
        char key[32];
        snprintf(key, sizeof key, "k%zu", scattered(i, count));
        assert_true(json_set(d->other, key, json_new_int64((int64_t)i)));
    }
    d->array = parsed(text_of("[", "{\"name\":\"k#\"},", count, false, "]"));
    AUTO_TEXT once = text_of("{", "\"k#\":1,", count, false, ",");
    d->doubled = text_of(once, "\"k#\":2,", count, true, "}");
    d->escaped = text_of("{", "\"k/~#\":1,", count, false, "}");
    d->yaml = text_of("", "k#: [#]\n", count, false, "");
}

static void drop(struct documents *d) {
    json_free(d->object);
    json_free(d->backward);
    json_free(d->other);
    json_free(d->array);
    free(d->text);
    free(d->doubled);
    free(d->escaped);
    free(d->yaml);
}

static void parse_text(const char *text) {
    AUTO_JSON value = NULL;
    assert_null(json_parse(text, strlen(text), &value));
}

static void parse(void *ctx) {
    parse_text(((struct documents *)ctx)->text);
}

static void parse_duplicates(void *ctx) {
    parse_text(((struct documents *)ctx)->doubled);
}

static void parse_yaml(void *ctx) {
    const struct documents *d = ctx;
    struct yaml yaml;
    assert_null(yaml_parse("a.yaml", d->yaml, strlen(d->yaml), &yaml));
    assert_int_equal(json_size(yaml.value), d->count);
    yaml_cleanup(&yaml);
}

static void print(void *ctx) {
    AUTO_TEXT text = json_text(((struct documents *)ctx)->object, NULL);
    assert_non_null(text);
}

static void copy(void *ctx) {
    AUTO_JSON value = json_copy(((struct documents *)ctx)->object);
    assert_non_null(value);
}

static void equal(void *ctx) {
    const struct documents *d = ctx;
    assert_true(json_equal(d->object, d->object));
    assert_true(json_equal(d->object, d->backward));
    assert_true(json_equal(d->backward, d->object));
    assert_false(json_equal(d->object, d->other));
    assert_true(json_equal(d->array, d->array));
}

static void hash(void *ctx) {
    const struct documents *d = ctx;
    assert_true(json_hash(d->object) == json_hash(d->backward));
}

static void diff_and_apply(const struct json *from, const struct json *to) {
    AUTO_JSON reached = json_copy(from);
    AUTO_JSON patch = patch_diff(from, to, NULL);
    assert_non_null(patch);
    assert_true(patch_apply(&reached, patch));
    assert_true(json_equal(reached, to));
}

static void diff(void *ctx) {
    const struct documents *d = ctx;
    AUTO_JSON empty = json_new_object();
    diff_and_apply(d->object, d->other);
    diff_and_apply(d->other, d->backward);
    diff_and_apply(d->object, d->backward);
    diff_and_apply(empty, d->object);
    diff_and_apply(d->object, empty);
}

// A patch of objects in an array's place, or below others.
static void apply_nested(void *ctx) {
    const struct documents *d = ctx;
    AUTO_JSON target = json_new_object();
    AUTO_JSON patch = json_new_object();
    assert_true(json_set(target, "status", json_copy(d->object)));
    assert_true(json_set(patch, "status", json_copy(d->backward)));
    assert_true(patch_apply(&target, patch));
}

static void set_many(void *ctx) {
    const struct documents *d = ctx;
    AUTO_JSON object = json_new_object();
    char key[32];
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < d->count; i++) {
            snprintf(key, sizeof key, "k%zu", scattered(i, d->count));
            assert_true(json_set(object, key, json_new_null()));
        }
    }
    assert_int_equal(json_size(object), d->count);
    for (size_t i = 0; i < d->count; i++) {
        snprintf(key, sizeof key, "k%zu", i);
        assert_non_null(json_get(object, key));
        assert_true(json_replace(object, json_get(object, key), json_new_null()));
        assert_true(json_remove(object, key));
    }
    assert_null(json_first(object));
}

static void detach_many(void *ctx) {
    const struct documents *d = ctx;
    AUTO_JSON object = json_copy(d->object);
    char key[32];
    for (size_t i = d->count; i-- > 0;) {
        snprintf(key, sizeof key, "k%zu", i);
        json_free(json_detach(object, key));
    }
    assert_null(json_first(object));
}

static void take_content(void *ctx) {
    const struct documents *d = ctx;
    AUTO_JSON into = json_copy(d->other);
    AUTO_JSON from = json_copy(d->object);
    assert_true(json_take_content(into, from));
    AUTO_JSON items = json_new_array();
    AUTO_JSON array = json_copy(d->array);
    assert_true(json_take_content(items, array));
}

static void every_position(void *ctx) {
    const struct documents *d = ctx;
    AUTO_JSON array = json_copy(d->array);
    for (size_t i = 0; i < json_size(array); i++)
        assert_non_null(json_at(array, scattered(i, d->count)));
    for (size_t i = 0; i < d->count; i++)
        assert_true(json_replace(array, json_at(array, i), json_new_null()));
    for (size_t i = d->count; i-- > 0;)
        json_remove_child(array, json_at(array, i));
    assert_null(json_first(array));
}

static bool count_visit(void *ctx, const char *pointer, struct json *value) {
    ++*(size_t *)ctx;
    return pointer && value;
}

static void pointer_all(void *ctx) {
    const struct documents *d = ctx;
    size_t seen = 0;
    assert_true(pointer_each(d->object, "/*/n", count_visit, &seen));
    assert_true(pointer_each(d->array, "/*/name", count_visit, &seen));
    assert_int_equal(seen, 2 * d->count);
    AUTO_JSON object = json_copy(d->object);
    assert_int_equal(pointer_remove_all(object, "/*/n"), d->count);
    assert_int_equal(pointer_remove_all(object, "/*"), d->count);
}

static void pointer_one_by_one(void *ctx) {
    const struct documents *d = ctx;
    AUTO_JSON root = json_new_object();
    AUTO_JSON escaped = parsed(strdup(d->escaped));
    char pointer[64];
    for (size_t i = 0; i < d->count; i++) {
        snprintf(pointer, sizeof pointer, "/labels/k%zu", i);
        assert_true(pointer_set(root, pointer, json_new_null()));
        assert_true(pointer_set(root, "/list", json_new_array()) || i > 0);
        snprintf(pointer, sizeof pointer, "/k~1~0%zu", i);
        assert_non_null(pointer_find(escaped, pointer));
        assert_true(pointer_set(escaped, pointer, json_new_null()));
    }
    for (size_t i = 0; i < d->count; i++)
        assert_true(pointer_set(root, "/list/-", json_new_null()));
    for (size_t i = d->count; i-- > 0;) {
        snprintf(pointer, sizeof pointer, "/list/%zu", i);
        assert_true(pointer_set(root, pointer, json_new_bool(true)));
        assert_true(pointer_remove(root, pointer));
        snprintf(pointer, sizeof pointer, "/labels/k%zu", i);
        assert_true(pointer_remove(root, pointer));
    }
}

static void items_by_name(void *ctx) {
    const struct documents *d = ctx;
    struct json_index index;
    char name[32];
    assert_true(json_index_init(&index, d->array, "name"));
    for (size_t i = 0; i < d->count; i++) {
        snprintf(name, sizeof name, "k%zu", scattered(i, d->count));
        const struct json_place *place = json_index_find(&index, name);
        assert_non_null(place);
        assert_int_equal(place->at, scattered(i, d->count));
    }
    json_index_free(&index);
}

static void items_of_a_document(void *ctx) {
    const struct documents *d = ctx;
    char name[32];
    for (size_t i = 0; i < d->count; i++) {
        snprintf(name, sizeof name, i % 2 ? "k%zu" : "not%zu", scattered(i, d->count));
        assert_int_equal(!!json_find_item(d->array, "name", name), i % 2);
    }
}

static void object_from_text(void *ctx) {
    const struct documents *d = ctx;
    AUTO_TEXT text = text_format("{\"metadata\":{\"labels\":%s,\"managedFields\":[%s],\"name\":\"a\",\"uid\":\"u\","
                                 "\"resourceVersion\":\"1\"},\"status\":%s}",
                                 d->text, d->text, d->text);
    struct object *object = NULL;
    assert_null(object_parse(text, strlen(text), "v1", "Thing", &object));
    object_free(object);
}

static void four_times_the_members_are_four_times_the_steps(void **state) {
    (void)state;
    static const struct {
        const char *what;
        void (*run)(void *ctx);
    } cases[] = {
        {"json_parse", parse},
        {"json_parse of duplicates", parse_duplicates},
        {"yaml_parse", parse_yaml},
        {"json_print", print},
        {"json_copy", copy},
        {"json_equal", equal},
        {"json_hash", hash},
        {"patch_diff, patch_apply", diff},
        {"patch_apply, nested", apply_nested},
        {"json_set, json_get, json_replace, json_remove", set_many},
        {"json_detach", detach_many},
        {"json_take_content", take_content},
        {"json_at, json_size", every_position},
        {"pointer_each, pointer_remove_all", pointer_all},
        {"pointer_set, pointer_find, pointer_remove", pointer_one_by_one},
        {"json_index_find", items_by_name},
        {"json_find_item", items_of_a_document},
        {"object_parse", object_from_text},
    };
    struct documents few, many;
    make(&few, FEW);
    make(&many, MANY);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        steps_compare(cases[i].what, cases[i].run, &few, FEW, &many, MANY, RATIO);
    drop(&few);
    drop(&many);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(four_times_the_members_are_four_times_the_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
