// SPDX-License-Identifier: Apache-2.0
// Whether pods fit onto nodes: by examples, and against trying every node in turn.
#include "core/engine/capacity/free_capacity.h"

#include "core/base/text.h"

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

#include <stdlib.h>
#include <string.h>

static struct pod_shapes shapes;

static struct json *parse(const char *text) {
    struct json *value = NULL;
    struct error *error = json_parse(text, strlen(text), &value);
    if (error)
        fail_msg("%s: %s", text, error_text(error));
    return value;
}

static struct pod_shape *shape_of(const char *text) {
    AUTO_JSON spec = parse(text);
    struct pod_shape *shape = pod_shape_ref(&shapes, spec);
    assert_non_null(shape);
    return shape;
}

#define ASKS(requests, more) "{\"containers\":[{\"resources\":{\"requests\":{" requests "}}}]" more "}"
#define CPU(cpu) ASKS("\"cpu\":\"" cpu "\"", "")
#define GPU(cpu, gpu) ASKS("\"cpu\":\"" cpu "\",\"nvidia.com/gpu\":\"" gpu "\"", "")

// Nodes with so many cpus and GPUs, and ten places for pods.
static struct nodes *nodes_of(size_t count, const int64_t (*left)[2]) {
    static const char *const names[] = {"pods", "cpu", "nvidia.com/gpu"};
    struct nodes *nodes = nodes_new(count, names, 3, 0);
    for (size_t n = 0; n < count; n++) {
        const int64_t row[] = {10, left[n][0] * 1000, left[n][1]};
        memcpy(nodes->left + 3 * n, row, sizeof row);
        for (size_t r = 0; r < 3; r++)
            nodes->allocatable[r] += 2 * row[r];
    }
    return nodes;
}

static void check(struct free_capacity *spare, const struct pod_set *sets, size_t n_sets, bool fits, const char *why) {
    AUTO_BUFFER(text, 1000);
    assert_int_equal(free_capacity_fits(spare, sets, n_sets), fits);
    assert_int_equal(free_capacity_fits(spare, sets, n_sets), fits);
    if (fits)
        return;
    free_capacity_explain(spare, sets, n_sets, &text);
    assert_string_equal(text.data ? text.data : "", why);
}

static void check_one(struct free_capacity *spare, const char *spec, int64_t count, const char *why) {
    struct pod_set set = {shape_of(spec), count};
    check(spare, &set, 1, !why, why);
    pod_shape_unref(&shapes, set.shape);
}

static int begin(void **state) {
    (void)state;
    pod_shapes_init(&shapes, 1);
    return 0;
}

static int end(void **state) {
    (void)state;
    pod_shapes_free(&shapes);
    return 0;
}

static void pods_fit_onto_single_nodes_and_not_onto_sums(void **state) {
    (void)state;
    struct free_capacity spare = {.shapes = &shapes};
    assert_true(free_capacity_set(&spare, nodes_of(3, (const int64_t[][2]){{4, 0}, {4, 2}, {3, 2}})));
    check_one(&spare, CPU("1"), 11, NULL);
    check_one(&spare, CPU("1"), 12, "lacks 1 cpu");
    check_one(&spare, CPU("2"), 5, NULL);
    check_one(&spare, CPU("2500m"), 3, NULL);
    check_one(&spare, CPU("2500m"), 4, "nodes have room for 3 of 4 pods");
    check_one(&spare, CPU("5"), 1, "nodes have room for 0 of 1 pods");
    check_one(&spare, CPU("12"), 1, "lacks 1 cpu");
    check_one(&spare, GPU("1", "1"), 4, NULL);
    check_one(&spare, GPU("1", "1"), 5, "lacks 1 nvidia.com/gpu");
    check_one(&spare, GPU("1", "4"), 1, "nodes have room for 0 of 1 pods");
    check_one(&spare, CPU("1m"), 30, NULL);
    check_one(&spare, CPU("1m"), 31, "lacks 1 pods");
    check_one(&spare, ASKS("\"example.com/fpga\":1", ""), 3, "lacks 3 example.com/fpga");
    check_one(&spare, CPU("1"), INT64_MAX, "lacks 9223372036854775777 pods");
    free_capacity_clear(&spare);
}

static const char *const cpu[] = {"cpu"};

static struct waiting_pods pods_that_wait(int64_t request, int64_t count) {
    struct amounts *amounts = calloc(1, sizeof *amounts + sizeof *amounts->items);
    amounts->count = 1;
    amounts->items[0].amount = request;
    return (struct waiting_pods){amounts, count};
}

// Nodes with a cpu each, `hopeless` different waiting pods that fit on none, and one that takes the first node's cpu.
static int64_t left_with(size_t hopeless) {
    struct nodes *nodes = nodes_new(2000, cpu, 1, hopeless + 1);
    struct free_capacity spare = {.shapes = &shapes};
    for (size_t n = 0; n < nodes->count; n++)
        nodes->left[n] = 1000;
    for (size_t w = 0; w <= hopeless; w++)
        nodes->waiting[w] = pods_that_wait(w < hopeless ? 2000 + (int64_t)w : 1000, 1);
    assert_true(free_capacity_set(&spare, nodes));
    int64_t left = spare.left[0];
    free_capacity_clear(&spare);
    return left;
}

// With 15,000 nodes and 25,000 different waiting pods the engine was busy for a second, for each view.
static void so_many_different_waiting_pods_that_they_take_long_are_left_out(void **state) {
    (void)state;
    assert_int_equal(left_with(400), 0);
    assert_int_equal(left_with(2000), 1000);
}

static void different_pods_share_what_is_left(void **state) {
    (void)state;
    struct free_capacity spare = {.shapes = &shapes};
    assert_true(free_capacity_set(&spare, nodes_of(2, (const int64_t[][2]){{4, 1}, {4, 1}})));
    struct pod_set sets[] = {{shape_of(GPU("3", "1")), 2}, {shape_of(CPU("1")), 2}};
    check(&spare, sets, 2, true, NULL);
    sets[1].count = 3;
    check(&spare, sets, 2, false, "lacks 1 cpu");
    sets[1].count = 2;
    assert_int_equal(free_capacity_take(&spare, &sets[0]), 2);
    check(&spare, &sets[1], 1, true, NULL);
    check(&spare, &sets[0], 1, false, "lacks 2 nvidia.com/gpu");
    free_capacity_reset(&spare);
    check(&spare, sets, 2, true, NULL);
    free_capacity_clear(&spare);
}

static void pods_that_wait_for_a_node_take_theirs_first_unless_they_fit_nowhere(void **state) {
    (void)state;
    struct free_capacity spare = {.shapes = &shapes};
    for (int64_t asks = 3; asks <= 5; asks++) {
        struct nodes *nodes = nodes_new(1, cpu, 1, 1);
        nodes->left[0] = nodes->allocatable[0] = 4000;
        nodes->waiting[0] = pods_that_wait(asks * 1000, 7);
        assert_true(free_capacity_set(&spare, nodes));
        struct pod_shape *shape = shape_of(ASKS("\"cpu\":\"2\"", ""));
        shape->request->count = 0; // but for cpu: no pods are offered here
        for (size_t i = 0; i < 2; i++)
            if (strcmp(shapes.names.list[shape->request->items[i].resource], "cpu") == 0)
                shape->request->items[shape->request->count++] = shape->request->items[i];
        struct pod_set set = {shape, 2};
        check(&spare, &set, 1, asks == 5, asks == 3 ? "lacks 3 cpu" : "lacks 4 cpu");
        pod_shape_unref(&shapes, shape);
    }
    free_capacity_clear(&spare);
}

static void labels_and_taints_decide_which_nodes_count(void **state) {
    (void)state;
    static const struct {
        const char *more;
        int64_t fit; // of pods with 1 cpu
    } cases[] = {
        {"", 4},
        {",\"nodeSelector\":{\"pool\":\"a\"}", 4},
        {",\"nodeSelector\":{\"pool\":\"b\"}", 0},
        {",\"nodeSelector\":{\"pool\":\"c\"}", 0},
        {",\"tolerations\":[{\"key\":\"gpu\",\"operator\":\"Exists\"}]", 8},
        {",\"tolerations\":[{\"operator\":\"Exists\"}]", 8},
        {",\"tolerations\":[{\"key\":\"gpu\",\"value\":\"yes\",\"effect\":\"NoSchedule\"}]", 8},
        {",\"tolerations\":[{\"key\":\"gpu\",\"value\":\"no\"}]", 4},
        {",\"tolerations\":[{\"key\":\"gpu\",\"value\":\"yes\",\"effect\":\"NoExecute\"}]", 4},
        {",\"tolerations\":[{\"key\":\"gpu\",\"operator\":\"Exists\",\"effect\":\"PreferNoSchedule\"}]", 4},
        {",\"tolerations\":[{\"value\":\"yes\"}]", 4},
        {",\"nodeSelector\":{\"pool\":\"b\"},\"tolerations\":[{\"key\":\"gpu\",\"operator\":\"Exists\"}]", 4},
    };
    struct nodes *nodes = nodes_of(2, (const int64_t[][2]){{4, 0}, {4, 0}});
    AUTO_JSON a = parse("{\"pool\":\"a\"}");
    AUTO_JSON b = parse("{\"pool\":\"b\"}");
    AUTO_JSON taints = parse("[{\"key\":\"gpu\",\"value\":\"yes\",\"effect\":\"NoSchedule\"}]");
    nodes->marks[0] = node_marks_of_node(a, NULL);
    nodes->marks[1] = node_marks_of_node(b, taints);
    struct free_capacity spare = {.shapes = &shapes};
    assert_true(free_capacity_set(&spare, nodes));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_TEXT spec = text_format(ASKS("\"cpu\":1", "%s"), cases[i].more);
        struct pod_set set = {shape_of(spec), 100};
        int64_t found = free_capacity_take(&spare, &set);
        if (found != cases[i].fit)
            fail_msg("%s: found %lld, expected %lld", cases[i].more, (long long)found, (long long)cases[i].fit);
        free_capacity_reset(&spare);
        set.count = cases[i].fit + 1;
        check(&spare, &set, 1, false, cases[i].fit > 0 ? "lacks 1 cpu" : "no node for its nodeSelector, tolerations");
        pod_shape_unref(&shapes, set.shape);
    }
    free_capacity_clear(&spare);
}

static void a_worker_is_as_full_as_what_is_scarcest_of_what_is_asked_for(void **state) {
    (void)state;
    struct free_capacity spare = {.shapes = &shapes};
    struct nodes *nodes = nodes_of(1, (const int64_t[][2]){{4, 2}});
    nodes->allocatable[2] = 8;
    assert_true(free_capacity_set(&spare, nodes));
    struct pod_set sets[] = {{shape_of(CPU("1")), 1}, {shape_of(GPU("1", "1")), 1}};
    assert_int_equal(free_capacity_fullness(&spare, sets, 1), 500);
    assert_int_equal(free_capacity_fullness(&spare, sets, 2), 750);
    free_capacity_clear(&spare);
}

// By trying ----------------------------------------------------------------------------------------------------

static int64_t by_trying(int64_t (*left)[3], size_t count, const int64_t asks[3], int64_t pods) {
    int64_t taken = 0;
    for (size_t n = 0; n < count; n++)
        while (taken < pods && left[n][0] >= 1 && left[n][1] >= asks[1] && left[n][2] >= asks[2]) {
            left[n][0]--;
            left[n][1] -= asks[1];
            left[n][2] -= asks[2];
            taken++;
        }
    return taken;
}

static void whatever_is_taken_and_reset_the_answers_are_those_of_trying_each_node(void **state) {
    (void)state;
    struct random random = {7};
    for (int round = 0; round < 300; round++) {
        int64_t given[12][2], left[12][3];
        size_t count = 1 + random_below(&random, 12);
        for (size_t n = 0; n < count; n++) {
            given[n][0] = (int64_t)random_below(&random, 9);
            given[n][1] = (int64_t)random_below(&random, 5);
        }
        struct free_capacity spare = {.shapes = &shapes};
        assert_true(free_capacity_set(&spare, nodes_of(count, (const int64_t(*)[2])given)));
        for (int step = 0; step < 30; step++) {
            free_capacity_reset(&spare);
            for (size_t n = 0; n < count; n++) {
                left[n][0] = 10;
                left[n][1] = given[n][0];
                left[n][2] = given[n][1];
            }
            int64_t asks[] = {1, 1 + (int64_t)random_below(&random, 4), (int64_t)random_below(&random, 3)};
            int64_t pods = 1 + (int64_t)random_below(&random, 20);
            AUTO_TEXT spec = text_format(GPU("%lld", "%lld"), (long long)asks[1], (long long)asks[2]);
            struct pod_set set = {shape_of(spec), pods};
            int64_t expected = by_trying(left, count, asks, pods);
            assert_int_equal(free_capacity_fits(&spare, &set, 1), expected == pods);
            assert_int_equal(free_capacity_take(&spare, &set), expected);
            free_capacity_reset(&spare);
            assert_int_equal(free_capacity_fits(&spare, &set, 1), expected == pods);
        }
        free_capacity_clear(&spare);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pods_fit_onto_single_nodes_and_not_onto_sums, begin, end),
        cmocka_unit_test_setup_teardown(different_pods_share_what_is_left, begin, end),
        cmocka_unit_test_setup_teardown(so_many_different_waiting_pods_that_they_take_long_are_left_out, begin, end),
        cmocka_unit_test_setup_teardown(pods_that_wait_for_a_node_take_theirs_first_unless_they_fit_nowhere, begin,
                                        end),
        cmocka_unit_test_setup_teardown(labels_and_taints_decide_which_nodes_count, begin, end),
        cmocka_unit_test_setup_teardown(a_worker_is_as_full_as_what_is_scarcest_of_what_is_asked_for, begin, end),
        cmocka_unit_test_setup_teardown(whatever_is_taken_and_reset_the_answers_are_those_of_trying_each_node, begin,
                                        end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
