// SPDX-License-Identifier: Apache-2.0
#include "core/base/map.h"

#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KEYS 500

static void an_empty_map_has_nothing(void **state) {
    (void)state;
    struct map map;
    size_t cursor = 0;
    map_init(&map, 1);
    assert_null(map_get(&map, "a"));
    assert_null(map_remove(&map, "a"));
    assert_null(map_next(&map, &cursor));
    map_free(&map);
}

static void putting_again_replaces_value_and_key_pointer(void **state) {
    (void)state;
    struct map map;
    int one = 1;
    int two = 2;
    char first[] = "key";
    char second[] = "key";
    map_init(&map, 7);
    assert_true(map_put(&map, first, &one));
    assert_true(map_put(&map, second, &two));
    first[0] = 'x'; // no longer looked at
    assert_int_equal(map.count, 1);
    assert_ptr_equal(map_get(&map, "key"), &two);
    assert_ptr_equal(map_remove(&map, "key"), &two);
    assert_null(map_get(&map, "key"));
    map_free(&map);
}

static void keys_of_any_length_are_told_apart(void **state) {
    (void)state;
    struct map map;
    char keys[40][40];
    map_init(&map, 3);
    for (size_t i = 0; i < 40; i++) {
        memset(keys[i], 'a', i);
        keys[i][i] = '\0';
        assert_true(map_put(&map, keys[i], keys[i]));
    }
    for (size_t i = 0; i < 40; i++)
        assert_ptr_equal(map_get(&map, keys[i]), keys[i]);
    map_free(&map);
}

// The model is an array: whatever is done to the map, it must agree with it.
static void a_map_agrees_with_a_simple_model_through_random_operations(void **state) {
    (void)state;
    static char names[KEYS][16];
    static int values[2];
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct random random = {seed};
        void *model[KEYS] = {0};
        size_t count = 0;
        struct map map;
        map_init(&map, seed);
        for (int i = 0; i < KEYS; i++)
            snprintf(names[i], sizeof names[i], "key-%d", i);
        for (int step = 0; step < 20000; step++) {
            size_t i = random_below(&random, KEYS);
            if (random_below(&random, 100) < 55) {
                void *value = &values[random_below(&random, 2)];
                assert_true(map_put(&map, names[i], value));
                count += !model[i];
                model[i] = value;
            } else {
                assert_ptr_equal(map_remove(&map, names[i]), model[i]);
                count -= model[i] ? 1 : 0;
                model[i] = NULL;
            }
            assert_int_equal(map.count, count);
            assert_true(map.used >= map.count && (map.used == 0 || map.used < map.capacity));
        }
        for (int i = 0; i < KEYS; i++)
            assert_ptr_equal(map_get(&map, names[i]), model[i]);
        map_free(&map);
    }
}

static void entries_that_come_and_go_do_not_make_the_table_grow(void **state) {
    (void)state;
    struct map map;
    char key[24];
    map_init(&map, 11);
    for (int i = 0; i < 100000; i++) {
        snprintf(key, sizeof key, "%d", i);
        assert_true(map_put(&map, key, &map));
        assert_ptr_equal(map_remove(&map, key), &map);
    }
    assert_true(map.capacity <= 16);
    map_free(&map);
}

static void every_entry_is_seen_once_also_when_it_is_removed_on_the_way(void **state) {
    (void)state;
    struct map map;
    static char names[KEYS][16];
    map_init(&map, 5);
    for (int i = 0; i < KEYS; i++) {
        snprintf(names[i], sizeof names[i], "key-%d", i);
        assert_true(map_put(&map, names[i], names[i]));
    }
    size_t cursor = 0;
    size_t seen = 0;
    for (char *name; (name = map_next(&map, &cursor));) {
        seen++;
        assert_ptr_equal(map_remove(&map, name), name);
    }
    assert_int_equal(seen, KEYS);
    assert_int_equal(map.count, 0);
    map_free(&map);
}

static void the_order_depends_on_the_seed_alone(void **state) {
    (void)state;
    static char keys[][2] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    struct map maps[3];
    for (size_t m = 0; m < 3; m++) {
        map_init(&maps[m], m == 2 ? 99 : 42);
        for (size_t i = 0; i < 8; i++)
            assert_true(map_put(&maps[m], keys[i], keys[i]));
    }
    size_t cursors[3] = {0};
    bool differs = false;
    for (size_t i = 0; i < 8; i++) {
        const void *first = map_next(&maps[0], &cursors[0]);
        assert_ptr_equal(first, map_next(&maps[1], &cursors[1]));
        differs = differs || first != map_next(&maps[2], &cursors[2]);
    }
    assert_true(differs);
    for (size_t m = 0; m < 3; m++)
        map_free(&maps[m]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_has_nothing),
        cmocka_unit_test(putting_again_replaces_value_and_key_pointer),
        cmocka_unit_test(keys_of_any_length_are_told_apart),
        cmocka_unit_test(a_map_agrees_with_a_simple_model_through_random_operations),
        cmocka_unit_test(entries_that_come_and_go_do_not_make_the_table_grow),
        cmocka_unit_test(every_entry_is_seen_once_also_when_it_is_removed_on_the_way),
        cmocka_unit_test(the_order_depends_on_the_seed_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
