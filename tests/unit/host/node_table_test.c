// SPDX-License-Identifier: Apache-2.0
// The sums of a worker's nodes: by examples, and against sums made anew from all objects after random changes.
#include "core/host/watchers/node_table.h"

#include "core/base/text.h"
#include "core/kube/object/object.h"

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct json *parse(const char *text) {
    struct json *value = NULL;
    struct error *error = json_parse(text, strlen(text), &value);
    if (error)
        fail_msg("%s: %s", text, error_text(error));
    return value;
}

static void node_is(struct node_table *table, const char *name, const char *more) {
    AUTO_TEXT text = text_format("{\"metadata\":{\"name\":\"%s\",\"uid\":\"n-%s\"},%s}", name, name, more);
    AUTO_JSON node = parse(text);
    assert_true(node_table_put(table, TABLE_NODES, node));
}

#define READY "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]"
#define OFFERS(cpu, more) "\"status\":{" READY ",\"allocatable\":{\"cpu\":\"" cpu "\"," more "\"pods\":\"10\"}}"

static void pod_is(struct node_table *table, const char *name, const char *node, const char *cpu, const char *phase) {
    AUTO_TEXT text = text_format("{\"metadata\":{\"name\":\"%s\",\"uid\":\"p-%s\"},\"spec\":{\"nodeName\":\"%s\","
                                 "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]},"
                                 "\"status\":{\"phase\":\"%s\"}}",
                                 name, name, node, cpu, phase);
    AUTO_JSON pod = parse(text);
    assert_true(node_table_put(table, TABLE_PODS, pod));
}

static void pod_goes(struct node_table *table, const char *name) {
    AUTO_TEXT text = text_format("{\"metadata\":{\"name\":\"%s\",\"uid\":\"p-%s\"}}", name, name);
    AUTO_JSON pod = parse(text);
    node_table_remove(table, TABLE_PODS, pod);
}

// "cpu 3000/4000 pods 9/10; waiting 2: cpu 1000", the sums of the nodes that take pods.
static void expect(struct node_table *table, const char *expected) {
    struct nodes *nodes = node_table_view(table);
    AUTO_BUFFER(found, 4096);
    assert_non_null(nodes);
    for (size_t r = 0; r < nodes->names.count; r++) {
        long long left = 0;
        for (size_t n = 0; n < nodes->count; n++)
            left += (long long)nodes->left[n * nodes->names.count + r];
        buffer_printf(&found, "%s%s %lld/%lld", r > 0 ? " " : "", nodes->names.list[r], left,
                      (long long)nodes->allocatable[r]);
    }
    for (size_t w = 0; w < nodes->n_waiting; w++) {
        buffer_printf(&found, "; waiting %lld:", (long long)nodes->waiting[w].count);
        const struct amounts *request = nodes->waiting[w].request;
        for (size_t i = 0; i < request->count; i++)
            buffer_printf(&found, " %s %lld", nodes->names.list[request->items[i].resource],
                          (long long)request->items[i].amount);
    }
    nodes_free(nodes);
    assert_string_equal(found.data, expected);
}

static void what_its_pods_ask_for_is_taken_off_a_node_and_given_back(void **state) {
    (void)state;
    struct node_table *table = node_table_new(1);
    node_is(table, "a", OFFERS("4", ""));
    expect(table, "cpu 4000/4000 pods 10/10");
    pod_is(table, "p", "a", "1500m", "Running");
    expect(table, "cpu 2500/4000 pods 9/10");
    pod_is(table, "p", "a", "1500m", "Running");
    expect(table, "cpu 2500/4000 pods 9/10");
    pod_is(table, "p", "a", "2", "Running"); // resized
    expect(table, "cpu 2000/4000 pods 9/10");
    pod_is(table, "q", "a", "1", "Pending");
    expect(table, "cpu 1000/4000 pods 8/10");
    pod_is(table, "q", "a", "1", "Succeeded");
    expect(table, "cpu 2000/4000 pods 9/10");
    pod_goes(table, "p");
    pod_goes(table, "q");
    expect(table, "cpu 4000/4000 pods 10/10");
    assert_int_equal(node_table_size(table).shapes, 0);
    node_table_free(table);
}

static void a_pod_without_a_node_waits_unless_it_is_gated(void **state) {
    (void)state;
    struct node_table *table = node_table_new(1);
    node_is(table, "a", OFFERS("4", ""));
    pod_is(table, "p", "", "1", "Pending");
    pod_is(table, "q", "", "1", "Pending");
    expect(table, "cpu 4000/4000 pods 10/10; waiting 2: cpu 1000 pods 1");
    pod_is(table, "q", "a", "1", "Pending");
    expect(table, "cpu 3000/4000 pods 9/10; waiting 1: cpu 1000 pods 1");
    AUTO_JSON gated =
        parse("{\"metadata\":{\"name\":\"p\",\"uid\":\"p-p\"},\"spec\":{\"schedulingGates\":[{\"name\":\"x\"}],"
              "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}");
    assert_true(node_table_put(table, TABLE_PODS, gated));
    expect(table, "cpu 3000/4000 pods 9/10");
    node_table_free(table);
}

static void a_node_that_takes_no_pods_does_not_count(void **state) {
    (void)state;
    struct node_table *table = node_table_new(1);
    node_is(table, "a", OFFERS("4", ""));
    node_is(table, "b", "\"spec\":{\"unschedulable\":true}," OFFERS("8", ""));
    node_is(
        table, "c",
        "\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"Unknown\"}],\"allocatable\":{\"cpu\":\"2\"}}");
    node_is(table, "d", "\"status\":{\"allocatable\":{\"cpu\":\"2\"}}");
    expect(table, "cpu 4000/4000 pods 10/10");
    node_is(table, "b", OFFERS("8", ""));
    expect(table, "cpu 12000/12000 pods 20/20");
    node_table_free(table);
}

static void pods_may_come_before_their_node_and_outlive_it(void **state) {
    (void)state;
    struct node_table *table = node_table_new(1);
    pod_is(table, "p", "a", "1", "Running");
    assert_int_equal(node_table_size(table).nodes, 1);
    node_is(table, "a", OFFERS("4", "\"nvidia.com/gpu\":\"8\","));
    expect(table, "pods 9/10 cpu 3000/4000 nvidia.com/gpu 8/8");
    AUTO_JSON gone = parse("{\"metadata\":{\"name\":\"a\",\"uid\":\"n-a\"}}");
    node_table_remove(table, TABLE_NODES, gone);
    expect(table, "pods 0/0 cpu 0/0 nvidia.com/gpu 0/0");
    node_is(table, "a", OFFERS("2", ""));
    expect(table, "pods 9/10 cpu 1000/2000 nvidia.com/gpu 0/0");
    node_table_remove(table, TABLE_NODES, gone);
    pod_goes(table, "p");
    assert_int_equal(node_table_size(table).nodes, 0);
    node_table_free(table);
}

static void what_a_list_lacks_is_gone(void **state) {
    (void)state;
    struct node_table *table = node_table_new(1);
    node_is(table, "a", OFFERS("4", ""));
    node_is(table, "b", OFFERS("4", ""));
    char name[16];
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "p%d", i);
        pod_is(table, name, i % 2 ? "a" : "b", "100m", "Running");
    }
    expect(table, "cpu 7200/8000 pods 12/20");
    node_table_list(table, TABLE_NODES);
    node_table_list(table, TABLE_PODS);
    expect(table, "cpu 7200/8000 pods 12/20"); // until the list is complete
    node_is(table, "a", OFFERS("4", ""));
    pod_is(table, "p1", "a", "100m", "Running");
    pod_is(table, "new", "a", "1", "Running");
    node_table_listed(table, TABLE_NODES);
    node_table_listed(table, TABLE_PODS);
    expect(table, "cpu 2900/4000 pods 8/10");
    assert_int_equal(node_table_size(table).pods, 2);
    node_table_free(table);
}

static void labels_and_taints_that_keep_pods_away_are_in_the_view(void **state) {
    (void)state;
    struct node_table *table = node_table_new(1);
    AUTO_JSON node =
        parse("{\"metadata\":{\"name\":\"a\",\"labels\":{\"pool\":\"gpu\",\"x\":\"\"}},\"spec\":{\"taints\":["
              "{\"key\":\"a\",\"effect\":\"PreferNoSchedule\"},{\"key\":\"b\",\"value\":\"c\",\"effect\":"
              "\"NoExecute\"}]},\"status\":{" READY "}}");
    node_is(table, "plain", OFFERS("1", ""));
    assert_true(node_table_put(table, TABLE_NODES, node));
    struct nodes *nodes = node_table_view(table);
    assert_int_equal(nodes->count, 2);
    static const char *const cases[][2] = {
        {"{\"tolerations\":[{\"key\":\"b\",\"value\":\"c\"}]}", "plain a"},
        {"{\"tolerations\":[{\"key\":\"b\",\"value\":\"c\",\"effect\":\"NoExecute\"}]}", "plain a"},
        {"{\"tolerations\":[{\"key\":\"b\",\"value\":\"c\",\"effect\":\"NoSchedule\"}]}", "plain"},
        {"{\"tolerations\":[{\"key\":\"b\"}]}", "plain"},
        {"{\"nodeSelector\":{\"pool\":\"gpu\",\"x\":\"\"},\"tolerations\":[{\"operator\":\"Exists\"}]}", "a"},
        {"{\"nodeSelector\":{\"pool\":\"gpu\"}}", ""},
        {"{\"nodeSelector\":{\"pool\":\"x\"},\"tolerations\":[{\"operator\":\"Exists\"}]}", ""},
    };
    assert_int_equal(nodes->marks[0]->count, 0);
    assert_int_equal(nodes->marks[1]->count, 3);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_JSON spec = parse(cases[i][0]);
        struct node_marks *pod = node_marks_of_pod(json_get(spec, "nodeSelector"), json_get(spec, "tolerations"));
        bool plain = node_marks_permit(pod, nodes->marks[0]), a = node_marks_permit(pod, nodes->marks[1]);
        assert_string_equal(plain && a ? "plain a" : plain ? "plain" : a ? "a" : "", cases[i][1]);
        node_marks_unref(pod);
    }
    nodes_free(nodes);
    node_table_free(table);
}

static void what_objects_claim_to_offer_or_to_need_saturates(void **state) {
    (void)state;
    struct node_table *table = node_table_new(1);
    char name[16];
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "n%d", i);
        node_is(table, name, OFFERS("9223372036854775807", "\"memory\":\"9223372036854775807Ei\","));
        pod_is(table, name, "n0", "9223372036854775807", "Running");
    }
    struct nodes *nodes = node_table_view(table);
    assert_int_equal(nodes->allocatable[0], INT64_MAX);
    assert_int_equal(nodes->left[0], 0);
    assert_int_equal(nodes->left[nodes->names.count], INT64_MAX);
    nodes_free(nodes);
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "n%d", i);
        pod_goes(table, name);
    }
    node_table_free(table);
}

// By random changes --------------------------------------------------------------------------------------------

#define NODES 7
#define PODS 300

struct model {
    long long cpu[PODS]; // 0: not there
    int node[PODS];      // NODES: none
    bool there[NODES];
};

static void compare(struct node_table *table, const struct model *model) {
    struct nodes *nodes = node_table_view(table);
    long long left = 0, expected = 0, waiting = 0, waits = 0;
    size_t there = 0, pods = 0;
    assert_non_null(nodes);
    size_t cpu = 0;
    while (cpu < nodes->names.count && strcmp(nodes->names.list[cpu], "cpu") != 0)
        cpu++;
    for (size_t n = 0; n < nodes->count; n++)
        left += (long long)nodes->left[n * nodes->names.count + cpu];
    for (size_t w = 0; w < nodes->n_waiting; w++)
        for (size_t i = 0; i < nodes->waiting[w].request->count; i++)
            if (nodes->waiting[w].request->items[i].resource == cpu)
                waiting += (long long)(nodes->waiting[w].count * nodes->waiting[w].request->items[i].amount);
    for (int n = 0; n < NODES; n++) {
        there += model->there[n];
        expected += model->there[n] ? 100000 : 0;
    }
    for (int p = 0; p < PODS; p++) {
        pods += model->cpu[p] > 0;
        if (model->cpu[p] && model->node[p] == NODES)
            waits += model->cpu[p];
        else if (model->cpu[p] && model->there[model->node[p]])
            expected -= model->cpu[p];
    }
    assert_int_equal(nodes->count, there);
    assert_int_equal(left, expected);
    assert_int_equal(waiting, waits);
    assert_int_equal(node_table_size(table).pods, pods);
    assert_true(node_table_size(table).view + nodes->names.count * 64 >= nodes_bytes(nodes));
    nodes_free(nodes);
}

static void put_model_pod(struct node_table *table, const struct model *model, int p) {
    char name[16], node[16] = "", cpu[16];
    snprintf(name, sizeof name, "%d", p);
    if (model->node[p] < NODES)
        snprintf(node, sizeof node, "%d", model->node[p]);
    snprintf(cpu, sizeof cpu, "%lldm", model->cpu[p]);
    pod_is(table, name, node, cpu, "Running");
}

static void put_model_node(struct node_table *table, int n) {
    char name[16];
    snprintf(name, sizeof name, "%d", n);
    node_is(table, name, OFFERS("100", ""));
}

static void lose_something_unseen(struct model *model, struct random *random) {
    for (int p = 0; p < PODS; p++)
        if (random_below(random, 3) == 0)
            model->cpu[p] = 0;
    for (int n = 0; n < NODES; n++)
        model->there[n] = random_below(random, 2);
}

static void relist(struct node_table *table, const struct model *model) {
    node_table_list(table, TABLE_NODES);
    for (int n = 0; n < NODES; n++)
        if (model->there[n])
            put_model_node(table, n);
    node_table_listed(table, TABLE_NODES);
    node_table_list(table, TABLE_PODS);
    for (int p = 0; p < PODS; p++)
        if (model->cpu[p])
            put_model_pod(table, model, p);
    node_table_listed(table, TABLE_PODS);
}

static void the_sums_are_those_of_all_objects_after_any_changes(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct random random = {seed};
        struct node_table *table = node_table_new(seed);
        struct model model = {.node = {0}};
        relist(table, &model);
        for (int step = 0; step < 2000; step++) {
            int p = (int)random_below(&random, PODS), n = (int)random_below(&random, NODES);
            uint64_t what = random_below(&random, 100);
            if (what == 0) {
                lose_something_unseen(&model, &random);
                relist(table, &model);
            } else if (what < 60) {
                model.cpu[p] = (long long)random_below(&random, 9) + 1;
                model.node[p] = (int)random_below(&random, NODES + 1);
                put_model_pod(table, &model, p);
            } else if (what < 90) {
                char name[16];
                snprintf(name, sizeof name, "%d", p);
                model.cpu[p] = 0;
                pod_goes(table, name);
            } else {
                AUTO_TEXT text = text_format("{\"metadata\":{\"name\":\"%d\"}}", n);
                AUTO_JSON node = parse(text);
                model.there[n] = !model.there[n];
                if (model.there[n])
                    put_model_node(table, n);
                else
                    node_table_remove(table, TABLE_NODES, node);
            }
            if (step % 20 == 0)
                compare(table, &model);
        }
        compare(table, &model);
        memset(&model, 0, sizeof model);
        relist(table, &model);
        assert_true(node_table_size(table).view <= sizeof(struct nodes)); // nothing stays counted
        node_table_free(table);
    }
}

static void a_hundred_and_fifty_thousand_pods_take_less_than_40_bytes_each(void **state) {
    (void)state;
    struct node_table *table = node_table_new(1);
    char name[32], node[32], cpu[16];
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "node-%d.example", i);
        node_is(table, name, OFFERS("64", "\"memory\":\"256Gi\",\"nvidia.com/gpu\":\"8\","));
    }
    size_t before = node_table_size(table).bytes;
    for (int i = 0; i < 150000; i++) {
        snprintf(name, sizeof name, "pod-%d", i);
        snprintf(node, sizeof node, "node-%d.example", i % 5000);
        snprintf(cpu, sizeof cpu, "%dm", 100 + i % 200);
        pod_is(table, name, node, cpu, "Running");
    }
    struct node_table_size size = node_table_size(table);
    struct nodes *nodes = node_table_view(table);
    print_message("5000 nodes take %zu bytes, 150000 pods %zu, a view %zu\n", before, size.bytes - before,
                  nodes_bytes(nodes));
    assert_int_equal(size.pods, 150000);
    assert_true((size.bytes - before) / 150000 < 40);
    assert_true(before / 5000 < 400);
    size_t labels =
        5000 * 30 * sizeof(uint32_t); // in the table and twice in views, as core/host/watchers/capacity_watch.c counts
    print_message("with labels, of the memory budget: %zu bytes\n", size.bytes + 2 * size.view + labels);
    assert_true(size.bytes + 2 * size.view + labels < BUDGET_DEFAULT / 4 * 3 / 4);
    nodes_free(nodes);
    node_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_its_pods_ask_for_is_taken_off_a_node_and_given_back),
        cmocka_unit_test(a_pod_without_a_node_waits_unless_it_is_gated),
        cmocka_unit_test(a_node_that_takes_no_pods_does_not_count),
        cmocka_unit_test(pods_may_come_before_their_node_and_outlive_it),
        cmocka_unit_test(what_a_list_lacks_is_gone),
        cmocka_unit_test(labels_and_taints_that_keep_pods_away_are_in_the_view),
        cmocka_unit_test(what_objects_claim_to_offer_or_to_need_saturates),
        cmocka_unit_test(the_sums_are_those_of_all_objects_after_any_changes),
        cmocka_unit_test(a_hundred_and_fifty_thousand_pods_take_less_than_40_bytes_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
