// SPDX-License-Identifier: Apache-2.0
#include "core/conform/child.h"

#include "core/adapter/phase.h"
#include "core/base/text.h"
#include "core/json/patch.h"

#include <stdio.h>
#include <string.h>

#define CHANGED_PHASE "phase was WHARF_%s, and is WHARF_%s after a user's change that the API allows"

static bool is_final(int phase) {
    return phase >= 0 && phase_is_final((wharf_phase_kind)phase);
}

// Extends the description of the trial's object for the following calls.
static void about(struct run *run, size_t base_len, const char *what, const char *more) {
    snprintf(run->board->object + base_len, sizeof(run->board->object) - base_len, "%s%s", what, more);
}

// `finished` is a workload with a final phase, which must stay the same for any state of the mirror.
static void check_finished(struct run *run, const struct json *finished, int phase, const struct json *mirror,
                           wharf_mirror_state state) {
    run->must_stay = phase;
    const struct json *after = step_status(run, finished, mirror, state);
    run->must_stay = -1;
    int then = step_phase(run, after);
    if (then >= 0 && then != phase)
        run_report(run, RULE_FINISHED, CALL_STATUS, "",
                   "phase was WHARF_%s, and is WHARF_%s after the host wrote the result of `status`", phase_name(phase),
                   phase_name(then));
}

// Tries every other state of the mirror with this state of the workload.
static void try_other_mirrors(struct run *run, const struct subject *subject, const struct json *workload,
                              const struct json *mirror, size_t base_len) {
    int phase = step_phase(run, workload);
    for (size_t i = 0; i < subject->n_states; i++) {
        about(run, base_len, "; then the mirror has the status of ", subject->state_sources[i]);
        const struct json *other = input_with_status(mirror, subject->states[i]);
        if (!other)
            return;
        if (is_final(phase))
            check_finished(run, workload, phase, other, WHARF_MIRROR_PRESENT);
        else
            step_status(run, workload, other, WHARF_MIRROR_PRESENT);
    }
    static const wharf_mirror_state states[] = {WHARF_MIRROR_NONE, WHARF_MIRROR_LOST};
    for (size_t i = 0; i < 2; i++) {
        about(run, base_len, "; then ", states[i] == WHARF_MIRROR_LOST ? "the worker is lost" : "there is no mirror");
        if (is_final(phase))
            check_finished(run, workload, phase, NULL, states[i]);
        else
            step_status(run, workload, NULL, states[i]);
    }
    about(run, base_len, "", "");
}

static void try_changes(struct run *run, const struct subject *subject, const struct json *workload,
                        const struct json *mirror, size_t base_len) {
    about(run, base_len, "; then a user changes the object", "");
    for (size_t i = 0; i < subject->n_changes; i++) {
        AUTO_JSON changed = json_copy(workload);
        if (!changed || !patch_apply(&changed, subject->changes[i]))
            return;
        const struct json *input = input_copy(changed);
        if (!input)
            return;
        int phase = step_phase(run, workload), then = step_phase(run, input);
        if (is_final(phase) && then >= 0 && then != phase)
            run_report(run, RULE_FINISHED, CALL_PHASE, "", CHANGED_PHASE, phase_name(phase), phase_name(then));
        const struct json *after = step_update(run, input, mirror, false);
        step_update(run, workload, after, false);
        step_mirror(run, input, NULL);
        step_pods(run, input);
    }
    about(run, base_len, "", "");
}

// The life of a valid object: the host makes a mirror, the mirror gets a status, the host copies the status, and then
// the mirror gets every other status.
static void whole_trial(struct run *run, const struct trial *trial, const struct json *object, size_t base_len) {
    const struct subject *subject = &run->now->subjects[trial->subject];
    const struct json *fresh = input_copy(subject->object);
    const struct json *status = trial->state == NO_STATE ? NULL : subject->states[trial->state];
    if (!fresh)
        return;
    step_pods(run, fresh);
    step_phase(run, fresh);
    step_accept(run, fresh);
    int phase = step_phase(run, object);
    step_status(run, object, NULL, WHARF_MIRROR_NONE);
    step_gave_up(run, object);
    step_mirror(run, object, NULL);
    const struct json *made = step_mirror(run, fresh, NULL);
    const struct json *mirror = !made || !status ? made : input_with_status(made, status);
    step_memory(run, object, mirror);
    if (!mirror)
        return;
    if (subject->document)
        traits_of_mirror(run, made);
    step_update(run, fresh, made, true);
    step_update(run, fresh, mirror, false);
    step_phase(run, mirror);
    const struct json *after = step_status(run, fresh, mirror, WHARF_MIRROR_PRESENT);
    bool is_copied = run->answered == WHARF_OK;
    int copied = step_phase(run, after);
    if (is_copied && trial->state != NO_STATE && subject->given[trial->state] && copied >= 0 && is_final(phase) &&
        copied != phase)
        run_report(run, RULE_STATUS_PHASE, CALL_STATUS, "",
                   "the mirror is WHARF_%s, and the workload with the copied status is WHARF_%s", phase_name(phase),
                   phase_name(copied));
    step_update(run, after, mirror, false);
    try_other_mirrors(run, subject, after, mirror, base_len);
    try_changes(run, subject, after, mirror, base_len);
}

// A broken object: as a workload, as a mirror, and as both.
static void broken_trial(struct run *run, const struct trial *trial, const struct json *object) {
    const struct subject *subject = &run->now->subjects[trial->subject];
    const struct json *fresh = input_copy(subject->object);
    step_phase(run, object);
    step_accept(run, object);
    step_pods(run, object);
    step_status(run, object, NULL, WHARF_MIRROR_NONE);
    const struct json *own = step_mirror(run, object, NULL);
    if (own) {
        step_update(run, object, own, true);
        const struct json *seen = input_with_status(own, json_get(object, "status"));
        step_status(run, object, seen ? seen : own, WHARF_MIRROR_PRESENT);
    }
    if (trial->type == TRIAL_HEAVY || !fresh)
        return;
    const struct json *whole = step_mirror(run, fresh, trial->state == NO_STATE ? NULL : subject->states[trial->state]);
    if (!whole)
        return;
    step_update(run, object, whole, false);
    step_status(run, object, whole, WHARF_MIRROR_PRESENT);
    if (!text_has_prefix(trial->pointer, "/status"))
        return;
    const struct json *after = step_status(run, fresh, whole, WHARF_MIRROR_PRESENT);
    const struct json *broken = input_with_status(whole, json_get(object, "status"));
    int phase = step_phase(run, after);
    if (broken && is_final(phase))
        check_finished(run, after, phase, broken, WHARF_MIRROR_PRESENT);
    else if (broken)
        step_status(run, after, broken, WHARF_MIRROR_PRESENT);
}

static bool given_up(const struct board *board, size_t kind) {
    bool any = false;
    for (enum function function = CALL_LOAD; function < N_FUNCTIONS; function++)
        any |= board->given_up[kind % BOARD_KINDS][function];
    return any;
}

void run_trial(struct run *run, const struct trial *trial) {
    struct board *board = run->board;
    run->now = &run->tested[trial->tested];
    run->ordinal = 0;
    run->must_stay = -1;
    run->differs = given_up(board, run->now->index); // then later calls get other inputs
    run->thorough = trial->type == TRIAL_WHOLE || trial->type == TRIAL_LIFE;
    run->ordinary = trial->type != TRIAL_HEAVY;
    board->kind_index = run->now->index;
    text_copy(board->kind, sizeof(board->kind), run->now->kind.plural_group);
    AUTO_BUFFER(words, 4096);
    const struct json *object = input_take(trial_object(run, trial, &words));
    text_copy(board->object, sizeof(board->object), words.data ? words.data : "");
    if (trial->type == TRIAL_CROWD)
        crowd_run(run);
    else if (trial->type == TRIAL_LIFE)
        life_run(run, &run->now->subjects[trial->subject], trial->how);
    else if (object && trial->type == TRIAL_WHOLE)
        whole_trial(run, trial, object, strlen(board->object));
    else if (object)
        broken_trial(run, trial, object);
    if (!run->thorough)
        surroundings_check(run, board->function);
    surroundings_check_signals(run, board->function);
    board->objects++;
    input_reset();
}
