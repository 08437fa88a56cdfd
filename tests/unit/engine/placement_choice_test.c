// SPDX-License-Identifier: Apache-2.0
// Properties of the choice of a worker, for many small random states: what is chosen may be chosen, and nothing that
// may be is better by the policy.
#include "core/base/text.h"
#include "core/engine/placement/placement.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define WORKERS 5
#define ROUNDS 200000
#define NOW (1000 * CLOCK_SECOND)

struct state {
    struct workload_facts workload;
    struct worker_facts workers[WORKERS + 1];
    struct mirror_facts mirrors[WORKERS];
    struct placement_option options[WORKERS + 1];
    struct placement_view view;
    struct decide_facts facts;
};

static void make(struct random *random, struct state *s) {
    static const char *const names[] = {"", "a", "b", "c", "d", "e"};
    memset(s, 0, sizeof *s);
    s->workload = (struct workload_facts){.exists = true};
    s->facts = (struct decide_facts){
        .workload = &s->workload, .workers = s->workers, .n_clusters = WORKERS + 1, .placing = true, .now_ns = NOW};
    s->view = (struct placement_view){.policy = (enum placement_policy)random_below(random, 4),
                                      .pinned = random_below(random, 4) == 0,
                                      .workers = s->options,
                                      .n_clusters = WORKERS + 1};
    if (random_below(random, 5))
        s->facts.view = &s->view;
    for (uint32_t c = 1; c <= WORKERS; c++) {
        s->workers[c] = (struct worker_facts){.name = names[c],
                                              .state_known = true,
                                              .connected = true,
                                              .serves = true,
                                              .eligible = random_below(random, 4) > 0,
                                              .active = random_below(random, 4),
                                              .weight = 1 + (uint32_t)random_below(random, 3),
                                              .order = (uint32_t)random_below(random, 4)};
        s->options[c] = (struct placement_option){.rank = c * 7 % 6, .until_ns = CLOCK_NEVER};
        if (random_below(random, 3) == 0)
            s->options[c].obstacle = OBSTACLE_FULL;
        if (random_below(random, 4))
            continue;
        struct mirror_facts *m = &s->mirrors[c - 1];
        *m = (struct mirror_facts){.next = s->facts.mirrors ? (struct mirror_facts *)s->facts.mirrors : NULL,
                                   .cluster = c,
                                   .excluded_until_ns = random_below(random, 2) ? NOW + 1 : 0,
                                   .present = random_below(random, 2)};
        s->facts.mirrors = m;
    }
}

static bool may_get_it(const struct state *s, size_t c) {
    const struct mirror_facts *m = &s->mirrors[c - 1];
    bool barred = m->cluster == c && (m->present || m->excluded_until_ns > NOW);
    bool obstacle = s->facts.view && s->options[c].obstacle != OBSTACLE_NONE;
    return s->workers[c].eligible && !barred && !obstacle;
}

// Strictly.
static bool is_better(const struct state *s, size_t a, size_t b) {
    const struct worker_facts *x = &s->workers[a], *y = &s->workers[b];
    if (s->facts.view && s->view.pinned)
        return s->options[a].rank < s->options[b].rank;
    switch (s->facts.view ? s->view.policy : PLACEMENT_LEAST_ACTIVE) {
    case PLACEMENT_ORDERED:
        return (x->order ? x->order : 99) < (y->order ? y->order : 99);
    case PLACEMENT_WEIGHTED:
        return (double)(x->active + 1) / x->weight + 1e-9 < (double)(y->active + 1) / y->weight;
    case PLACEMENT_BIN_PACK:
        return x->active > y->active;
    case PLACEMENT_LEAST_ACTIVE:
        break;
    }
    return x->active < y->active;
}

static void the_choice_is_permitted_and_nothing_is_better(void **state) {
    (void)state;
    struct random random = {.state = 7};
    size_t found = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct state s;
        make(&random, &s);
        int64_t next_ns = CLOCK_NEVER;
        bool asks = false;
        s.facts.asks = &asks;
        size_t chosen = placement_choose(&s.facts, &next_ns, &(size_t){0});
        assert_true(asks);
        if (chosen && !may_get_it(&s, chosen))
            fail_msg("round %u: %zu may not be chosen", round, chosen);
        for (size_t c = 1; c <= WORKERS; c++) {
            if (!may_get_it(&s, c))
                continue;
            if (!chosen)
                fail_msg("round %u: nothing is chosen, but %zu could be", round, c);
            if (is_better(&s, c, chosen))
                fail_msg("round %u: %zu is chosen, but %zu is better", round, chosen, c);
        }
        found += chosen > 0;
    }
    assert_true(found > ROUNDS / 2 && found < ROUNDS);
}

// The share of each worker follows its weight, whatever the order in which others end.
static void weights_are_kept_over_time(void **state) {
    (void)state;
    struct random random = {.state = 3};
    struct state s;
    memset(&s, 0, sizeof s);
    make(&random, &s);
    s.facts.mirrors = NULL;
    s.facts.view = &s.view;
    s.view.policy = PLACEMENT_WEIGHTED;
    s.view.pinned = false;
    memset(s.mirrors, 0, sizeof s.mirrors);
    size_t weights = 0, total = 0;
    for (uint32_t c = 1; c <= WORKERS; c++) {
        s.options[c].obstacle = OBSTACLE_NONE;
        s.workers[c].eligible = true;
        s.workers[c].active = 0;
        weights += s.workers[c].weight = c;
    }
    for (unsigned round = 0; round < 5000; round++) {
        int64_t next_ns = CLOCK_NEVER;
        if (total > 300)
            for (size_t end = 1 + random_below(&random, WORKERS);; end = 1 + random_below(&random, WORKERS))
                if (s.workers[end].active > 0) {
                    s.workers[end].active--;
                    total--;
                    break;
                }
        s.workers[placement_choose(&s.facts, &next_ns, &(size_t){0})].active++;
        total++;
    }
    for (size_t c = 1; c <= WORKERS; c++) {
        size_t share = total * c / weights;
        if (s.workers[c].active + 2 < share || s.workers[c].active > share + 2)
            fail_msg("%zu has %zu, expected about %zu", c, s.workers[c].active, share);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_choice_is_permitted_and_nothing_is_better),
        cmocka_unit_test(weights_are_kept_over_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
