// SPDX-License-Identifier: Apache-2.0
#include "core/conform/child.h"

#include "core/base/log.h"
#include "core/isolate/sandbox.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define AGAIN_STEP 8 // of the trials, this part is made again in the second pass, and all whole objects
#define REGION_SIZE ((size_t)1 << 30) // of addresses; pages are allocated on first use
#define KEPT ((size_t)256 * 1024)     // pages up to here are not given back after each trial
#define ALIGN(size) (((size) + 15) & ~(size_t)15)

// -- memory for inputs --

// Static, since neither the functions that take memory for values nor a signal handler have an argument.
static struct {
    char *start;
    size_t used;
    bool open; // values may be created
} region;

static bool input_contains(const void *address) {
    const char *at = address;
    return region.start && at >= region.start && at < region.start + REGION_SIZE;
}

static void *take_memory(size_t size) {
    if (!region.open)
        return malloc(size);
    if (size > REGION_SIZE - region.used - ALIGN(1))
        return NULL;
    void *memory = region.start + region.used;
    region.used += ALIGN(size);
    return memory;
}

static void give_back(void *memory) {
    if (!input_contains(memory))
        free(memory);
}

static bool input_setup(void) {
    void *memory = mmap(NULL, REGION_SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    region.start = memory;
    json_use_memory(take_memory, give_back);
    return true;
}

struct json *input_copy(const struct json *value) {
    if (!value || mprotect(region.start, REGION_SIZE, PROT_READ | PROT_WRITE) != 0)
        return NULL;
    region.open = true;
    struct json *copy = json_copy(value);
    json_fix(copy);
    region.open = false;
    return mprotect(region.start, REGION_SIZE, PROT_READ) == 0 ? copy : NULL;
}

struct json *input_take(struct json *value) {
    struct json *copy = input_copy(value);
    json_free(value);
    return copy;
}

struct json *input_with_status(const struct json *object, const struct json *status) {
    return input_take(with_status(object, status));
}

void input_reset(void) {
    if (region.used > KEPT)
        madvise(region.start, region.used, MADV_DONTNEED);
    region.used = 0;
}

// -- lines for the kit --

#define INPUTS_MAX ((size_t)256 * 1024)
#define WITH_INPUTS 200 // findings of a rule with inputs; later ones have none
#define FOUND_MAX 600
#define LINE_MAX 4096

static void send_line(const struct run *run, const struct json *line) {
    AUTO_BUFFER(text, SIZE_MAX / 4);
    if (json_print(line, &text) && buffer_char(&text, '\n'))
        (void)text_write_fd(run->out, text.data, text.len);
}

// A text of an adapter may have any bytes, and the report shows the text.
static struct json *safe_text(const char *text) {
    AUTO_BUFFER(clean, 65536);
    return text_show(&clean, text) ? json_new_string(clean.data ? clean.data : "") : NULL;
}

static bool set_inputs(struct json *line, const struct run *run) {
    AUTO_JSON inputs = json_new_array();
    AUTO_BUFFER(text, INPUTS_MAX);
    return inputs && (!run->workload || json_append(inputs, json_copy(run->workload))) &&
           (!run->mirror || json_append(inputs, json_copy(run->mirror))) && json_print(inputs, &text) &&
           json_set(line, "inputs", TAKE(inputs));
}

// A line with a text and the kind.
static struct json *begin_line(const struct run *run, const char *name, size_t max, const char *format, va_list args) {
    char text[LINE_MAX];
    vsnprintf(text, max, format, args);
    AUTO_JSON line = json_new_object();
    bool done = json_set(line, name, safe_text(text)) && json_set(line, "kind", json_new_string(run->board->kind));
    return done ? TAKE(line) : NULL;
}

void run_report(struct run *run, enum rule rule, enum function function, const char *cause, const char *format, ...) {
    va_list args;
    va_start(args, format);
    AUTO_JSON line = begin_line(run, "found", FOUND_MAX, format, args);
    va_end(args);
    if (!json_set(line, "rule", json_new_int64(rule)) || !json_set(line, "function", json_new_int64(function)) ||
        !json_set(line, "cause", safe_text(cause)) || !json_set(line, "object", safe_text(run->board->object)))
        return;
    if (run->said[rule]++ < WITH_INPUTS)
        set_inputs(line, run);
    send_line(run, line);
}

void run_report_inputs(struct run *run) {
    AUTO_JSON line = json_new_object();
    if (set_inputs(line, run))
        send_line(run, line);
}

void run_warn(struct run *run, const char *format, ...) {
    va_list args;
    va_start(args, format);
    AUTO_JSON line = begin_line(run, "warn", FOUND_MAX, format, args);
    va_end(args);
    send_line(run, line);
}

void run_print(struct run *run, const char *format, ...) {
    va_list args;
    va_start(args, format);
    AUTO_JSON line = begin_line(run, "tell", LINE_MAX, format, args);
    va_end(args);
    send_line(run, line);
}

// -- the child --

// For the signal handler, which has no argument.
static struct board *handler_board;

// The handler is gone once it runs, and the instruction fails again after it.
static void note_fault(int number, siginfo_t *info, void *context) {
    (void)context;
    if (handler_board->stage == STAGE_CALL && input_contains(info->si_addr))
        handler_board->wrote_input = true;
    if (info->si_code <= 0) // sent
        raise(number);
}

// On a separate stack: the fault may be a stack overflow.
static bool watch_faults(struct board *board) {
    handler_board = board;
    stack_t stack = {.ss_size = 65536, .ss_sp = malloc(65536)};
    struct sigaction action = {.sa_sigaction = note_fault, .sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND)};
    return stack.ss_sp && sigaltstack(&stack, NULL) == 0 && sigaction(SIGSEGV, &action, NULL) == 0 &&
           sigaction(SIGBUS, &action, NULL) == 0;
}

// -- the host's sandbox, for the second pass: the first one has the better messages --

#define CALL_MEMORY ((size_t)256 << 20) // the host's default for a process

static void note_forbidden(const char *name) {
    text_copy(handler_board->forbidden, sizeof(handler_board->forbidden), name);
}

static struct error *confine(const struct child_task *task, struct run *run) {
    struct problems missing = {.count = 0};
    const struct sandbox_limits limits = {.memory = REGION_SIZE + CALL_MEMORY};
    int file = open(task->file, O_RDONLY | O_CLOEXEC);
    sandbox_on_forbidden(note_forbidden);
    struct error *error = sandbox_limits(&limits, &missing);
    if (!error && !watch_faults(task->board))
        error = error_no_memory();
    state_note(run);
    error = error ? error : sandbox_for_load(file, task->file, run->out, &missing);
    error = error ? error : sandbox_for_calls();
    run->confined = true;
    for (size_t i = 0; i < missing.count && task->from == 0; i++)
        run_print(run, "sandbox: %s", missing.list[i]);
    problems_free(&missing);
    return error;
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

static void set_kind(struct run *run, const struct tested *tested) {
    text_copy(run->board->kind, sizeof(run->board->kind), tested ? tested->kind.plural_group : "");
}

static void set_object(struct run *run, const char *words) {
    text_copy(run->board->object, sizeof(run->board->object), words);
}

static struct error *load(const struct child_task *task, struct run *run) {
    const char *slash = strrchr(task->file, '/');
    struct adapter_wanted wanted = {
        .name = slash ? slash + 1 : task->file, .file = task->file, .file_given = true, .settings = task->settings};
    struct adapters_options options = {
        .config_path = "", .controller_name = task->controller_name, .wanted = &wanted, .n_wanted = 1};
    struct problems problems = {.count = 0};
    run->board->stage = STAGE_CALL;
    run->board->function = CALL_LOAD;
    run->board->calls++;
    struct error *error = adapters_load(&options, &problems, &run->adapters);
    run->board->stage = STAGE_HOST;
    state_check(run, CALL_LOAD, STATE_ALL);
    for (size_t i = 0; i < problems.count; i++)
        run_report(run, RULE_LOAD, CALL_LOAD, problems.list[i], "%s", problems.list[i]);
    problems_free(&problems);
    return error || run->adapters ? error : error_no_memory();
}

static struct error *make_tested(const struct child_task *task, struct run *run) {
    run->n_tested = run->adapters->n_kinds;
    run->tested = calloc(run->n_tested + 1, sizeof(run->tested[0]));
    if (!run->tested)
        return error_no_memory();
    for (size_t i = 0; i < run->n_tested; i++) {
        struct tested *tested = &run->tested[i];
        *tested = (struct tested){.kind = *run->adapters->kinds[i], .real = run->adapters->kinds[i], .index = i};
        memcpy(&tested->kept, tested->real->given, size_least(tested->real->given->size, sizeof(tested->kept)));
        probe_kind(tested);
        TRY(subjects_make(tested, task->documents));
    }
    return trials_list(run);
}

static void print_kind(struct run *run, const struct tested *tested) {
    size_t trials = 0, states = 0;
    AUTO_BUFFER(functions, 1024);
    for (size_t t = 0; t < run->trials.count; t++)
        trials += run->trials.list[t].tested == tested->index;
    for (size_t s = 0; s < tested->n_subjects; s++)
        states += tested->subjects[s].n_states;
    for (enum function function = CALL_PHASE; function < N_FUNCTIONS; function++)
        if (tested_has(tested, function))
            buffer_printf(&functions, " %s", function_name(function));
    run_print(run, "%s: %zu given and 2 generated objects with %zu statuses, %zu derived objects; functions:%s",
              tested->kind.plural_group, tested->n_subjects - 2, states, trials,
              functions.data ? functions.data : " none, its data says it all");
}

static void print_adapter(struct run *run, const struct child_task *task) {
    for (size_t i = 0; i < run->adapters->count; i++) {
        const struct adapter *adapter = run->adapters->list[i];
        run_print(run, "%s %s, ABI %u.%u, sha256 %s", adapter->name, adapter->version, adapter->abi_major,
                  adapter->abi_minor, adapter->sha256);
    }
    for (size_t i = 0; i < run->n_tested; i++) {
        print_kind(run, &run->tested[i]);
        set_kind(run, &run->tested[i]);
        unmatched_warn(run, &run->tested[i], task->documents);
        if (task->crds->count > 0)
            crd_check(run, &run->tested[i], task->crds);
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

static void check_kinds(struct run *run) {
    for (size_t i = 0; i < run->n_tested; i++) {
        const struct tested *tested = &run->tested[i];
        const wharf_kind *given = tested->real->given;
        set_kind(run, tested);
        if (memcmp(&tested->kept, given, size_least(given->size, sizeof(*given))) != 0)
            run_report(run, RULE_DATA, CALL_LOAD, "", "a later call changed the struct wharf_kind");
    }
}

// Carried fields that `update` should have changed at least once, and never did.
static void check_carried(struct run *run) {
    for (size_t i = 0; i < run->n_tested; i++) {
        const struct tested *tested = &run->tested[i];
        const wharf_carried *carried = tested->kind.abi.carried;
        const struct board_carried *counts = run->board->carried[i % BOARD_KINDS];
        set_kind(run, tested);
        for (size_t c = 0; carried && carried[c].pointer && c < BOARD_CARRIED; c++)
            if (counts[c].wanted > 0 && counts[c].done == 0 && !counts[c].differs)
                run_report(run, RULE_CARRIED, CALL_UPDATE, carried[c].pointer,
                           "%s had to be carried %u times, and the function took the change back each time",
                           carried[c].pointer, counts[c].wanted);
    }
}

// Objects of which none is tried are a mistake: another folder, or a typo in the data of the kind.
static struct error *check_given(const struct child_task *task, const struct run *run) {
    size_t given = 0;
    for (size_t i = 0; i < run->n_tested; i++)
        given += run->tested[i].n_subjects - 2;
    if (!task->documents_given || given > 0 || run->n_tested == 0)
        return NULL;
    const char *kind = NULL, *version = NULL;
    for (size_t i = 0; i < task->documents->count && !kind; i++) {
        kind = json_string(json_get(task->documents->list[i].value, "kind"));
        version = json_string(json_get(task->documents->list[i].value, "apiVersion"));
    }
    const wharf_kind *expected = &run->tested[0].kind.abi;
    return error_new(ERROR_INVALID, "--objects: found %s%s%s, expected objects of the adapter's kinds like %s of %s/%s",
                     kind ? kind : "no object", kind ? " of " : "", kind && version ? version : "", expected->kind,
                     expected->group, expected->versions[0]);
}

static struct error *prepare(const struct child_task *task, struct run *run) {
    set_object(run, "the load");
    set_kind(run, NULL);
    TRY(load(task, run));
    TRY(make_tested(task, run));
    TRY(check_given(task, run));
    return task->again ? confine(task, run) : NULL;
}

int child_main(const struct child_task *task) {
    struct run run = {.board = task->board, .out = task->out, .documents = task->documents, .verbose = task->verbose};
    bool first = task->from == 0 && !task->again;
    setup(&run);
    if (!watch_faults(task->board) || !input_setup())
        return EXIT_FAILURE;
    watch_services(&run);
    state_note(&run);
    struct error *error = prepare(task, &run);
    if (error) {
        set_object(&run, error_text(error));
        run.board->stage = STAGE_ERROR;
        return EXIT_FAILURE;
    }
    size_t count = run.board->n_trials = run.trials.count;
    if (first) {
        print_adapter(&run, task);
        score_run(&run);
    }
    for (size_t i = task->from; i < count; i++)
        run_one(&run, task->again ? count - 1 - i : i, task->again);
    run.workload = run.mirror = NULL;
    set_object(&run, "the whole run");
    if (!task->again)
        check_carried(&run);
    for (size_t i = 0; i < run.n_tested && !task->again; i++) {
        set_kind(&run, &run.tested[i]);
        answers_conclude(&run, &run.tested[i]);
        crd_check_places(&run, &run.tested[i], task->crds);
    }
    set_kind(&run, NULL);
    char used[1024];
    if (first && run.n_tested > 0)
        run_print(&run, "of the host (ABI %u.%u) the adapter uses: %s", services_table()->abi_major,
                  services_table()->abi_minor, watch_used(used, sizeof(used)));
    if (!task->again)
        needs_print(&run);
    check_kinds(&run);
    run.board->stage = STAGE_DONE;
    return EXIT_SUCCESS;
}
