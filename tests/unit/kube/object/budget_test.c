// SPDX-License-Identifier: Apache-2.0
// The memory limits of a cluster.
#include "core/kube/object/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void a_smaller_budget_takes_nothing_more_until_enough_is_given_back(void **state) {
    (void)state;
    struct budget budget;
    atomic_bool stop = false;
    budget_init(&budget, 100 << 20, 0, 0, &stop);
    assert_true(budget_take(&budget, 45 << 20)); // of half of it
    budget_resize(&budget, 64 << 20, 3 << 20, 5000);
    assert_int_equal(budget.buffered, 45 << 20);
    assert_int_equal(budget.max_object_size, 3 << 20);
    assert_int_equal(budget.max_object_nodes, 5000);
    assert_ptr_equal(budget.stop, &stop);
    assert_false(budget_take(&budget, 1));
    budget_give(&budget, 15 << 20);
    assert_true(budget_take(&budget, 2 << 20));
    assert_false(budget_take(&budget, 1));
}

static void what_is_kept_is_limited_whoever_keeps_it(void **state) {
    (void)state;
    struct budget budget;
    budget_init(&budget, 64 << 20, 0, 0, NULL);
    assert_true(budget_keep(&budget, 0, 10 << 20));
    assert_false(budget_keep(&budget, 0, 7 << 20));
    assert_true(budget_keep(&budget, 0, 6 << 20));
    assert_false(budget_keep(&budget, 10 << 20, (10 << 20) + 1));
    budget_resize(&budget, 32 << 20, 0, 0);
    assert_int_equal(budget.kept, 16 << 20);
    assert_true(budget_keep(&budget, 10 << 20, 9 << 20)); // less, though still too much
    assert_false(budget_keep(&budget, 9 << 20, 10 << 20));
    assert_true(budget_keep(&budget, 9 << 20, 0));
    assert_true(budget_keep(&budget, 6 << 20, 8 << 20));
    assert_true(budget_keep(NULL, 0, SIZE_MAX));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_smaller_budget_takes_nothing_more_until_enough_is_given_back),
        cmocka_unit_test(what_is_kept_is_limited_whoever_keeps_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
