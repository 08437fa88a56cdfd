// SPDX-License-Identifier: Apache-2.0
// Functions in several threads at once: every thread makes the same calls, starting at a different one, and must get
// the answers of a single thread. Services yield to other threads now and then (watch.c), so that an adapter's state
// outside of a call shows.
#include "core/conform/child.h"

#include "core/adapter/pods.h"
#include "core/adapter/references.h"
#include "core/base/thread.h"

#define N_THREADS 4
#define CALLS 400     // of a thread and function
#define INPUTS_MAX 64 // workloads with their mirrors
#define ALL_FUNCTIONS CALL_LOAD
#define CROWD_ORDINAL UINT32_C(1000000) // of the call of a function

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
    atomic_bool wrong[N_FUNCTIONS];
};

struct walker {
    struct crowd *crowd;
    pthread_t thread;
    size_t at;
};

// A function that changes a draft gets a copy, as from the host.
static struct json *make_draft(enum function function, const struct json *workload, const struct json *mirror) {
    if (function == CALL_MIRROR)
        return json_copy(workload);
    if (function == CALL_UPDATE)
        return json_copy(mirror);
    if (function == CALL_PROGRESS || function == CALL_CHILD_PROGRESS)
        return json_new_object();
    AUTO_JSON empty = function == CALL_STATUS ? json_new_object() : NULL;
    return with_status(empty, json_get(mirror, "status"));
}

static wharf_result ask_dependencies(struct adapter_call *call, const struct json *workload, struct json **out) {
    __attribute__((cleanup(references_clear))) struct references found = {.list = NULL};
    wharf_result result = references_of(call, workload, &found);
    *out = references_list(&found);
    return result;
}

uint64_t crowd_ask(struct run *run, enum function function, const struct json *workload, const struct json *mirror) {
    struct adapter_call call;
    wharf_phase phase = {.size = 0};
    wharf_result result = WHARF_OK;
    AUTO_JSON out = make_draft(function, workload, mirror);
    __atomic_fetch_add(&run->board->calls, 1, __ATOMIC_RELAXED);
    probe_begin_call(&call, run->now->real, 0, workload, WHARF_MIRROR_PRESENT);
    if (function == CALL_PHASE)
        result = adapter_phase(&call, workload, &phase);
    else if (function == CALL_ACCEPT)
        result = adapter_accept(&call, workload);
    else if (function == CALL_POD_SETS)
        result = pods_of(&call, workload, &out);
    else if (function == CALL_DEPENDENCIES)
        result = ask_dependencies(&call, workload, &out);
    else if (function == CALL_MIRROR)
        result = adapter_mirror(&call, workload, out);
    else if (function == CALL_UPDATE)
        result = adapter_update(&call, workload, mirror, out);
    else if (function == CALL_PROGRESS && out)
        result = adapter_progress(&call, workload, mirror, out);
    else if (function == CALL_CHILD_PROGRESS && out)
        result = adapter_child_progress(&call, workload, mirror, out);
    else if (out)
        result = adapter_status(&call, workload, mirror, out);
    uint64_t hash = probe_hash(&call.answer, (int)result, out, &phase);
    adapter_call_end(&call);
    return hash;
}

static uint64_t ask(const struct crowd *crowd, enum function function, const struct crowd_input *input) {
    return crowd_ask(crowd->run, function, input->workload, input->mirror);
}

static void *walk(void *argument) {
    struct walker *walker = argument;
    struct crowd *crowd = walker->crowd;
    pthread_barrier_wait(&crowd->start);
    for (size_t i = walker->at; i < walker->at + CALLS; i++) {
        const struct crowd_input *input = &crowd->inputs[i % crowd->n_inputs];
        enum function function = crowd->function;
        if (function == ALL_FUNCTIONS)
            function = (enum function)(CALL_PHASE + i / crowd->n_inputs % (N_FUNCTIONS - CALL_PHASE));
        if (input->steady[function] && ask(crowd, function, input) != input->expected[function])
            crowd->wrong[function] = true;
    }
    return NULL;
}

static void walk_together(struct crowd *crowd) {
    struct walker walkers[N_THREADS];
    if (pthread_barrier_init(&crowd->start, NULL, N_THREADS) != 0)
        return;
    crowd->run->crowded = true;
    crowd->run->board->stage = STAGE_CALL;
    for (size_t i = 0; i < N_THREADS; i++) {
        walkers[i] = (struct walker){.crowd = crowd, .at = i * crowd->n_inputs / N_THREADS};
        if (thread_start("crowd", 0, walk, &walkers[i], &walkers[i].thread) != 0)
            abort(); // the others would wait for ever
    }
    for (size_t i = 0; i < N_THREADS; i++)
        pthread_join(walkers[i].thread, NULL);
    crowd->run->board->stage = STAGE_HOST;
    crowd->run->crowded = false;
    state_check(crowd->run, crowd->run->board->function, STATE_CALL);
    pthread_barrier_destroy(&crowd->start);
}

static void add_input(struct crowd *crowd, const struct subject *subject, size_t state) {
    struct json *object = crowd->n_inputs < INPUTS_MAX ? subject_with(subject, state) : NULL;
    const struct json *workload = input_take(object);
    const struct json *fresh = workload ? input_copy(subject->object) : NULL;
    const struct json *status = subject_status(subject, state);
    const struct json *mirror = fresh ? step_mirror(crowd->run, fresh, status) : NULL;
    if (mirror)
        crowd->inputs[crowd->n_inputs++] = (struct crowd_input){.workload = workload, .mirror = mirror};
}

static void ask_alone(struct crowd *crowd, enum function function) {
    crowd->run->board->stage = STAGE_CALL;
    for (size_t i = 0; i < crowd->n_inputs; i++) {
        struct crowd_input *input = &crowd->inputs[i];
        input->expected[function] = ask(crowd, function, input);
        input->steady[function] = ask(crowd, function, input) == input->expected[function];
    }
    crowd->run->board->stage = STAGE_HOST;
    state_check(crowd->run, function, STATE_CALL);
}

// False if an earlier child died in this test.
static bool announce(struct crowd *crowd, enum function function, enum function named) {
    struct run *run = crowd->run;
    struct board *board = run->board;
    crowd->function = function;
    board->ordinal = CROWD_ORDINAL + (uint32_t)function;
    board->function = named;
    snprintf(board->object, sizeof(board->object), "all objects, in %d threads at once", N_THREADS);
    size_t kind = run->now->index % BOARD_KINDS;
    return !probe_is_skipped(board) && !board->given_up[kind][named] && board->slow[kind][named] == 0;
}

void crowd_trial(struct run *run) {
    struct crowd *crowd = calloc(1, sizeof(*crowd));
    enum function last = CALL_LOAD;
    if (!crowd)
        return;
    crowd->run = run;
    for (size_t s = 0; s < run->now->n_subjects; s++)
        for (size_t i = 0; i <= run->now->subjects[s].n_states; i++)
            add_input(crowd, &run->now->subjects[s], i == 0 ? NO_STATE : i - 1);
    for (enum function function = CALL_PHASE; crowd->n_inputs > 0 && function < N_FUNCTIONS; function++) {
        if (!tested_has(run->now, function) || !announce(crowd, function, function))
            continue;
        ask_alone(crowd, function);
        walk_together(crowd);
        last = function;
    }
    if (last != CALL_LOAD && announce(crowd, ALL_FUNCTIONS, last))
        walk_together(crowd);
    run->workload = run->mirror = NULL;
    for (enum function function = CALL_PHASE; function < N_FUNCTIONS; function++)
        if (crowd->wrong[function])
            run_report(run, RULE_CROWD, function, "",
                       "called in %d threads at once, the output differs from a single call's", N_THREADS);
    free(crowd);
}
