// SPDX-License-Identifier: Apache-2.0
#include "core/conform/child.h"

#include "core/base/text.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOW_NS (INT64_C(1767322445) * CLOCK_SECOND) // 2026-01-02T02:54:05Z; the same in every child
#define REPEATS 5
#define SLOW_MAX 10 // then the function is not called any more
#if defined(__SANITIZE_ADDRESS__)
#define LIMIT_NS (20 * CLOCK_MS) // instrumented code is that much slower
#else
#define LIMIT_NS CLOCK_MS
#endif

static struct adapter_probe *probe_of(const wharf_call *call) {
    return (struct adapter_probe *)call->host_data;
}

static enum function function_of(const struct adapter_invocation *in) {
    return (enum function)(in->function + CALL_PHASE);
}

// Calls the adapter's own function with other outputs.
static int invoke(const struct adapter_invocation *in, struct json *out, wharf_phase *phase) {
    const struct run *run = probe_of(in->call)->run;
    struct adapter_invocation own = *in;
    own.changed = (wharf_value *)out;
    own.phase = phase;
    run->board->calls++;
    run->board->stage = STAGE_CALL;
    int result = (int)adapter_invoke(&run->now->real->abi, &own);
    run->board->stage = STAGE_HOST;
    return result;
}

static int64_t cpu_ns(void) {
    struct timespec at;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return (int64_t)at.tv_sec * CLOCK_SECOND + at.tv_nsec;
}

bool probe_is_skipped(const struct board *board) {
    bool any = false;
    for (size_t i = 0; i < board->n_skips; i++)
        any |= board->skips[i].trial == board->trial && board->skips[i].ordinal == board->ordinal;
    return any;
}

// False if the call is to be left out.
static bool enter(struct run *run, enum function function) {
    struct board *board = run->board;
    if (run->quiet && run->measured != function)
        return false;
    if (!run->quiet)
        board->ordinal = run->ordinal++;
    if (board->given_up[run->now->index % BOARD_KINDS][function])
        return false;
    if (probe_is_skipped(board)) {
        if (!run->quiet)
            run_report_inputs(run, run->workload, run->mirror);
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

static int compare_times(const void *a, const void *b) {
    const int64_t *left = a, *right = b;
    return *left < *right ? -1 : *left > *right;
}

// Whether a call that took too long does so again.
static void check_time(const struct adapter_invocation *in, const struct json *before, const wharf_phase *phase_before,
                       int64_t first_ns) {
    struct run *run = probe_of(in->call)->run;
    enum function function = function_of(in);
    int64_t took[REPEATS] = {first_ns};
    for (size_t i = 1; i < REPEATS; i++) {
        AUTO_JSON out = json_copy(before);
        wharf_phase phase = *phase_before;
        int64_t start = cpu_ns();
        invoke(in, out, &phase);
        took[i] = cpu_ns() - start;
    }
    qsort(took, REPEATS, sizeof(took[0]), compare_times);
    int64_t median = took[REPEATS / 2];
    if (median <= LIMIT_NS)
        return;
    run->board->given_up[run->now->index % BOARD_KINDS][function] = ++run->slow[function] >= SLOW_MAX;
    run_report(run, RULE_TIME, function, "", "took %.2f ms of processor time, at worst %.2f ms, in %d calls",
               (double)median / (double)CLOCK_MS, (double)took[REPEATS - 1] / (double)CLOCK_MS, REPEATS);
}

static uint64_t mix(uint64_t hash, uint64_t value) {
    return (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15) + (hash >> 29);
}

static uint64_t hash_text(const char *text) {
    uint64_t hash = !text ? 1 : 2;
    for (; text && *text != '\0'; text++)
        hash = mix(hash, (unsigned char)*text);
    return hash;
}

uint64_t probe_hash(const wharf_answer *answer, int result, const struct json *out, const wharf_phase *phase) {
    uint64_t hash = mix(mix(mix(7, (uint64_t)result), hash_text(answer->reason)), hash_text(answer->message));
    hash = mix(hash, answer->retry_after_ms);
    if (result == WHARF_OK && phase)
        hash = mix(mix(mix(mix(hash, (uint64_t)phase->phase), hash_text(phase->reason)), hash_text(phase->message)),
                   (uint64_t)phase->since_ns);
    return result == WHARF_OK ? mix(hash, json_hash(out)) : hash;
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
    if (!run->again || run->differs || board->hashes[at] == short_hash)
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

static wharf_result probe_call(const struct adapter_invocation *in) {
    struct adapter_probe *probe = probe_of(in->call);
    struct run *run = probe->run;
    struct json *out = (struct json *)in->changed;
    enum function function = function_of(in);
    if (!enter(run, function))
        return WHARF_OK;
    if (run->quiet)
        return (wharf_result)invoke(in, out, in->phase);
    AUTO_JSON before = json_copy(out);
    wharf_phase none = {.size = 0}, phase_before = in->phase ? *in->phase : none;
    int64_t start = cpu_ns();
    int result = invoke(in, out, in->phase);
    int64_t took = cpu_ns() - start;
    uint64_t hash = probe_hash(&probe->call.answer, result, run->ordinary ? out : NULL, in->phase);
    check_restart(run, function, hash);
    answer_check(probe, function, result, in->phase, out);
    if (function == CALL_STATUS && run->must_stay >= 0 && result == WHARF_OK && before)
        answer_check_finished(probe, json_get(before, "status"), json_get(out, "status"));
    if (function == CALL_UPDATE && run->thorough && result == WHARF_OK && run->mirror)
        traits_of_update(run, run->mirror, before, out);
    if (run->thorough && probe->call.failure == WHARF_REFUSED)
        run_report(run, RULE_SERVICE, function, probe->call.failed ? probe->call.failed : "", "%s",
                   probe->call.failed ? probe->call.failed : "a service failed");
    if (run->ordinary) {
        note_time(run, function, took);
        AUTO_JSON copy = took > LIMIT_NS && before ? json_copy(before) : NULL;
        if (took > LIMIT_NS)
            check_time(in, copy, &phase_before, took);
        check_repeat(in, before, &phase_before, hash);
    }
    if (run->thorough)
        surroundings_check(run, function);
    else
        surroundings_check_output(run, function);
    return (wharf_result)result;
}

static wharf_result probe_phase(const wharf_call *call, const wharf_value *object, wharf_phase *out) {
    return probe_call(&(struct adapter_invocation){FUNCTION_PHASE, call, object, NULL, NULL, out});
}

static wharf_result probe_accept(const wharf_call *call, const wharf_value *workload) {
    return probe_call(&(struct adapter_invocation){FUNCTION_ACCEPT, call, workload, NULL, NULL, NULL});
}

static wharf_result probe_mirror(const wharf_call *call, const wharf_value *workload, wharf_value *mirror) {
    return probe_call(&(struct adapter_invocation){FUNCTION_MIRROR, call, workload, NULL, mirror, NULL});
}

static wharf_result probe_update(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                                 wharf_value *desired) {
    return probe_call(&(struct adapter_invocation){FUNCTION_UPDATE, call, workload, mirror, desired, NULL});
}

static wharf_result probe_status(const wharf_call *call, const wharf_value *workload, const wharf_value *mirror,
                                 wharf_value *object) {
    return probe_call(&(struct adapter_invocation){FUNCTION_STATUS, call, workload, mirror, object, NULL});
}

static wharf_result probe_pod_sets(const wharf_call *call, const wharf_value *workload, wharf_value *sets) {
    return probe_call(&(struct adapter_invocation){FUNCTION_POD_SETS, call, workload, NULL, sets, NULL});
}

void probe_kind(struct tested *tested) {
    wharf_kind *kind = &tested->kind.abi;
    kind->phase = kind->phase ? probe_phase : NULL;
    kind->accept = kind->accept ? probe_accept : NULL;
    kind->mirror = kind->mirror ? probe_mirror : NULL;
    kind->update = kind->update ? probe_update : NULL;
    kind->status = kind->status ? probe_status : NULL;
    kind->pod_sets = kind->pod_sets ? probe_pod_sets : NULL;
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

void probe_begin(struct adapter_probe *probe, struct run *run, const struct json *workload, const struct json *mirror,
                 wharf_mirror_state state) {
    const struct kind *kind = &run->now->kind;
    run->workload = workload;
    run->mirror = mirror;
    struct call_context context = {
        .kind = &kind->abi,
        .given = kind->given,
        .adapter = kind->adapter->name,
        .now = {.mono_ns = NOW_NS + run->later_ns, .wall_ns = NOW_NS + run->later_ns},
        .cluster = "worker-1",
        .attempt = 1,
        .version = version_of(&kind->abi, workload),
        .object = "default/object",
        .mirror_state = state,
    };
    probe->run = run;
    adapter_call_begin(&probe->call, &context);
}

void probe_end(struct adapter_probe *probe) {
    adapter_call_end(&probe->call);
}
