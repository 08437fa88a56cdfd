// SPDX-License-Identifier: Apache-2.0
#include "core/conform/child.h"

#include "core/base/log.h"
#include "core/base/text.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define AGAIN_STEP 8 // of the trials, this part is made again in the second pass, and all whole objects

// For the signal handler, which has no argument.
static struct board *handler_board;

static void note_fault(int number, siginfo_t *info, void *context) {
    (void)context;
    if (handler_board->stage == STAGE_CALL && input_contains(info->si_addr))
        handler_board->wrote_input = true;
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigaction(number, &plain, NULL);
    raise(number);
}

// On a separate stack: the fault may be a stack overflow.
static bool watch_faults(struct board *board) {
    handler_board = board;
    stack_t stack = {.ss_size = 65536, .ss_sp = malloc(65536)};
    struct sigaction action = {.sa_sigaction = note_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    return stack.ss_sp && sigaltstack(&stack, NULL) == 0 && sigaction(SIGSEGV, &action, NULL) == 0 &&
           sigaction(SIGBUS, &action, NULL) == 0;
}

static void setup(struct run *run) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0)
        log_to(nowhere);
    setvbuf(stdout, NULL, _IONBF, 0); // keep no buffered output
    intercept_start(run);
}

static struct error *load(const struct child_task *task, struct run *run) {
    char name[256];
    const char *slash = strrchr(task->file, '/');
    text_copy(name, sizeof(name), slash ? slash + 1 : task->file);
    struct adapter_wanted wanted = {.name = name, .file = task->file, .file_given = true, .settings = task->settings};
    struct adapters_options options = {
        .config_path = "", .controller_name = task->controller_name, .wanted = &wanted, .n_wanted = 1};
    struct problems problems = {.count = 0};
    run->board->stage = STAGE_CALL;
    run->board->function = CALL_LOAD;
    run->board->calls++;
    struct error *error = adapters_load(&options, &problems, &run->adapters);
    run->board->stage = STAGE_HOST;
    surroundings_check(run, CALL_LOAD);
    surroundings_check_signals(run, CALL_LOAD);
    for (size_t i = 0; i < problems.count; i++)
        run_report(run, RULE_LOAD, CALL_LOAD, problems.list[i], "%s", problems.list[i]);
    problems_free(&problems);
    return error;
}

static struct error *make_tested(const struct child_task *task, struct run *run) {
    run->n_tested = run->adapters->n_kinds;
    run->tested = calloc(run->n_tested + 1, sizeof(run->tested[0]));
    if (!run->tested)
        return error_no_memory();
    struct error *error = NULL;
    for (size_t i = 0; i < run->n_tested && !error; i++) {
        struct tested *tested = &run->tested[i];
        tested->real = run->adapters->kinds[i];
        tested->kind = *tested->real;
        tested->index = i;
        probe_kind(tested);
        error = subjects_make(tested, task->documents);
    }
    return error ? error : trials_list(run);
}

static const char *functions_text(const wharf_kind *kind, char *out, size_t size) {
    size_t len = 0;
    for (enum function function = CALL_PHASE; function < N_FUNCTIONS; function++)
        if (adapter_has(kind, (enum adapter_function)(function - CALL_PHASE)))
            len += (size_t)snprintf(out + len, size - len, " %s", function_name(function));
    return len > 0 ? out : " none, its data says it all";
}

static void tell_adapter(struct run *run, const struct documents *documents) {
    for (size_t i = 0; i < run->adapters->count; i++) {
        const struct adapter *adapter = run->adapters->list[i];
        run_print(run, "%s %s, ABI %u.%u, sha256 %s", adapter->name, adapter->version, adapter->abi_major,
                  adapter->abi_minor, adapter->sha256);
    }
    for (size_t i = 0; i < run->n_tested; i++) {
        const struct tested *tested = &run->tested[i];
        size_t trials = 0, states = 0;
        for (size_t t = 0; t < run->trials.count; t++)
            trials += run->trials.list[t].tested == i;
        for (size_t s = 0; s < tested->n_subjects; s++)
            states += tested->subjects[s].n_states;
        char functions[128];
        run_print(run, "%s: %zu given and 2 generated objects with %zu statuses, %zu derived objects; functions:%s",
                  tested->kind.plural_group, tested->n_subjects - 2, states, trials,
                  functions_text(&tested->real->abi, functions, sizeof(functions)));
        text_copy(run->board->kind, sizeof(run->board->kind), tested->kind.plural_group);
        unmatched_warn(run, tested, documents);
    }
}

static void run_one(struct run *run, size_t index, bool again) {
    struct board *board = run->board;
    const struct trial *trial = &run->trials.list[index];
    bool some = trial->type == TRIAL_WHOLE || (trial->type == TRIAL_BROKEN && index % AGAIN_STEP == 0);
    if (again && (!some || !board->done[index]))
        return;
    board->trial = index;
    run->again = again;
    if (!again && !board->done[index])
        board->starts[index] = board->n_hashes;
    run_trial(run, trial);
    if (!again)
        board->n_hashes = board->starts[index] + run->ordinal;
    board->done[index] = true;
}

static void run_trials(struct run *run, const struct child_task *task) {
    size_t count = run->trials.count;
    for (size_t i = task->from; i < count; i++)
        run_one(run, task->again ? count - 1 - i : i, task->again);
}

static size_t kept_size(const wharf_kind *given) {
    return given->size < sizeof(*given) ? given->size : sizeof(*given);
}

// The adapter's kinds as they are after the load.
static wharf_kind *keep_kinds(const struct run *run) {
    wharf_kind *kept = calloc(run->n_tested + 1, sizeof(*kept));
    for (size_t i = 0; kept && i < run->n_tested; i++)
        memcpy(&kept[i], run->tested[i].real->given, kept_size(run->tested[i].real->given));
    return kept;
}

static void check_kinds(struct run *run, const wharf_kind *kept) {
    for (size_t i = 0; kept && i < run->n_tested; i++) {
        const wharf_kind *given = run->tested[i].real->given;
        snprintf(run->board->kind, sizeof(run->board->kind), "%s", run->tested[i].kind.plural_group);
        if (memcmp(&kept[i], given, kept_size(given)) != 0)
            run_report(run, RULE_DATA, CALL_LOAD, "", "a later call changed the struct wharf_kind");
    }
}

// Carried fields that `update` should have changed at least once, and never did.
static void check_carried(struct run *run) {
    for (size_t i = 0; i < run->n_tested; i++) {
        const struct tested *tested = &run->tested[i];
        const wharf_carried *carried = tested->kind.abi.carried;
        const struct board_carried *counts = run->board->carried[i % BOARD_KINDS];
        text_copy(run->board->kind, sizeof(run->board->kind), tested->kind.plural_group);
        for (size_t c = 0; carried && carried[c].pointer && c < BOARD_CARRIED; c++)
            if (counts[c].wanted > 0 && counts[c].done == 0 && !counts[c].differs)
                run_report(run, RULE_CARRIED, CALL_UPDATE, carried[c].pointer,
                           "%s had to be carried %u times, and the function took the change back each time",
                           carried[c].pointer, counts[c].wanted);
    }
}

int child_main(const struct child_task *task) {
    struct run run = {.board = task->board, .out = task->out, .documents = task->documents, .verbose = task->verbose};
    setup(&run);
    if (!watch_faults(task->board) || !input_setup())
        return EXIT_FAILURE;
    watch_services(&run);
    surroundings_note(&run);
    snprintf(run.board->object, sizeof(run.board->object), "the load");
    run.board->kind[0] = '\0';
    struct error *error = load(task, &run);
    if (!error && !run.adapters)
        error = error_no_memory();
    if (!error)
        error = make_tested(task, &run);
    if (error) {
        snprintf(run.board->object, sizeof(run.board->object), "%s", error_text(error));
        run.board->stage = STAGE_ERROR;
        return EXIT_FAILURE;
    }
    run.board->n_trials = run.trials.count;
    if (task->from == 0 && !task->again)
        tell_adapter(&run, task->documents);
    wharf_kind *kept = keep_kinds(&run);
    run_trials(&run, task);
    run.workload = run.mirror = NULL;
    snprintf(run.board->object, sizeof(run.board->object), "the whole run");
    if (!task->again)
        check_carried(&run);
    run.board->kind[0] = '\0';
    char used[1024];
    if (task->from == 0 && !task->again && run.n_tested > 0)
        run_print(&run, "of the host (ABI %u.%u) the adapter uses: %s", services_table()->abi_major,
                  services_table()->abi_minor, watch_used(used, sizeof(used)));
    check_kinds(&run, kept);
    run.board->stage = STAGE_DONE;
    return EXIT_SUCCESS;
}
