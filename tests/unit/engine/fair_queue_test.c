// SPDX-License-Identifier: Apache-2.0
// The order in which objects that wait get the free places of a window.
#include "core/base/text.h"
#include "core/engine/store/fair_queue.h"

#include <stdlib.h>
#include <string.h>

// clang-format off
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

struct entry { // the queue knows no more of it than its address
    struct fair_node node;
    enum work_class work;
    unsigned number, space;
};

static const unsigned weights[WORK_CLASSES] = {8, 8, 8, 3, 1};
#define ROUND 31 // their sum

static void put(struct fair_queue *queue, struct entry *entry, enum work_class work, uint32_t kind,
                const char *namespace_) {
    entry->work = work;
    assert_true(fair_queue_put(queue, &entry->node, entry, work, kind, namespace_, strlen(namespace_)));
}

static void number(struct entry *entries, size_t count) {
    for (size_t i = 0; i < count; i++)
        entries[i] = (struct entry){.number = (unsigned)i};
}

// What comes out, to the end: "0 1 2".
static void assert_order(struct fair_queue *queue, const char *expected) {
    char order[256] = "";
    size_t len = 0;
    for (struct entry *entry; (entry = fair_queue_next(queue)) && len < sizeof order - 16;) {
        assert_null(entry->node.flow);
        len += (size_t)snprintf(order + len, sizeof order - len, "%s%u", len ? " " : "", entry->number);
    }
    assert_string_equal(order, expected);
    assert_int_equal(queue->count, 0);
}

static void within_a_flow_the_first_to_come_is_the_first_to_go(void **state) {
    (void)state;
    struct fair_queue queue;
    struct entry e[4];
    number(e, 4);
    fair_queue_init(&queue, 1);
    assert_null(fair_queue_next(&queue));
    for (size_t i = 0; i < 4; i++)
        put(&queue, &e[3 - i], WORK_CREATE, 0, "a");
    assert_int_equal(queue.count, 4);
    assert_int_equal(queue.classes[WORK_CREATE].count, 4);
    assert_order(&queue, "3 2 1 0");
    fair_queue_free(&queue);
}

static void many_objects_of_one_namespace_do_not_delay_one_of_another(void **state) {
    (void)state;
    enum { MANY = 10000 };
    struct fair_queue queue;
    struct entry *e = calloc(MANY + 1, sizeof *e);
    assert_non_null(e);
    number(e, MANY + 1);
    fair_queue_init(&queue, 1);
    for (size_t i = 0; i < MANY; i++)
        put(&queue, &e[i], WORK_CREATE, 0, "crowd");
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(fair_queue_next(&queue)->number, i);
    put(&queue, &e[MANY], WORK_CREATE, 0, "one");
    assert_int_equal(fair_queue_next(&queue)->number, 100);
    assert_int_equal(fair_queue_next(&queue)->number, MANY);
    for (unsigned i = 101; i < MANY; i++)
        assert_int_equal(fair_queue_next(&queue)->number, i);
    assert_null(fair_queue_next(&queue));
    fair_queue_free(&queue);
    free(e);
}

static void kinds_and_namespaces_take_turns(void **state) {
    (void)state;
    struct fair_queue queue;
    struct entry e[10];
    number(e, 10);
    fair_queue_init(&queue, 1);
    for (size_t i = 0; i < 4; i++)
        put(&queue, &e[i], WORK_STATUS, 0, "a");
    put(&queue, &e[4], WORK_STATUS, 1, "a");
    put(&queue, &e[5], WORK_STATUS, 1, "a");
    put(&queue, &e[6], WORK_STATUS, 0, "b");
    put(&queue, &e[7], WORK_STATUS, 0, "b");
    put(&queue, &e[8], WORK_STATUS, 10, ""); // cluster-scoped
    put(&queue, &e[9], WORK_STATUS, 1, "0");
    assert_order(&queue, "0 4 6 8 9 1 5 7 2 3");
    fair_queue_free(&queue);
}

static void the_namespace_is_as_long_as_it_is_said_to_be(void **state) {
    (void)state;
    struct fair_queue queue;
    struct entry e[4];
    number(e, 4);
    fair_queue_init(&queue, 1);
    // As in an entry's key: "namespace/name".
    for (size_t i = 0; i < 3; i++)
        assert_true(fair_queue_put(&queue, &e[i].node, &e[i], WORK_STATUS, 0, i < 2 ? "a/x" : "ab/x", i < 2 ? 1 : 2));
    assert_order(&queue, "0 2 1");
    char longest[400];
    memset(longest, 'n', sizeof longest);
    assert_true(fair_queue_put(&queue, &e[0].node, &e[0], WORK_STATUS, UINT32_MAX, longest, 253));
    assert_false(fair_queue_put(&queue, &e[1].node, &e[1], WORK_STATUS, 0, longest, sizeof longest));
    assert_null(e[1].node.flow);
    assert_order(&queue, "0");
    fair_queue_free(&queue);
}

// With these classes always waiting, each gets its weight in each round, and none waits longer than a round.
static void check_shares(unsigned classes) {
    enum { EACH = 100 };
    struct fair_queue queue;
    struct entry *e = calloc((size_t)WORK_CLASSES * EACH, sizeof *e);
    assert_non_null(e);
    fair_queue_init(&queue, 1);
    unsigned sum = 0, served[WORK_CLASSES] = {0}, last[WORK_CLASSES] = {0};
    for (unsigned work = 0; work < WORK_CLASSES; work++) {
        if (!(classes & 1U << work))
            continue;
        sum += weights[work];
        for (size_t i = 0; i < EACH; i++)
            put(&queue, &e[work * EACH + i], (enum work_class)work, 0, "a");
    }
    for (unsigned n = 1; n <= 1000; n++) {
        struct entry *entry = fair_queue_next(&queue);
        served[entry->work]++;
        last[entry->work] = n;
        put(&queue, entry, entry->work, 0, "a");
        for (unsigned work = 0; work < WORK_CLASSES; work++) {
            if (!(classes & 1U << work))
                continue;
            assert_true(n - last[work] < sum);
            if (n % sum == 0)
                assert_int_equal(served[work], n / sum * weights[work]);
            // Nor are a class's turns bunched.
            assert_true(served[work] * sum < n * weights[work] + sum && served[work] * sum + sum > n * weights[work]);
        }
    }
    fair_queue_free(&queue);
    free(e);
}

static void classes_have_exact_shares_by_weight_whichever_of_them_wait(void **state) {
    (void)state;
    for (unsigned classes = 1; classes < 1U << WORK_CLASSES; classes++)
        check_shares(classes);
}

static void the_final_status_is_the_first_and_of_most_weight(void **state) {
    (void)state;
    struct fair_queue queue;
    struct entry e[5];
    number(e, 5);
    fair_queue_init(&queue, 1);
    for (size_t i = 5; i-- > 0;)
        put(&queue, &e[i], (enum work_class)i, 0, "a");
    assert_order(&queue, "0 1 2 3 4");
    static const char *const names[] = {"final_status", "delete", "create", "status", "refresh"};
    for (unsigned i = 0; i < WORK_CLASSES; i++)
        assert_string_equal(work_class_name((enum work_class)i), names[i]);
    fair_queue_free(&queue);
}

static void one_that_is_put_again_keeps_its_place(void **state) {
    (void)state;
    struct fair_queue queue, other;
    struct entry e[4];
    number(e, 4);
    fair_queue_init(&queue, 1);
    fair_queue_init(&other, 1);
    for (size_t i = 0; i < 4; i++)
        put(&queue, &e[i], WORK_CREATE, 0, "a");
    put(&queue, &e[0], WORK_CREATE, 0, "a");
    put(&queue, &e[2], WORK_CREATE, 0, "a");
    assert_int_equal(queue.count, 4);
    // In another class, and in another cluster's queue, it is the last.
    put(&queue, &e[1], WORK_STATUS, 0, "a");
    assert_int_equal(queue.classes[WORK_CREATE].count, 3);
    assert_int_equal(queue.classes[WORK_STATUS].count, 1);
    put(&queue, &e[1], WORK_CREATE, 0, "a");
    put(&other, &e[0], WORK_CREATE, 0, "a");
    put(&queue, &e[0], WORK_CREATE, 0, "a");
    assert_int_equal(other.count, 0);
    assert_order(&queue, "2 3 1 0");
    fair_queue_free(&queue);
    fair_queue_free(&other);
}

static void any_of_them_may_leave(void **state) {
    (void)state;
    static const struct {
        unsigned leaves[4], n;
        const char *left;
    } cases[] = {
        {{0}, 1, "1 3 2 4 5"},    {{1}, 1, "0 3 2 4 5"},    {{2}, 1, "0 3 1 4 5"},
        {{5}, 1, "0 3 1 4 2"},    {{0, 1, 2}, 3, "3 4 5"},  {{3, 4, 5}, 3, "0 1 2"},
        {{2, 1, 0, 3}, 4, "4 5"}, {{0, 2, 3, 5}, 4, "1 4"}, {{0, 0, 0, 0}, 4, "1 3 2 4 5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fair_queue queue;
        struct entry e[6];
        number(e, 6);
        fair_queue_init(&queue, 1);
        for (size_t k = 0; k < 6; k++)
            put(&queue, &e[k], WORK_CREATE, 0, k < 3 ? "a" : "b");
        for (size_t k = 0; k < cases[i].n; k++) {
            fair_queue_remove(&e[cases[i].leaves[k]].node);
            assert_null(e[cases[i].leaves[k]].node.flow);
        }
        assert_order(&queue, cases[i].left);
        // A flow that became empty begins anew.
        put(&queue, &e[1], WORK_CREATE, 0, "a");
        assert_order(&queue, "1");
        fair_queue_free(&queue);
    }
}

// The same in a simple way: the classes' and flows' order is not modelled, only bounds of it.
#define MODEL 60
#define SPACES 5

struct model {
    struct fair_queue queue;
    struct entry e[MODEL];
    uint64_t came[MODEL], clock;                // when it was put; 0: it does not wait
    unsigned class_passed[WORK_CLASSES];        // turns of others while it waited
    unsigned flow_passed[WORK_CLASSES][SPACES]; // turns of other flows of its class while it waited
};

static size_t waiting(const struct model *m, enum work_class work, int space) {
    size_t count = 0;
    for (size_t i = 0; i < MODEL; i++)
        count += m->came[i] && m->e[i].work == work && (space < 0 || m->e[i].space == (unsigned)space);
    return count;
}

static void put_some(struct model *m, size_t i, enum work_class work) {
    static const char *const spaces[SPACES] = {"a", "b", "c", "d", "e"};
    bool stays = m->came[i] && m->e[i].work == work;
    if (!stays)
        m->came[i] = 0;
    if (waiting(m, work, -1) == 0)
        m->class_passed[work] = 0;
    if (waiting(m, work, (int)m->e[i].space) == 0)
        m->flow_passed[work][m->e[i].space] = 0;
    put(&m->queue, &m->e[i], work, m->e[i].space, spaces[m->e[i].space]);
    if (!stays)
        m->came[i] = ++m->clock;
}

static void take_one(struct model *m) {
    struct entry *entry = fair_queue_next(&m->queue);
    size_t total = 0;
    for (int work = 0; work < WORK_CLASSES; work++)
        total += waiting(m, (enum work_class)work, -1);
    assert_true(!entry == (total == 0));
    if (!entry)
        return;
    size_t at = (size_t)(entry - m->e);
    assert_true(m->came[at]);
    for (size_t i = 0; i < MODEL; i++) // first come, first go
        if (m->came[i] && m->e[i].work == entry->work && m->e[i].space == entry->space)
            assert_true(m->came[i] >= m->came[at]);
    m->came[at] = 0;
    for (unsigned work = 0; work < WORK_CLASSES; work++)
        m->class_passed[work] = entry->work == work ? 0 : m->class_passed[work] + 1;
    for (unsigned space = 0; space < SPACES; space++) {
        unsigned *passed = &m->flow_passed[entry->work][space];
        *passed = entry->space == space ? 0 : *passed + 1;
        if (waiting(m, entry->work, (int)space))
            assert_true(*passed < SPACES);
    }
    for (unsigned work = 0; work < WORK_CLASSES; work++)
        if (waiting(m, (enum work_class)work, -1))
            assert_true(m->class_passed[work] < 2 * ROUND);
}

static void whatever_comes_and_goes_none_is_lost_and_none_starves(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct random random = {seed * 77};
        struct model m = {0};
        fair_queue_init(&m.queue, seed);
        number(m.e, MODEL);
        for (size_t i = 0; i < MODEL; i++)
            m.e[i].space = (unsigned)(i % SPACES);
        for (unsigned n = 0; n < 2000; n++) {
            size_t i = random_below(&random, MODEL);
            uint64_t lot = random_below(&random, 10);
            enum work_class work = (enum work_class)random_below(&random, WORK_CLASSES);
            if (lot < 4) {
                put_some(&m, i, work);
            } else if (lot < 5) {
                fair_queue_remove(&m.e[i].node);
                m.came[i] = 0;
            } else {
                take_one(&m);
            }
            size_t count = 0;
            for (int w = 0; w < WORK_CLASSES; w++) {
                assert_int_equal(m.queue.classes[w].count, waiting(&m, (enum work_class)w, -1));
                count += m.queue.classes[w].count;
            }
            assert_int_equal(m.queue.count, count);
        }
        fair_queue_free(&m.queue); // with what still waits
    }
}

// What is looked at in one round, to the end or `most`.
static void assert_seen(struct fair_queue *queue, size_t most, const char *expected) {
    char order[256] = "";
    size_t len = 0;
    fair_queue_begin_round(queue);
    for (struct entry *entry; most-- > 0 && (entry = fair_queue_look(queue, WORK_CREATE));)
        len += (size_t)snprintf(order + len, sizeof order - len, "%s%u", len ? " " : "", entry->number);
    assert_string_equal(order, expected);
}

static void each_is_looked_at_once_in_a_round_and_the_turns_go_on(void **state) {
    (void)state;
    struct fair_queue queue;
    struct entry e[6];
    number(e, 6);
    fair_queue_init(&queue, 1);
    assert_seen(&queue, 9, "");
    for (size_t i = 0; i < 4; i++)
        put(&queue, &e[i], WORK_CREATE, 0, "crowd");
    put(&queue, &e[4], WORK_CREATE, 0, "one");
    put(&queue, &e[5], WORK_CREATE, 1, "one");
    assert_seen(&queue, 9, "0 4 5 1 2 3");
    assert_seen(&queue, 1, "4");
    assert_seen(&queue, 1, "5");
    assert_seen(&queue, 3, "0 4 5");
    fair_queue_remove(&e[0].node);
    assert_seen(&queue, 2, "1 4");
    fair_queue_remove(&e[2].node); // is next in its flow
    fair_queue_remove(&e[4].node); // was its flow
    assert_int_equal(fair_queue_look(&queue, WORK_CREATE)->number, 5);
    assert_int_equal(fair_queue_look(&queue, WORK_CREATE)->number, 3);
    assert_null(fair_queue_look(&queue, WORK_CREATE));
    assert_int_equal(queue.count, 3);
    fair_queue_free(&queue);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(within_a_flow_the_first_to_come_is_the_first_to_go),
        cmocka_unit_test(many_objects_of_one_namespace_do_not_delay_one_of_another),
        cmocka_unit_test(kinds_and_namespaces_take_turns),
        cmocka_unit_test(the_namespace_is_as_long_as_it_is_said_to_be),
        cmocka_unit_test(classes_have_exact_shares_by_weight_whichever_of_them_wait),
        cmocka_unit_test(the_final_status_is_the_first_and_of_most_weight),
        cmocka_unit_test(one_that_is_put_again_keeps_its_place),
        cmocka_unit_test(any_of_them_may_leave),
        cmocka_unit_test(whatever_comes_and_goes_none_is_lost_and_none_starves),
        cmocka_unit_test(each_is_looked_at_once_in_a_round_and_the_turns_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
