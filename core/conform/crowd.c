// SPDX-License-Identifier: Apache-2.0
// Functions of an adapter in several threads at once: every thread makes the same calls, starting at a different one,
// and must get the answers of a single thread. Services yield to other threads now and then (watch.c), so that an
// adapter's state outside of a call shows.
#include "core/base/thread.h"
#include "core/conform/child.h"

#include "core/adapter/pods.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_THREADS 4
#define CALLS 400     // of a thread and function
#define INPUTS_MAX 64 // workloads with their mirrors
#define ALL_FUNCTIONS CALL_LOAD

struct crowd_input {
    const struct json *workload, *mirror;
    uint64_t expected[N_FUNCTIONS];
    bool steady[N_FUNCTIONS]; // alone, two calls have the same answer
};

struct crowd {
    struct run *run;
    struct crowd_input inputs[INPUTS_MAX];
    size_t n_inputs;
    enum function function; // to call, or ALL_FUNCTIONS
    pthread_barrier_t start;
    bool wrong[N_FUNCTIONS];
};

struct walker {
    struct crowd *crowd;
    pthread_t thread;
    size_t at;
    bool wrong[N_FUNCTIONS];
};

// The hash of the function's answer. A function that changes a draft gets a copy, as from the host.
static uint64_t ask(struct adapter_call *call, enum function function, const struct crowd_input *input) {
    AUTO_JSON out = NULL;
    wharf_phase phase = {.size = 0};
    wharf_result result = WHARF_OK;
    if (function == CALL_PHASE) {
        result = adapter_phase(call, input->workload, &phase);
    } else if (function == CALL_ACCEPT) {
        result = adapter_accept(call, input->workload);
    } else if (function == CALL_MIRROR) {
        out = json_copy(input->workload);
        result = adapter_mirror(call, input->workload, out);
    } else if (function == CALL_UPDATE) {
        out = json_copy(input->mirror);
        result = adapter_update(call, input->workload, input->mirror, out);
    } else if (function == CALL_POD_SETS) {
        result = pods_of(call, input->workload, &out);
    } else if (function == CALL_STATUS) {
        AUTO_JSON empty = json_new_object();
        out = with_status(empty, json_get(input->mirror, "status"));
        result = out ? adapter_status(call, input->workload, input->mirror, out) : WHARF_OK;
    }
    return probe_hash(&call->answer, (int)result, out, &phase);
}

static uint64_t answer_of(const struct crowd *crowd, enum function function, const struct crowd_input *input) {
    const struct kind *kind = crowd->run->now->real;
    struct call_context context = {.kind = &kind->abi,
                                   .given = kind->given,
                                   .now = {.wall_ns = CROWD_NOW_NS},
                                   .cluster = "worker-1",
                                   .attempt = 1,
                                   .version = kind->abi.versions[0],
                                   .mirror_state = WHARF_MIRROR_PRESENT};
    struct adapter_call call;
    __atomic_fetch_add(&crowd->run->board->calls, 1, __ATOMIC_RELAXED);
    adapter_call_begin(&call, &context);
    uint64_t hash = ask(&call, function, input);
    adapter_call_end(&call);
    return hash;
}

static void call_one(struct walker *walker, size_t number) {
    struct crowd *crowd = walker->crowd;
    const struct crowd_input *input = &crowd->inputs[number % crowd->n_inputs];
    enum function function = crowd->function;
    if (function == ALL_FUNCTIONS)
        function = (enum function)(CALL_PHASE + number / crowd->n_inputs % (N_FUNCTIONS - CALL_PHASE));
    if (input->steady[function] && answer_of(crowd, function, input) != input->expected[function])
        walker->wrong[function] = true;
}

static void *walk(void *argument) {
    struct walker *walker = argument;
    pthread_barrier_wait(&walker->crowd->start);
    for (size_t i = 0; i < CALLS; i++)
        call_one(walker, walker->at + i);
    return NULL;
}

static void walk_together(struct crowd *crowd) {
    struct walker walkers[N_THREADS];
    size_t started = 0;
    if (pthread_barrier_init(&crowd->start, NULL, N_THREADS) != 0)
        return;
    crowd->run->crowded = true;
    crowd->run->board->stage = STAGE_CALL;
    for (; started < N_THREADS; started++) {
        walkers[started] = (struct walker){.crowd = crowd, .at = started * crowd->n_inputs / N_THREADS};
        if (thread_start("crowd", 0, walk, &walkers[started], &walkers[started].thread) != 0)
            abort(); // the others would wait for ever
    }
    for (size_t i = 0; i < started; i++) {
        pthread_join(walkers[i].thread, NULL);
        for (enum function function = CALL_PHASE; function < N_FUNCTIONS; function++)
            crowd->wrong[function] |= walkers[i].wrong[function];
    }
    crowd->run->board->stage = STAGE_HOST;
    crowd->run->crowded = false;
    pthread_barrier_destroy(&crowd->start);
}

static void add_input(struct crowd *crowd, const struct subject *subject, size_t state) {
    AUTO_JSON object = subject_with(subject, state);
    const struct json *workload = crowd->n_inputs < INPUTS_MAX && object ? input_copy(object) : NULL;
    const struct json *fresh = workload ? input_copy(subject->object) : NULL;
    const struct json *status = state == NO_STATE ? NULL : subject->states[state];
    const struct json *mirror = fresh ? step_mirror(crowd->run, fresh, status) : NULL;
    if (mirror)
        crowd->inputs[crowd->n_inputs++] = (struct crowd_input){.workload = workload, .mirror = mirror};
}

static void ask_alone(struct crowd *crowd, enum function function) {
    for (size_t i = 0; i < crowd->n_inputs; i++) {
        struct crowd_input *input = &crowd->inputs[i];
        crowd->run->board->stage = STAGE_CALL;
        input->expected[function] = answer_of(crowd, function, input);
        input->steady[function] = answer_of(crowd, function, input) == input->expected[function];
        crowd->run->board->stage = STAGE_HOST;
    }
}

// False if an earlier child died in this test.
static bool announce(struct run *run, enum function function, enum function named) {
    struct board *board = run->board;
    board->ordinal = CROWD_ORDINAL + (uint32_t)function;
    board->function = named;
    snprintf(board->object, sizeof(board->object), "all objects, in %d threads at once", N_THREADS);
    return !probe_is_skipped(board) && !board->given_up[run->now->index % BOARD_KINDS][named];
}

void crowd_run(struct run *run) {
    struct crowd *crowd = calloc(1, sizeof(*crowd));
    const wharf_kind *kind = &run->now->kind.abi;
    enum function last = CALL_PHASE;
    for (size_t s = 0; crowd && s < run->now->n_subjects; s++)
        for (size_t i = 0; i <= run->now->subjects[s].n_states; i++) {
            crowd->run = run;
            add_input(crowd, &run->now->subjects[s], i == 0 ? NO_STATE : i - 1);
        }
    bool any = false;
    for (enum function function = CALL_PHASE; crowd && crowd->n_inputs > 0 && function < N_FUNCTIONS; function++) {
        if (!adapter_has(kind, (enum adapter_function)(function - CALL_PHASE)) || !announce(run, function, function))
            continue;
        crowd->function = function;
        ask_alone(crowd, function);
        walk_together(crowd);
        any = true;
        last = function;
    }
    if (any && announce(run, ALL_FUNCTIONS, last)) {
        crowd->function = ALL_FUNCTIONS;
        walk_together(crowd);
    }
    run->workload = run->mirror = NULL;
    for (enum function function = CALL_PHASE; crowd && function < N_FUNCTIONS; function++)
        if (crowd->wrong[function])
            run_report(run, RULE_CROWD, function, "",
                       "called in %d threads at once, the output differs from a single call's", N_THREADS);
    free(crowd);
}
