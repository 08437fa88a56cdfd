// SPDX-License-Identifier: Apache-2.0
// The calls of one trial.
#include "core/conform/child.h"

#include "core/adapter/phase.h"

#define LATER_NS (INT64_C(365) * 24 * 60 * CLOCK_MINUTE)
#define CHANGED_PHASE "phase was WHARF_%s, and is WHARF_%s after a user's change that the API allows"

static bool is_final(int phase) {
    return phase >= 0 && phase_is_final((wharf_phase_kind)phase);
}

// Extends the description of the trial's object for the following calls.
static void about(struct run *run, const char *what, const char *more) {
    size_t len = run->object_len;
    snprintf(run->board->object + len, sizeof(run->board->object) - len, "%s%s", what, more);
}

// Asks for the final phase of an object that a user, or time, changes in ways that do not concern the run.
static void try_later(struct run *run, const struct json *object, int phase) {
    static const char changed[] = "{\"metadata\":{\"generation\":%lld,\"deletionTimestamp\":\"2026-01-02T04:04:05Z\","
                                  "\"labels\":{\"example.com/later\":\"true\"}}}";
    if (!is_final(phase))
        return;
    run->later_ns = LATER_NS;
    int then = step_phase(run, object);
    run->later_ns = 0;
    if (then >= 0 && then != phase)
        run_report(run, RULE_FINISHED, CALL_PHASE, "time", "phase was WHARF_%s, and is WHARF_%s a year later",
                   phase_name(phase), phase_name(then));
    int64_t generation = json_int64(json_path(object, "metadata", "generation", NULL), 1);
    AUTO_TEXT text = text_format(changed, (long long)generation + 1);
    AUTO_JSON patch = text ? parsed(text) : NULL;
    const struct json *input = patch ? input_patched(object, patch) : NULL;
    then = input ? step_phase(run, input) : -1;
    if (then >= 0 && then != phase)
        run_report(run, RULE_FINISHED, CALL_PHASE, "metadata",
                   "phase was WHARF_%s, and is WHARF_%s with another generation, label and deletionTimestamp",
                   phase_name(phase), phase_name(then));
}

// Copies the status of a mirror. A workload with a final phase must keep the phase for any state of the mirror.
static void try_mirror(struct run *run, const struct json *workload, int phase, const struct json *mirror,
                       wharf_mirror_state state) {
    run->must_stay = is_final(phase) ? phase : -1;
    const struct json *after = step_status(run, workload, mirror, state);
    run->must_stay = -1;
    int then = is_final(phase) ? step_phase(run, after) : -1;
    if (then >= 0 && then != phase)
        run_report(run, RULE_FINISHED, CALL_STATUS, "",
                   "phase was WHARF_%s, and is WHARF_%s after the host wrote the result of `status`", phase_name(phase),
                   phase_name(then));
}

// Tries every other state of the mirror with this state of the workload.
static void try_other_mirrors(struct run *run, const struct subject *subject, const struct json *workload,
                              const struct json *mirror) {
    int phase = step_phase(run, workload);
    for (size_t i = 0; i < subject->n_states; i++) {
        about(run, "; then the mirror has the status of ", subject->states[i].source);
        const struct json *other = input_with_status(mirror, subject->states[i].status);
        if (!other)
            return;
        try_mirror(run, workload, phase, other, WHARF_MIRROR_PRESENT);
    }
    about(run, "; then there is no mirror", "");
    try_mirror(run, workload, phase, NULL, WHARF_MIRROR_NONE);
    about(run, "; then the worker is lost", "");
    try_mirror(run, workload, phase, NULL, WHARF_MIRROR_LOST);
    about(run, "", "");
}

static void try_changes(struct run *run, const struct subject *subject, const struct json *workload,
                        const struct json *mirror) {
    about(run, "; then a user changes the object", "");
    for (size_t i = 0; i < subject->n_changes; i++) {
        const struct json *input = input_patched(workload, subject->changes[i]);
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
    about(run, "", "");
}

// The life of a valid object: the host makes a mirror, the mirror gets a status, the host copies the status, and then
// the mirror gets every other status.
static void whole_trial(struct run *run, const struct trial *trial, const struct json *object) {
    const struct subject *subject = &run->now->subjects[trial->subject];
    const struct json *fresh = input_copy(subject->object);
    const struct json *status = subject_status(subject, trial->state);
    if (!fresh)
        return;
    step_pods(run, fresh);
    step_phase(run, fresh);
    step_accept(run, fresh);
    int phase = step_phase(run, object);
    try_later(run, object, phase);
    step_status(run, object, NULL, WHARF_MIRROR_NONE);
    step_gave_up(run, object);
    step_mirror(run, object, NULL);
    const struct json *made = step_mirror(run, fresh, NULL);
    step_progress(run, object, made);
    const struct json *mirror = !made || !status ? made : input_with_status(made, status);
    step_child_progress(run, object, mirror);
    if (trial->subject == 0)
        step_children(run, object, mirror);
    step_memory(run, object, mirror);
    if (!mirror)
        return;
    if (subject->document)
        step_traits(run, made);
    step_update(run, fresh, made, true);
    step_update(run, fresh, mirror, false);
    step_phase(run, mirror);
    const struct json *after = step_status(run, fresh, mirror, WHARF_MIRROR_PRESENT);
    bool is_copied = run->answered == WHARF_OK;
    int copied = step_phase(run, after);
    if (is_copied && status && subject->states[trial->state].given && copied >= 0 && is_final(phase) && copied != phase)
        run_report(run, RULE_STATUS_PHASE, CALL_STATUS, "",
                   "the mirror is WHARF_%s, and the workload with the copied status is WHARF_%s", phase_name(phase),
                   phase_name(copied));
    step_update(run, after, mirror, false);
    try_other_mirrors(run, subject, after, mirror);
    try_changes(run, subject, after, mirror);
}

// A broken object: as a workload, as a mirror, and as both.
void broken_trial(struct run *run, const struct trial *trial, const struct json *object) {
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
    const struct json *whole = step_mirror(run, fresh, subject_status(subject, trial->state));
    if (!whole)
        return;
    step_update(run, object, whole, false);
    step_status(run, object, whole, WHARF_MIRROR_PRESENT);
    step_progress(run, object, whole);
    json_free(progress_ask(run, CALL_PROGRESS, fresh, object));
    step_child_progress(run, object, whole);
    json_free(progress_ask(run, CALL_CHILD_PROGRESS, fresh, object));
    if (!text_has_prefix(trial->pointer, "/status"))
        return;
    const struct json *after = step_status(run, fresh, whole, WHARF_MIRROR_PRESENT);
    const struct json *broken = input_with_status(whole, json_get(object, "status"));
    int phase = step_phase(run, after);
    if (broken)
        try_mirror(run, after, phase, broken, WHARF_MIRROR_PRESENT);
}

// -- any trial --

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
    run->given = run->thorough && run->now->subjects[trial->subject].document;
    run->ordinary = trial->type != TRIAL_HEAVY;
    board->kind_index = run->now->index;
    text_copy(board->kind, sizeof(board->kind), run->now->kind.plural_group);
    AUTO_BUFFER(words, 4096);
    const struct json *object = trial->type == TRIAL_PLACE ? NULL : input_take(trial_object(run, trial, &words));
    text_copy(board->object, sizeof(board->object), words.data ? words.data : "");
    run->object_len = strlen(board->object);
    if (trial->type == TRIAL_CROWD)
        crowd_trial(run);
    else if (trial->type == TRIAL_PLACE)
        place_trial(run, trial);
    else if (trial->type == TRIAL_LIFE)
        life_run(run, &run->now->subjects[trial->subject], trial->how);
    else if (object && trial->type == TRIAL_WHOLE)
        whole_trial(run, trial, object);
    else if (object)
        broken_trial(run, trial, object);
    state_check(run, board->function, STATE_ALL);
    board->objects++;
    input_reset();
}
