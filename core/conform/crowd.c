// SPDX-License-Identifier: Apache-2.0
// Functions of an adapter in several threads at once: each of them goes through the same calls, beginning at another
// one, and must get the answers that a call got alone. Services let other threads go first now and then (watch.c), so
// that what an adapter keeps outside of its call does not stay unseen.
#include "core/base/thread.h"
#include "core/conform/child.h"

#include "core/adapter/pods.h"
#include "core/adapter/services.h"

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
    bool steady[N_FUNCTIONS]; // alone, it has the same answer twice
};

struct crowd {
    struct run *run;
    struct crowd_input inputs[INPUTS_MAX];
    size_t n_inputs;
    enum function function; // that is called, or ALL_FUNCTIONS
    pthread_barrier_t start;
    bool wrong[N_FUNCTIONS];
};

struct walker {
    struct crowd *crowd;
    pthread_t thread;
    size_t at;
    bool wrong[N_FUNCTIONS];
};

static bool has_function(const wharf_kind *kind, enum function function) {
    const bool has[N_FUNCTIONS] = {
        [CALL_PHASE] = kind->phase,   [CALL_ACCEPT] = kind->accept, [CALL_MIRROR] = kind->mirror,
        [CALL_UPDATE] = kind->update, [CALL_STATUS] = kind->status, [CALL_POD_SETS] = kind->pod_sets,
    };
    return has[function];
}

static uint64_t mix(uint64_t hash, uint64_t value) {
    return (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15) + (hash >> 29);
}

static uint64_t mix_text(uint64_t hash, const char *text) {
    hash = mix(hash, text ? 1 : 2);
    for (; text && *text != '\0'; text++)
        hash = mix(hash, (unsigned char)*text);
    return hash;
}

static wharf_result ask_phase(struct adapter_call *call, const struct json *object, uint64_t *hash) {
    wharf_phase phase;
    wharf_result result = adapter_phase(call, object, &phase);
    *hash = mix_text(mix_text(mix(mix(*hash, phase.phase), (uint64_t)phase.since_ns), phase.reason), phase.message);
    return result;
}

// The draft that a function is given, its call, and what it made of it.
static wharf_result ask(struct adapter_call *call, enum function function, const struct crowd_input *input,
                        uint64_t *hash) {
    AUTO_JSON out = NULL;
    wharf_result result = WHARF_OK;
    if (function == CALL_PHASE) {
        result = ask_phase(call, input->workload, hash);
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
        out = json_new_object();
        const struct json *status = json_get(input->mirror, "status");
        if (out && (!status || json_set(out, "status", json_copy(status))))
            result = adapter_status(call, input->workload, input->mirror, out);
    }
    *hash = mix(*hash, result == WHARF_OK ? json_hash(out) : 0);
    return result;
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
    uint64_t hash = function;
    __atomic_fetch_add(&crowd->run->board->calls, 1, __ATOMIC_RELAXED);
    adapter_call_begin(&call, &context);
    wharf_result result = ask(&call, function, input, &hash);
    hash = mix_text(mix_text(mix(hash, result), call.answer.reason), call.answer.message);
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

static bool is_skipped(const struct board *board) {
    bool any = false;
    for (size_t i = 0; i < board->n_skips; i++)
        any |= board->skips[i].trial == board->trial && board->skips[i].ordinal == board->ordinal;
    return any;
}

// False if a child died of it.
static bool announce(struct run *run, enum function function, enum function named) {
    struct board *board = run->board;
    board->ordinal = CROWD_ORDINAL + (uint32_t)function;
    board->function = named;
    snprintf(board->object, sizeof(board->object), "its objects, in %d threads at once", N_THREADS);
    return !is_skipped(board) && !board->given_up[run->now->index % BOARD_KINDS][named];
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
        if (!has_function(kind, function) || !announce(run, function, function))
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
            run_say(run, RULE_CROWD, function, "", "called in %d threads at once, it has other output than alone",
                    N_THREADS);
    free(crowd);
}
