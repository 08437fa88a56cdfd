// SPDX-License-Identifier: Apache-2.0
// Wide containers get an index behind the scenes: whatever is done to them, they answer as narrow ones do.
#include "core/base/text.h"
#include "core/json/json.h"
#include "core/json/pointer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WIDTH 300
#define CHANGES 6000
#define SEEDS 6

static void key_of(size_t at, char out[32]) {
    snprintf(out, 32, at % 3 ? "k%zu" : "k/%zu", at);
}

static void pointer_of(size_t at, char out[32]) {
    snprintf(out, 32, at % 3 ? "/k%zu" : "/k~1%zu", at);
}

// {"k0": 0, ...}, half of the time read from a text, so that it is in an arena.
static struct json *make_object(struct random *random, int64_t model[WIDTH]) {
    AUTO_JSON made = json_new_object();
    char key[32];
    for (size_t i = 0; i < WIDTH; i++) {
        key_of(i, key);
        model[i] = (int64_t)i;
        assert_true(json_set(made, key, json_new_int64(model[i])));
    }
    AUTO_TEXT text = json_text(made, NULL);
    struct json *read = NULL;
    if (random_below(random, 2))
        return json_copy(made);
    assert_null(json_parse(text, strlen(text), &read));
    return read;
}

static void check_object(const struct json *object, const int64_t model[WIDTH]) {
    size_t count = 0;
    char key[32];
    for (size_t i = 0; i < WIDTH; i++) {
        key_of(i, key);
        assert_int_equal(json_int64(json_get(object, key), -1), model[i]);
        pointer_of(i, key);
        assert_int_equal(json_int64(pointer_find(object, key), -1), model[i]);
        count += model[i] >= 0;
    }
    assert_int_equal(json_size(object), count);
}

static void an_object_answers_the_same_whatever_is_done_to_it(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct random random = {seed};
        int64_t model[WIDTH];
        AUTO_JSON object = make_object(&random, model);
        for (int64_t i = 0; i < CHANGES; i++) {
            size_t at = random_below(&random, WIDTH);
            char key[32], pointer[32];
            key_of(at, key);
            pointer_of(at, pointer);
            assert_int_equal(json_int64(json_get(object, key), -1), model[at]);
            bool there = model[at] >= 0;
            switch (random_below(&random, 6)) {
            case 0:
                assert_int_equal(json_remove(object, key), there);
                model[at] = -1;
                break;
            case 1:
                assert_int_equal(pointer_remove(object, pointer), there);
                model[at] = -1;
                break;
            case 2: {
                AUTO_JSON loose = json_detach(object, key);
                assert_int_equal(json_int64(loose, -1), model[at]);
                model[at] = -1;
                break;
            }
            case 3:
                assert_int_equal(json_replace(object, json_get(object, key), json_new_int64(i)), there);
                model[at] = there ? i : -1;
                break;
            case 4:
                assert_true(pointer_set(object, pointer, json_new_int64(i)));
                model[at] = i;
                break;
            default:
                assert_true(json_set(object, key, json_new_int64(i)));
                model[at] = i;
            }
        }
        check_object(object, model);
        AUTO_JSON copy = json_copy(object);
        check_object(copy, model);
        assert_int_equal(json_hash(copy), json_hash(object));
        assert_true(json_equal(copy, object));
    }
}

static void change_array(struct random *random, struct json *array, int64_t *model, size_t *count, int64_t i) {
    size_t at = *count ? random_below(random, *count) : 0;
    char pointer[32];
    snprintf(pointer, sizeof pointer, "/%zu", at);
    switch (random_below(random, 5)) {
    case 0:
        assert_int_equal(pointer_remove(array, pointer), *count > 0);
        break;
    case 1: { // found otherwise than by its position
        struct json *item = json_first(array);
        for (size_t skip = 0; skip < at; skip++)
            item = json_next(item);
        json_remove_child(array, item);
        break;
    }
    case 2:
        assert_int_equal(pointer_set(array, pointer, json_new_int64(i)), *count > 0);
        model[at] = *count > 0 ? i : model[at];
        return;
    default:
        if (*count == WIDTH)
            return;
        assert_true(json_append(array, json_new_int64(i)));
        model[(*count)++] = i;
        return;
    }
    if (*count == 0)
        return;
    --*count;
    memmove(model + at, model + at + 1, (*count - at) * sizeof *model);
}

static void an_array_answers_the_same_whatever_is_done_to_it(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct random random = {seed};
        int64_t model[WIDTH];
        size_t count = 0;
        AUTO_JSON array = json_new_array();
        for (int64_t i = 0; i < CHANGES; i++) {
            change_array(&random, array, model, &count, i);
            size_t at = random_below(&random, WIDTH);
            assert_int_equal(json_int64(json_at(array, at), -1), at < count ? model[at] : -1);
        }
        assert_int_equal(json_size(array), count);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(json_int64(json_at(array, i), -1), model[i]);
    }
}

static void what_is_taken_over_is_found(void **state) {
    (void)state;
    struct random random = {1};
    int64_t model[WIDTH], other[WIDTH];
    AUTO_JSON into = make_object(&random, other);
    {
        AUTO_JSON from = make_object(&random, model);
        check_object(from, model);
        check_object(into, other);
        assert_true(json_remove(into, "k1"));
        assert_true(json_set(from, "k1", json_new_int64(77)));
        model[1] = 77;
        assert_true(json_take_content(into, from));
        assert_null(json_first(from));
        assert_null(json_get(from, "k1"));
        assert_true(json_set(from, "k1", json_new_null()));
        assert_false(json_take_content(into, into));
        assert_false(json_take_content(into, NULL));
        AUTO_JSON array = json_new_array();
        assert_false(json_take_content(into, array));
    }
    check_object(into, model);
}

static void a_patch_of_a_wide_object_is_applied(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct random random = {seed};
        int64_t model[WIDTH];
        AUTO_JSON from = make_object(&random, model);
        AUTO_JSON to = make_object(&random, model);
        for (int64_t i = 0; i < WIDTH; i++) {
            char key[32];
            key_of(random_below(&random, WIDTH), key);
            if (random_below(&random, 2)) {
                json_remove(to, key);
            } else { // to another place
                assert_true(json_set(to, "new", json_detach(to, key)) || !json_get(to, key));
                assert_true(json_set(to, key, json_new_int64(-i)));
            }
        }
        AUTO_JSON patch = patch_diff(from, to, NULL);
        assert_non_null(patch);
        assert_true(patch_apply(&from, patch));
        assert_true(json_equal(from, to));
    }
}

static void items_are_found_by_their_member(void **state) {
    (void)state;
    const char *text = "[{\"name\":\"a\"},7,{\"name\":\"b\"},{\"name\":\"a\",\"x\":1},{\"name\":8},{\"key\":\"c\"}]";
    AUTO_JSON array = NULL;
    assert_null(json_parse(text, strlen(text), &array));
    struct json_index index;
    assert_true(json_index_init(&index, array, "name"));
    assert_int_equal(json_index_find(&index, "a")->at, 0);
    assert_int_equal(json_index_find(&index, "b")->at, 2);
    assert_ptr_equal(json_index_find(&index, "b")->item, json_at(array, 2));
    assert_null(json_index_find(&index, "c"));
    assert_null(json_index_find(&index, "8"));
    assert_null(json_index_find(&index, NULL));
    json_index_free(&index);
    assert_null(json_index_find(&index, "a"));
    assert_true(json_index_init(&index, json_first(array), "name"));
    assert_null(json_index_find(&index, "a"));
    json_index_free(&index);
}

// The same as a walk over all items finds.
static void check_item(const struct json *array, const char *name) {
    struct json *item = json_first(array);
    while (item && !text_equal(json_string(json_get(item, "name")), name))
        item = json_next(item);
    assert_ptr_equal(json_find_item(array, "name", name), item);
}

static void change_items(struct random *random, struct json *array) {
    struct json *item = json_at(array, random_below(random, WIDTH));
    AUTO_TEXT name = text_format("n%d", (int)random_below(random, WIDTH));
    switch (random_below(random, 7)) {
    case 0:
        assert_true(json_set(item, "name", json_new_string(name)) || !json_is(item, JSON_OBJECT));
        break;
    case 1:
        json_remove(item, "name");
        break;
    case 2: { // of another document
        AUTO_JSON made = json_new_object();
        AUTO_JSON other = json_new_object();
        assert_true(json_set(made, "name", json_new_string(name)) && json_set(made, "of", json_new_null()));
        assert_true(patch_apply(&other, made));
        assert_true(json_replace(array, item, json_copy(other)));
        break;
    }
    case 3:
        assert_true(json_append(array, json_copy(item)));
        json_remove_child(array, json_first(array));
        break;
    case 4:
        json_free(json_detach(item, "name"));
        assert_true(pointer_set(item, "/name", json_new_string(name)) || !json_is(item, JSON_OBJECT));
        break;
    case 5: {
        AUTO_JSON empty = json_new_object();
        json_take_content(item, empty);
        break;
    }
    default:
        assert_true(json_replace(array, item, json_new_int64(1)));
    }
}

static void an_item_is_found_by_its_member_whatever_is_done_to_it(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct random random = {seed};
        AUTO_JSON array = NULL;
        {
            AUTO_JSON made = json_new_array();
            for (int i = 0; i < WIDTH; i++) {
                struct json *item = json_new_object();
                AUTO_TEXT name = text_format("n%d", i / 2);
                assert_true(json_set(item, "name", json_new_string(name)) && json_append(made, item));
            }
            array = json_copy(made);
        }
        for (int i = 0; i < CHANGES / 60; i++) {
            change_items(&random, array);
            if (random_below(&random, 20) == 0) { // in one arena again
                struct json *again = json_copy(array);
                json_free(array);
                array = again;
            }
            for (int look = 0; look < 40; look++) {
                AUTO_TEXT name = text_format("n%d", (int)random_below(&random, WIDTH));
                check_item(array, name);
            }
            assert_null(json_find_item(array, "of", "n1"));
        }
    }
    assert_null(json_find_item(NULL, "name", "a"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_answers_the_same_whatever_is_done_to_it),
        cmocka_unit_test(an_array_answers_the_same_whatever_is_done_to_it),
        cmocka_unit_test(what_is_taken_over_is_found),
        cmocka_unit_test(a_patch_of_a_wide_object_is_applied),
        cmocka_unit_test(items_are_found_by_their_member),
        cmocka_unit_test(an_item_is_found_by_its_member_whatever_is_done_to_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
