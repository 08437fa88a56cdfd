// SPDX-License-Identifier: Apache-2.0
// The layer between the host and the functions of the adapter: calls the adapter's own function, and checks the answer.
#include "core/conform/child.h"

#include <sys/resource.h>

#define NOW_NS (INT64_C(1767322445) * CLOCK_SECOND) // 2026-01-02T02:54:05Z; the same in every child
#define REPEATS 5
#define SLOW_MAX 10 // then the function is not called any more
#if defined(__SANITIZE_ADDRESS__)
#define LIMIT_NS (20 * CLOCK_MS) // instrumented code is that much slower
#else
#define LIMIT_NS CLOCK_MS
#endif
#define HEAVY_NS CLOCK_SECOND  // ten times the host's limit, for objects larger than any that an API server takes
#define WAIT_NS (5 * CLOCK_MS) // of no processor time; then the call is repeated

static struct adapter_probe *probe_of(const wharf_call *call) {
    return (struct adapter_probe *)call->host_data;
}

static enum function function_of(const struct adapter_invocation *in) {
    return (enum function)(in->function + CALL_PHASE);
}

bool tested_has(const struct tested *tested, enum function function) {
    return adapter_has(&tested->kind.abi, (enum adapter_function)(function - CALL_PHASE));
}

// The object's API version if the kind has this version, else the kind's first.
static const char *version_of(const wharf_kind *kind, const struct json *object) {
    const char *api_version = json_string_or(json_get(object, "apiVersion"), "");
    const char *slash = strchr(api_version, '/');
    const char *version = slash ? slash + 1 : api_version;
    for (size_t i = 0; kind->versions[i]; i++)
        if (strcmp(kind->versions[i], version) == 0)
            return kind->versions[i];
    return kind->versions[0];
}

void probe_begin_call(struct adapter_call *call, const struct kind *kind, int64_t later_ns, const struct json *workload,
                      wharf_mirror_state state) {
    struct call_context context = {.kind = &kind->abi,
                                   .given = kind->given,
                                   .adapter = kind->adapter->name,
                                   .now = {.mono_ns = NOW_NS + later_ns, .wall_ns = NOW_NS + later_ns},
                                   .cluster = "worker-1",
                                   .attempt = 1,
                                   .version = version_of(&kind->abi, workload),
                                   .object = "default/object",
                                   .mirror_state = state};
    adapter_call_begin(call, &context);
}

void probe_begin(struct adapter_probe *probe, struct run *run, const struct json *workload, const struct json *mirror,
                 wharf_mirror_state state) {
    run->workload = workload;
    run->mirror = mirror;
    probe->run = run;
    probe_begin_call(&probe->call, &run->now->kind, run->later_ns, workload, state);
}

void probe_end(struct adapter_probe *probe) {
    adapter_call_end(&probe->call);
}

// -- the call --

#define LOG_LINES_MAX 50 // of a call with an object of a usual size

// Reports and undoes changes of what the function has as constants.
static void check_call(struct adapter_probe *probe, enum function function, const wharf_call *before) {
#define FIELD(field)                                                                                                   \
    { #field, offsetof(wharf_call, field), sizeof(before->field) }
    static const struct {
        const char *name;
        size_t at, size;
    } fields[] = {FIELD(size),    FIELD(kind),    FIELD(now),    FIELD(now_ns),    FIELD(cluster),
                  FIELD(attempt), FIELD(version), FIELD(answer), FIELD(host_data), FIELD(mirror_state)};
#undef FIELD
    wharf_call *now = &probe->call.call;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (memcmp((const char *)now + fields[i].at, (const char *)before + fields[i].at, fields[i].size) != 0)
            run_report(probe->run, RULE_CALL, function, fields[i].name, "wharf_call.%s is another one after the call",
                       fields[i].name);
    *now = *before;
    if (probe->call.answer.size != sizeof(wharf_answer))
        run_report(probe->run, RULE_CALL, function, "answer", "wharf_answer.size is %zu", probe->call.answer.size);
    probe->call.answer.size = sizeof(wharf_answer);
}

// Calls the adapter's own function with other outputs.
static int invoke(const struct adapter_invocation *in, struct json *out, wharf_phase *phase) {
    struct adapter_probe *probe = probe_of(in->call);
    struct run *run = probe->run;
    struct adapter_invocation own = *in;
    wharf_call before = probe->call.call;
    own.changed = (wharf_value *)out;
    own.phase = phase;
    run->board->calls++;
    run->logged = 0;
    asked_begin(&own);
    run->board->stage = STAGE_CALL;
    int result = (int)adapter_invoke(&run->now->real->abi, &own);
    run->board->stage = STAGE_HOST;
    check_call(probe, function_of(in), &before);
    if (run->logged > LOG_LINES_MAX && run->ordinary)
        run_report(run, RULE_LOG, function_of(in), "", "wrote %zu log lines in one call", run->logged);
    return result;
}

bool probe_is_skipped(const struct board *board) {
    bool any = false;
    for (size_t i = 0; i < board->n_skips; i++)
        any |= board->skips[i].trial == board->trial && board->skips[i].ordinal == board->ordinal;
    return any;
}

bool probe_enter(struct run *run, enum function function) {
    struct board *board = run->board;
    if (run->quiet && run->measured != function)
        return false;
    if (!run->quiet)
        board->ordinal = run->ordinal++;
    if (board->given_up[run->now->index % BOARD_KINDS][function])
        return false;
    if (probe_is_skipped(board)) {
        if (!run->quiet)
            run_report_inputs(run);
        return false;
    }
    board->function = function;
    return true;
}

static void note_time(struct run *run, enum function function, int64_t took_ns) {
    struct board_times *times = &run->board->times[function];
    if (times->count < BOARD_TIMES)
        times->ns[times->count] = took_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)took_ns;
    times->count++;
}

// What a call took.
struct cost {
    int64_t processor_ns, wall_ns;
    long waits; // how often the thread gave the processor away
};

static long count_waits(const struct run *run) {
    struct rusage usage = {.ru_nvcsw = 0};
    if (!run->confined)
        getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

static struct cost cost_now(const struct run *run) {
    return (struct cost){clock_processor(), clock_ticks(), count_waits(run)};
}

static struct cost cost_since(const struct run *run, const struct cost *start) {
    struct cost now = cost_now(run);
    return (struct cost){now.processor_ns - start->processor_ns, now.wall_ns - start->wall_ns,
                         now.waits - start->waits};
}

static int compare_costs(const void *a, const void *b) {
    const struct cost *left = a, *right = b;
    return left->processor_ns < right->processor_ns ? -1 : left->processor_ns > right->processor_ns;
}

static void count_slow(struct run *run, enum function function, int64_t wall_ns) {
    size_t kind = run->now->index % BOARD_KINDS;
    uint32_t *slow = &run->board->slow[kind][function];
    *slow += 1 + (uint32_t)(wall_ns / CLOCK_SECOND);
    run->board->given_up[kind][function] |= *slow >= SLOW_MAX;
}

// Whether a call that took too long does so each time: of processor time, in the median; or in a wait, which a machine
// under load does not make.
static void check_time(const struct adapter_invocation *in, const struct json *before, const wharf_phase *phase_before,
                       struct cost first) {
    struct run *run = probe_of(in->call)->run;
    enum function function = function_of(in);
    struct cost took[REPEATS] = {first};
    int64_t waited_ns = first.wall_ns - first.processor_ns, wall_ns = first.wall_ns;
    bool waits = true;
    for (size_t i = 1; i < REPEATS; i++) {
        AUTO_JSON out = json_copy(before);
        wharf_phase phase = *phase_before;
        struct cost start = cost_now(run);
        invoke(in, out, &phase);
        took[i] = cost_since(run, &start);
        waits &= took[i].waits > 0;
        waited_ns = clock_earlier(waited_ns, took[i].wall_ns - took[i].processor_ns);
        wall_ns += took[i].wall_ns;
    }
    qsort(took, REPEATS, sizeof(took[0]), compare_costs);
    int64_t median_ns = took[REPEATS / 2].processor_ns;
    bool slow = median_ns > (run->ordinary ? LIMIT_NS : HEAVY_NS);
    waits &= waited_ns > WAIT_NS;
    if (slow || waits)
        count_slow(run, function, wall_ns);
    if (slow)
        run_report(run, RULE_TIME, function, "", "took %.2f ms of processor time, at worst %.2f ms, in %d calls",
                   (double)median_ns / (double)CLOCK_MS, (double)took[REPEATS - 1].processor_ns / (double)CLOCK_MS,
                   REPEATS);
    if (waits)
        run_report(run, RULE_TIME, function, "waits", "waited %.2f ms or more in each of %d calls",
                   (double)waited_ns / (double)CLOCK_MS, REPEATS);
}

static uint64_t mix_text(uint64_t hash, const char *text) {
    return text_hash(hash_mix(hash, !text), text ? text : "");
}

uint64_t probe_hash(const wharf_answer *answer, int result, const struct json *out, const wharf_phase *phase) {
    uint64_t hash = mix_text(mix_text(hash_mix(7, (uint64_t)result), answer->reason), answer->message);
    hash = hash_mix(hash, answer->retry_after_ms);
    if (result == WHARF_OK && phase) {
        hash = mix_text(mix_text(hash_mix(hash, (uint64_t)phase->phase), phase->reason), phase->message);
        hash = hash_mix(hash, (uint64_t)phase->since_ns);
    }
    return result == WHARF_OK ? hash_mix(hash, json_hash(out)) : hash;
}

// Compares the hashes of this call in this pass and in the first one. The input of a function depends only on earlier
// calls, so the first call of a trial with another output is to blame.
static void check_restart(struct run *run, enum function function, uint64_t hash) {
    struct board *board = run->board;
    size_t at = (size_t)board->starts[board->trial] + board->ordinal;
    uint32_t short_hash = (uint32_t)hash | 1;
    if (at >= BOARD_CALLS)
        return;
    if (!run->again)
        board->hashes[at] = short_hash;
    if (run->differs || board->hashes[at] == short_hash)
        return;
    run->differs = true;
    if (board->hashes[at] != 0)
        run_report(run, RULE_RESTART, function, "", "the output differs after other calls and in another process");
}

// Repeats the call with separate outputs.
static void check_repeat(const struct adapter_invocation *in, struct json *before, const wharf_phase *phase_before,
                         uint64_t expected) {
    struct adapter_probe *probe = probe_of(in->call);
    wharf_answer first = probe->call.answer;
    wharf_phase phase = *phase_before;
    probe->call.answer = (wharf_answer){.size = sizeof(wharf_answer)};
    int result = invoke(in, before, &phase);
    if (probe_hash(&probe->call.answer, result, before, in->phase ? &phase : NULL) != expected)
        run_report(probe->run, RULE_REPEAT, function_of(in), "", "the second of two equal calls has another output");
    probe->call.answer = first;
}

static bool is_slow(const struct run *run, const struct cost *took) {
    return took->processor_ns > (run->ordinary ? LIMIT_NS : HEAVY_NS) ||
           (took->waits > 0 && took->wall_ns - took->processor_ns > WAIT_NS);
}

static wharf_result probe_call(const struct adapter_invocation *in) {
    struct adapter_probe *probe = probe_of(in->call);
    struct run *run = probe->run;
    struct json *out = (struct json *)in->changed;
    enum function function = function_of(in);
    if (!probe_enter(run, function))
        return WHARF_OK;
    if (run->quiet)
        return (wharf_result)invoke(in, out, in->phase);
    AUTO_JSON before = json_copy(out);
    wharf_phase none = {.size = 0}, phase_before = in->phase ? *in->phase : none;
    struct cost start = cost_now(run);
    int result = invoke(in, out, in->phase);
    struct cost took = cost_since(run, &start);
    uint64_t hash = probe_hash(&probe->call.answer, result, run->ordinary ? out : NULL, in->phase);
    check_restart(run, function, hash);
    answer_check(in, result, before);
    if (run->ordinary)
        note_time(run, function, took.processor_ns);
    if (is_slow(run, &took))
        check_time(in, before, &phase_before, took);
    if (run->ordinary && (run->thorough || run->ordinal % 2 == 0))
        check_repeat(in, before, &phase_before, hash);
    state_check(run, function, run->thorough ? STATE_CALL : STATE_OUTPUT);
    return (wharf_result)result;
}

// The functions of an adapter: member, number, parameters, and the arguments of struct adapter_invocation.
#define CALL const wharf_call *call
#define WORKLOAD const wharf_value *workload
#define MIRROR const wharf_value *mirror
#define FUNCTIONS(X)                                                                                                   \
    X(phase, FUNCTION_PHASE, (CALL, WORKLOAD, wharf_phase * out), workload, NULL, NULL, out)                           \
    X(accept, FUNCTION_ACCEPT, (CALL, WORKLOAD), workload, NULL, NULL, NULL)                                           \
    X(mirror, FUNCTION_MIRROR, (CALL, WORKLOAD, wharf_value * mirror), workload, NULL, mirror, NULL)                   \
    X(update, FUNCTION_UPDATE, (CALL, WORKLOAD, MIRROR, wharf_value * desired), workload, mirror, desired, NULL)       \
    X(status, FUNCTION_STATUS, (CALL, WORKLOAD, MIRROR, wharf_value * object), workload, mirror, object, NULL)         \
    X(pod_sets, FUNCTION_POD_SETS, (CALL, WORKLOAD, wharf_value * sets), workload, NULL, sets, NULL)                   \
    X(dependencies, FUNCTION_DEPENDENCIES, (CALL, WORKLOAD, wharf_value * list), workload, NULL, list, NULL)           \
    X(progress, FUNCTION_PROGRESS, (CALL, WORKLOAD, MIRROR, wharf_value * object), workload, mirror, object, NULL)     \
    X(child_progress, FUNCTION_CHILD_PROGRESS, (CALL, WORKLOAD, MIRROR, wharf_value * object), workload, mirror,       \
      object, NULL)

#define PROBE(member, number, parameters, ...)                                                                         \
    static wharf_result probe_##member parameters {                                                                    \
        return probe_call(&(struct adapter_invocation){number, call, __VA_ARGS__});                                    \
    }
FUNCTIONS(PROBE)

void probe_kind(struct tested *tested) {
    wharf_kind *kind = &tested->kind.abi;
#define REPLACED(member, ...) kind->member = kind->member ? probe_##member : NULL;
    FUNCTIONS(REPLACED)
}
