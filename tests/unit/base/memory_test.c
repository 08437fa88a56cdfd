// SPDX-License-Identifier: Apache-2.0
#include "core/base/memory.h"

#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct item {
    uint64_t number;
    char text[16];
};

static char *make(bool keep) {
    AUTO_TEXT text = strdup("made");
    return keep ? TAKE(text) : NULL;
}

static void what_is_taken_is_gone_from_its_place(void **state) {
    (void)state;
    AUTO_TEXT made = make(true);
    assert_string_equal(made, "made");
    assert_null(make(false));
    char *places[2] = {made, NULL};
    size_t at = 0;
    char *taken = TAKE(places[at++]);
    assert_ptr_equal(taken, made);
    assert_int_equal(at, 1); // the place is looked at once
    assert_null(places[0]);
    assert_null(TAKE(places[0]));
}

static void an_array_grows_by_doubling_and_keeps_its_items(void **state) {
    (void)state;
    struct item *list = NULL;
    size_t capacity = 0, grown = 0;
    for (size_t i = 0; i < 1000; i++) {
        size_t before = capacity;
        assert_true(array_reserve(&list, &capacity, i + 1, sizeof *list));
        assert_true(capacity > i);
        grown += capacity != before;
        for (size_t j = before; j < capacity; j++)
            assert_int_equal(list[j].number, 0);
        list[i].number = i + 1;
    }
    assert_in_range(grown, 2, 10);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(list[i].number, i + 1);
    assert_true(array_reserve(&list, &capacity, 5000, sizeof *list)); // more than double at once
    assert_true(capacity >= 5000);
    assert_int_equal(list[4999].number, 0);
    free(list);
}

static void what_fits_into_no_memory_changes_nothing(void **state) {
    (void)state;
    struct item *list = NULL;
    size_t capacity = 0;
    assert_true(array_reserve(&list, &capacity, 1, sizeof *list));
    struct item *before = list;
    size_t room = capacity;
    list[0].number = 7;
    static const size_t too_many[] = {SIZE_MAX, SIZE_MAX / sizeof(struct item) + 1, SIZE_MAX / 2 + 1,
                                      SIZE_MAX / sizeof(struct item)};
    for (size_t i = 0; i < sizeof too_many / sizeof *too_many; i++) {
        assert_false(array_reserve(&list, &capacity, too_many[i], sizeof *list));
        assert_ptr_equal(list, before);
        assert_int_equal(capacity, room);
    }
    assert_null(array_next(&list, (SIZE_MAX >> 1) + 1, sizeof *list)); // a power of two: it would have to double
    assert_ptr_equal(list, before);
    assert_int_equal(list[0].number, 7);
    free(list);
}

static void an_array_without_a_capacity_takes_item_after_item(void **state) {
    (void)state;
    struct item *list = NULL;
    for (size_t count = 0; count < 1000; count++) {
        struct item *item = array_next(&list, count, sizeof *list);
        assert_non_null(item);
        assert_ptr_equal(item, &list[count]);
        assert_int_equal(item->number, 0);
        assert_int_equal(item->text[0], '\0');
        memset(item, 0xff, sizeof *item); // all of the item is there
        item->number = count;
    }
    for (size_t count = 700; count < 1500; count++) { // after some were taken from the end
        struct item *item = array_next(&list, count, sizeof *list);
        assert_non_null(item);
        item->number = count;
    }
    for (size_t i = 0; i < 1500; i++)
        assert_int_equal(list[i].number, i);
    struct item *first = array_next(&list, 0, sizeof *list); // emptied, and begun again
    assert_non_null(first);
    assert_int_equal(first->number, 0);
    free(list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_taken_is_gone_from_its_place),
        cmocka_unit_test(an_array_grows_by_doubling_and_keeps_its_items),
        cmocka_unit_test(what_fits_into_no_memory_changes_nothing),
        cmocka_unit_test(an_array_without_a_capacity_takes_item_after_item),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
