// SPDX-License-Identifier: Apache-2.0
// A queue without memory: what finds no place does not wait, what waits stays in its order.
#include "core/engine/store/fair_queue.h"
#include "tests/unit/fault/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define NODES 12

struct entry {
    struct fair_node node;
};

// In three flows of two classes.
static struct error *wait_and_go(void **out) {
    struct fair_queue queue;
    struct entry e[NODES] = {0};
    size_t waiting = 0, came = 0;
    fair_queue_init(&queue, 1);
    for (size_t i = 0; i < NODES; i++) {
        bool put =
            fair_queue_put(&queue, &e[i].node, &e[i], i % 3 ? WORK_CREATE : WORK_STATUS, (uint32_t)(i % 3), "a", 1);
        assert_true(put == !!e[i].node.flow);
        waiting += put;
        assert_int_equal(queue.count, waiting);
    }
    const struct entry *last[3] = {NULL};
    for (struct entry *entry; (entry = fair_queue_next(&queue)); came++) {
        size_t flow = (size_t)(entry - e) % 3;
        assert_true(!last[flow] || last[flow] < entry);
        last[flow] = entry;
    }
    assert_int_equal(came, waiting);
    fair_queue_free(&queue);
    *out = NULL;
    return waiting == NODES ? NULL : error_no_memory();
}

static void what_cannot_wait_is_told_and_the_others_keep_their_order(void **state) {
    (void)state;
    fault_try(&(struct fault_case){.name = "fair_queue_put", .run = wait_and_go});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_cannot_wait_is_told_and_the_others_keep_their_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
