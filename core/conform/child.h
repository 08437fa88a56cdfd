// SPDX-License-Identifier: Apache-2.0
// The child process of the conformance kit, in which the adapter is loaded and called.
//
// A trial is one object of a kind, as given or broken in one way, and all calls about that object. Trials are numbered,
// and so are the calls within one: the same in every child, so that the next child can resume after a crash.
#pragma once

#include "core/adapter/adapters.h"
#include "core/adapter/services.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/conform/report.h"
#include "core/engine/mirror/mirror.h"
#include "core/kube/object/objects.h"

#include <sys/types.h>

// -- Memory shared by the kit and the child (one mapping): the child's position, so that the kit can name the last call
// after a crash or a hang, and the calls that crashed an earlier child and are skipped --

#define BOARD_KINDS 256
#define BOARD_SKIPS 64
#define BOARD_TRIALS 400000
#define BOARD_TIMES 4096
#define BOARD_CARRIED 64
#define BOARD_CALLS ((size_t)16 << 20)

enum stage { STAGE_HOST, STAGE_CALL, STAGE_DONE, STAGE_ERROR }; // STAGE_ERROR: `object` is the error

struct board_skip {
    size_t trial;
    uint32_t ordinal;
};

// Durations of one function's calls with valid objects.
struct board_times {
    uint32_t count; // may exceed BOARD_TIMES
    uint32_t ns[BOARD_TIMES];
};

// How often the kit asked for a change of a carried field, and how often `update` made that change.
struct board_carried {
    uint32_t wanted, done;
    bool differs; // in a new mirror: the adapter's own value
};

// Results of a function for whole objects; `given`: of --objects.
struct board_outcomes {
    uint32_t calls, fine, refused, given, given_fine, with_pods, pods_kept;
};

// A place in objects that the adapter asked for.
struct board_place {
    char pointer[160];
    bool many; // read as an array or as a map
};

#define BOARD_PLACES 96

struct board_places {
    size_t count;
    struct board_place list[BOARD_PLACES];
};

struct board {
    // Written by the child.
    volatile uint64_t calls, objects;
    volatile size_t trial, n_trials;
    volatile uint32_t ordinal; // of the call within the trial
    volatile enum stage stage;
    volatile enum function function;
    volatile size_t kind_index;
    volatile bool wrote_input; // the crash was a write to a read-only object
    char kind[128];
    char object[1024]; // the object of the call, in words
    bool done[BOARD_TRIALS];
    uint32_t starts[BOARD_TRIALS]; // index of the trial's first hash
    uint32_t n_hashes;
    uint32_t hashes[BOARD_CALLS]; // of a call's outputs; 0: no call
    struct board_times times[N_FUNCTIONS];
    struct board_carried carried[BOARD_KINDS][BOARD_CARRIED];
    struct board_outcomes outcomes[BOARD_KINDS][N_FUNCTIONS];
    bool not_started; // phase has set wharf_phase.not_started
    struct board_places places[BOARD_KINDS];
    uint32_t slow[BOARD_KINDS][N_FUNCTIONS]; // calls that took too long
    volatile bool severed;                   // the child's descriptors are closed or others, and it cannot report
    char forbidden[64];                      // the system call that ended the child; or ""
    // Also written by the kit, while there is no child.
    bool given_up[BOARD_KINDS][N_FUNCTIONS];
    struct board_skip skips[BOARD_SKIPS];
    size_t n_skips;
};

#define STATES_MAX 48 // of one object; trials pair each with each
#define CHANGES_MAX 16

// A possible status of an object.
struct state {
    const char *source; // in words
    struct json *status;
    bool given; // in a file: the kind's controller writes such a status
};

// An object to try a kind with.
struct subject {
    const char *source;              // in words
    const struct document *document; // NULL: generated
    struct json *object;             // without status
    struct state states[STATES_MAX];
    size_t n_states;
    struct json *changes[CHANGES_MAX]; // merge patches that users may send
    size_t n_changes;
};

struct tested {
    struct kind kind;        // with the functions of probe.c
    const struct kind *real; // with the adapter's functions
    wharf_kind kept;         // the adapter's struct after the load
    size_t index;
    struct subject *subjects;
    size_t n_subjects;
};

// TRIAL_LIFE: `how` is the number of the first document. TRIAL_PLACE: the number of a place on the board. TRIAL_CROWD:
// all objects of the kind.
enum trial_type { TRIAL_WHOLE, TRIAL_BROKEN, TRIAL_HEAVY, TRIAL_LIFE, TRIAL_PLACE, TRIAL_CROWD };

#define NO_STATE ((size_t)-1)

struct trial {
    enum trial_type type;
    uint32_t tested, subject;
    size_t state; // NO_STATE: without a status
    size_t how;   // number of the mutation
    char *pointer;
};

struct trials {
    struct trial *list;
    size_t count;
};

struct run {
    struct board *board;
    int out; // for findings, a line each
    struct adapters *adapters;
    struct tested *tested;
    size_t n_tested;
    struct trials trials;
    const struct documents *documents;
    bool verbose;
    char answer[1100];           // the message of the last update
    const struct tested *now;    // of the trial under way
    size_t object_len;           // of board->object, without what happens to the object
    const struct json *workload; // of the call under way, for findings
    const struct json *mirror;
    uint32_t ordinal;
    bool ordinary;          // of a usual size: times count
    bool crowded;           // several threads call the functions
    bool again;             // second pass: outputs must match the first pass
    bool differs;           // outputs of this trial differ already
    bool thorough;          // a whole object: the result and the state of the process are compared after each call
    bool given;             // the object is one of --objects
    bool confined;          // by the sandbox: no system calls but those for memory
    size_t logged;          // log lines of the call
    wharf_result answered;  // the result of the last step_status
    enum function measured; // with `quiet`: the only function to call
    bool quiet;             // a repeated call that measures memory alone
    int64_t later_ns;
    int must_stay; // the final phase that `status` may not end; -1: none
    size_t said[N_RULES];
};

// -- child.c: memory for an adapter's input objects, read-only during calls; lines for the kit --
// The copy lives until input_reset. A write to the copy is a crash; input_contains identifies the address.
struct json *input_copy(const struct json *value);
// Takes `value`, NULL too.
struct json *input_take(struct json *value);
// A copy of the object with this status; NULL: with the object's own status.
struct json *input_with_status(const struct json *object, const struct json *status);
void input_reset(void);

// `cause` distinguishes findings of one rule and function; the report shows findings with the same cause as one.
void run_report(struct run *run, enum rule rule, enum function function, const char *cause, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
// The inputs of a skipped call, which crashed an earlier child.
void run_report_inputs(struct run *run);
// A warning: not necessarily a fault.
void run_warn(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
// A line of the report's head.
void run_print(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct child_task {
    const char *file; // absolute
    const char *controller_name;
    const struct json *settings;
    const struct documents *documents;
    bool documents_given;
    const struct documents *crds;
    struct board *board;
    int out;
    size_t from;
    bool quiet, verbose;
    bool again;       // second pass: a part of the trials in reverse order, with the same outputs expected
    int64_t until_ns; // by clock_ticks: the end of the whole run
};
// The whole life of the child; the exit code.
int child_main(const struct child_task *task);

// -- subjects.c: the given objects, and objects generated from the data of the kind --
struct error *subjects_make(struct tested *tested, const struct documents *documents);
// The value of a valid JSON text, or NULL when out of memory.
struct json *parsed(const char *text);
// A copy of the object with this status (NULL: unchanged), owned by the caller. NULL when out of memory.
struct json *with_status(const struct json *object, const struct json *status);
// NULL for NO_STATE.
const struct json *subject_status(const struct subject *subject, size_t state);
struct json *subject_with(const struct subject *subject, size_t state);

// -- life.c --
// Whether a document is a step of a life, and whether two documents are in one file.
bool life_is_step(const struct document *step);
bool life_is_same(const struct document *a, const struct document *b);
// Whether the document says what happens to the object: the document is in the folder of the object, and in its file if
// the document's file has objects.
bool life_is_of(const struct documents *documents, const struct document *step, const struct document *object);
// Runs the life of a subject by the file whose first step is this document, and reports findings.
void life_run(struct run *run, const struct subject *subject, size_t first);

// -- crd.c --
void crd_check(struct run *run, const struct tested *tested, const struct documents *crds);
// After all trials.
void crd_check_places(struct run *run, const struct tested *tested, const struct documents *crds);

// -- needs.c --
// Prints the least minor version that the adapter needs, after all trials.
void needs_print(struct run *run);

// -- unmatched.c --
void unmatched_warn(struct run *run, const struct tested *tested, const struct documents *documents);

// -- mutate.c --
struct error *trials_list(struct run *run);
// The object of a trial, owned by the caller, and a description. NULL when out of memory.
struct json *trial_object(const struct run *run, const struct trial *trial, struct buffer *words);
// Numbers of odd and of large values for a place that the objects have, or lack: `how` of a trial, from *how on. False:
// no more.
bool mutation_next(bool has, enum trial_type type, size_t *how);

// A hash with one more value, for comparisons within a run.
static inline uint64_t hash_mix(uint64_t hash, uint64_t value) {
    return (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15) + (hash >> 29);
}

// -- probe.c: the layer between the host and the functions of the adapter, with the checks after each call --
struct adapter_probe {
    struct adapter_call call; // first: wharf_call.host_data points here
    struct run *run;
};
void probe_kind(struct tested *tested);
bool tested_has(const struct tested *tested, enum function function);
void probe_begin(struct adapter_probe *probe, struct run *run, const struct json *workload, const struct json *mirror,
                 wharf_mirror_state state);
void probe_end(struct adapter_probe *probe);
// A call of a kind without checks, `later_ns` after the time of all calls; adapter_call_end().
void probe_begin_call(struct adapter_call *call, const struct kind *kind, int64_t later_ns, const struct json *workload,
                      wharf_mirror_state state);
// Begins a call: false if the call is to be left out.
bool probe_enter(struct run *run, enum function function);
// Whether an earlier child died in the call at the board's ordinal.
bool probe_is_skipped(const struct board *board);
// A hash of an answer: the result, the texts, and `out` or `phase` unless NULL.
uint64_t probe_hash(const wharf_answer *answer, int result, const struct json *out, const wharf_phase *phase);

// -- watch.c: use of services, and calls into libc --
void watch_services(struct run *run);
// The functions of struct wharf_host that the adapter called, "find, string".
const char *watch_used(char *out, size_t size);
// Whether the adapter called a function that is newer than 1.1.
bool watch_newer(void);
// Before the adapter is loaded: calls from objects that were there before are exempt.
void intercept_start(struct run *run);

// -- state.c: properties of the process that an adapter must not change --
enum state_depth {
    STATE_OUTPUT, // standard output and error, rounding mode, locale
    STATE_CALL,   // also threads, descriptors, environment; everything in the first calls of a function
    STATE_ALL
};
void state_note(struct run *run);
// Reports changes since state_note or the last check, and blames the function.
void state_check(struct run *run, enum function function, enum state_depth depth);

// -- answer.c --
// The rules for one answer. `before` is the value that the function changed.
void answer_check(const struct adapter_invocation *in, int result, const struct json *before);
// The rules for the answers of all calls.
void answers_conclude(struct run *run, const struct tested *tested);

// -- steps.c: the actions of the host on a workload, a step each, with the rules for the result --
// The phase, or -1 if there is no answer.
int step_phase(struct run *run, const struct json *object);
void step_accept(struct run *run, const struct json *workload);
void step_pods(struct run *run, const struct json *object);
// The mirror as stored in the worker cluster, with `status` (or NULL): input memory. NULL if the adapter refuses.
const struct json *step_mirror(struct run *run, const struct json *workload, const struct json *status);
// The mirror after `update` carried the workload's changes. `fresh`: a new mirror, which must need no change.
const struct json *step_update(struct run *run, const struct json *workload, const struct json *mirror, bool fresh);
// Like step_update, without further rules.
const struct json *step_change(struct run *run, const struct json *workload, const struct json *mirror);
// The workload with the mirror's status. `state` is the state of the mirror.
const struct json *step_status(struct run *run, const struct json *workload, const struct json *mirror,
                               wharf_mirror_state state);
// The status of a workload that no cluster accepts.
void step_gave_up(struct run *run, const struct json *workload);
// Calls each function many times and reports growing memory.
void step_memory(struct run *run, const struct json *workload, const struct json *mirror);
// Warns of fields that delete the mirror.
void step_traits(struct run *run, const struct json *mirror);
// Counts carried fields. `desired`: the input of `update`; `result`: the output, or `mirror` for a new mirror.
void step_note_carried(struct run *run, const struct json *mirror, const struct json *desired,
                       const struct json *result);
// The object with a merge patch applied: input memory. NULL when out of memory.
const struct json *input_patched(const struct json *object, const struct json *patch);

// -- asked.c --
// Puts a layer into the table that notes the places that are asked for.
void asked_services(struct run *run, wharf_host *table);
// At the begin of each call: the objects of the call.
void asked_begin(const struct adapter_invocation *in);

// -- places.c: odd and large values at a place that the adapter asked for, and the growth of time with the size --
void place_trial(struct run *run, const struct trial *trial);

// -- progress.c: `progress` and `child_progress`, and the rules for their results --
// The result of one call; NULL: nothing, or the kind has no such function.
struct json *progress_ask(struct run *run, enum function function, const struct json *workload,
                          const struct json *mirror);
// `former`: the first argument.
void progress_check(struct run *run, enum function function, const struct json *former, const struct json *out);
// A second attempt of the workload. `made`: the mirror that the host made of it, or NULL.
void step_progress(struct run *run, const struct json *workload, const struct json *made);
// The same of a child of the mirror: the workload serves as one, and the children among --objects.
void step_child_progress(struct run *run, const struct json *workload, const struct json *mirror);
void step_children(struct run *run, const struct json *workload, const struct json *mirror);

// -- crowd.c --
void crowd_trial(struct run *run);
// One call of the adapter's own function, with a mirror that is present. A hash of the answer.
uint64_t crowd_ask(struct run *run, enum function function, const struct json *workload, const struct json *mirror);

// -- scenario.c --
// A broken object: as a workload, as a mirror, and as both.
void broken_trial(struct run *run, const struct trial *trial, const struct json *object);
void run_trial(struct run *run, const struct trial *trial);

// -- score.c: the function `score` of a module --
void score_run(struct run *run);

// -- process.c: the parent, which runs one child after another until all trials are done --
// Runs all trials, or with `again` the repeated part. `task` needs no board, pipe or first trial. The children's report
// lines go to stdout. An unexpected end of a child is a finding.
struct error *process_trials(const struct child_task *task, struct board *board, struct report *report);
