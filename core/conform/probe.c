// SPDX-License-Identifier: Apache-2.0
// The layer between the host and the functions of the adapter: calls the adapter's own function, and checks the answer.
#include "core/conform/child.h"

#define NOW_NS (INT64_C(1767322445) * CLOCK_SECOND) // 2026-01-02T02:54:05Z; the same in every child
#define REPEATS 5
#define SLOW_MAX 10 // then the function is not called any more
#if defined(__SANITIZE_ADDRESS__)
#define LIMIT_NS (20 * CLOCK_MS) // instrumented code is that much slower
#else
#define LIMIT_NS CLOCK_MS
#endif
#define RETRY_MAX_MS (3600u * 1000)

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

// -- checks of an answer --

static void check_text(struct run *run, enum function function, const char *field, const char *text) {
    if (text && text_utf8_valid(text, strlen(text)) < strlen(text))
        run_report(run, RULE_TEXT, function, field, "%s is no UTF-8: \"%.80s\"", field, text);
}

static void check_answer(struct run *run, enum function function, int result, const wharf_answer *answer) {
    check_text(run, function, "wharf_answer.message", answer->message);
    if (answer->reason && !adapter_is_reason(answer->reason))
        run_report(run, RULE_TEXT, function, "reason", "wharf_answer.reason is \"%.80s\"", answer->reason);
    if (result == WHARF_REFUSED && (!answer->message || answer->message[0] == '\0'))
        run_report(run, RULE_MESSAGE, function, "", "WHARF_REFUSED and no wharf_answer.message");
    if (result == WHARF_RETRY && answer->retry_after_ms > RETRY_MAX_MS)
        run_report(run, RULE_DELAY, function, "", "retry_after_ms is %u, which is %u hours", answer->retry_after_ms,
                   answer->retry_after_ms / RETRY_MAX_MS);
    if (result != WHARF_OK && result != WHARF_RETRY && result != WHARF_REFUSED)
        run_report(run, RULE_RESULT, function, "", "the result is %d", result);
}

static void check_phase(struct run *run, int result, const wharf_phase *phase) {
    static const char *const names[] = {[WHARF_RETRY] = "WHARF_RETRY", [WHARF_REFUSED] = "WHARF_REFUSED"};
    if (result != WHARF_OK) {
        bool known = result == WHARF_RETRY || result == WHARF_REFUSED;
        run_report(run, RULE_PHASE_RESULT, CALL_PHASE, "", "the result is %s",
                   known ? names[result] : "an unknown one");
        return;
    }
    if ((int)phase->phase < WHARF_PENDING || (int)phase->phase > WHARF_FAILED)
        run_report(run, RULE_PHASE_VALUE, CALL_PHASE, "", "phase is %d", (int)phase->phase);
    check_text(run, CALL_PHASE, "wharf_phase.reason", phase->reason);
    check_text(run, CALL_PHASE, "wharf_phase.message", phase->message);
}

// The marks are set after the call: all marks that exist now are the adapter's.
static void check_marks(struct run *run, const struct json *mirror) {
    static const char *const maps[] = {"labels", "annotations"}, *const names[] = {"name", "namespace"};
    for (size_t i = 0; i < 2; i++) {
        const struct json *map = json_path(mirror, "metadata", maps[i], NULL);
        for (const struct json *m = json_is(map, JSON_OBJECT) ? json_first(map) : NULL; m; m = json_next(m))
            if (text_has_prefix(json_key(m), "wharf.dev/"))
                run_report(run, RULE_MARKS, CALL_MIRROR, json_key(m), "the output sets %s in metadata.%s", json_key(m),
                           maps[i]);
    }
    for (size_t i = 0; i < 2; i++) {
        const char *before = json_string(json_path(run->workload, "metadata", names[i], NULL));
        const struct json *after = json_path(mirror, "metadata", names[i], NULL);
        if (before && before[0] != '\0' && !text_equal(before, json_string(after)))
            run_report(run, RULE_MARKS, CALL_MIRROR, names[i], "the output changes metadata.%s from \"%s\" to \"%s\"",
                       names[i], before, json_string_or(after, ""));
    }
}

static void check_pod_sets(struct run *run, const struct json *sets) {
    size_t index = 0;
    for (const struct json *set = json_first(sets); set; set = json_next(set), index++) {
        const struct json *count = json_get(set, "count");
        if (!json_is(json_get(set, "template"), JSON_OBJECT))
            run_report(run, RULE_POD_SETS, CALL_POD_SETS, "template", "item %zu has no object as its template", index);
        if (json_int64(count, 0) != json_int64(count, 1))
            run_report(run, RULE_POD_SETS, CALL_POD_SETS, "count", "item %zu has no integer as its count", index);
    }
}

// The workload's phase with this status, by the adapter's own function, besides the call under way.
static int phase_with(struct run *run, const struct json *status) {
    AUTO_JSON workload = with_status(run->workload, status);
    if (!workload)
        return -1;
    struct adapter_call call;
    wharf_phase phase;
    struct board *board = run->board;
    enum function asked = board->function;
    probe_begin_call(&call, run->now->real, run->later_ns, workload, WHARF_MIRROR_NONE);
    board->function = CALL_PHASE;
    board->stage = STAGE_CALL;
    wharf_result result = adapter_phase(&call, workload, &phase);
    board->stage = STAGE_HOST;
    board->function = asked;
    adapter_call_end(&call);
    return result == WHARF_OK ? (int)phase.phase : -1;
}

// Checks that `status` does not end a final phase that the draft would have kept.
static void check_finished(struct run *run, const struct json *draft, const struct json *output) {
    if (phase_with(run, draft) != run->must_stay)
        return; // the host keeps the status that the workload has
    int then = phase_with(run, output);
    if (then >= 0 && then != run->must_stay)
        run_report(run, RULE_FINISHED, CALL_STATUS, "status",
                   "phase is WHARF_%s with the draft given to `status`, and WHARF_%s with the result of `status`",
                   phase_name(run->must_stay), phase_name(then));
}

// -- the call --

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
        int64_t start = clock_processor();
        invoke(in, out, &phase);
        took[i] = clock_processor() - start;
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

static uint64_t mix_text(uint64_t hash, const char *text) {
    return text_hash(mix(hash, !text), text ? text : "");
}

uint64_t probe_hash(const wharf_answer *answer, int result, const struct json *out, const wharf_phase *phase) {
    uint64_t hash = mix_text(mix_text(mix(7, (uint64_t)result), answer->reason), answer->message);
    hash = mix(hash, answer->retry_after_ms);
    if (result == WHARF_OK && phase) {
        hash = mix_text(mix_text(mix(hash, (uint64_t)phase->phase), phase->reason), phase->message);
        hash = mix(hash, (uint64_t)phase->since_ns);
    }
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

// The rules for one output. `before` is the value that the function changed.
static void check_output(const struct adapter_invocation *in, int result, const struct json *before) {
    const struct adapter_call *call = &probe_of(in->call)->call;
    struct run *run = probe_of(in->call)->run;
    const struct json *out = (const struct json *)in->changed;
    enum function function = function_of(in);
    check_answer(run, function, result, &call->answer);
    if (function == CALL_PHASE)
        check_phase(run, result, in->phase);
    if (function == CALL_MIRROR && result == WHARF_OK)
        check_marks(run, out);
    if (function == CALL_POD_SETS && result == WHARF_OK)
        check_pod_sets(run, out);
    if (function == CALL_STATUS && run->must_stay >= 0 && result == WHARF_OK && before)
        check_finished(run, json_get(before, "status"), json_get(out, "status"));
    if (function == CALL_UPDATE && run->thorough && result == WHARF_OK && run->mirror)
        step_note_carried(run, run->mirror, before, out);
    if (run->thorough && call->failure == WHARF_REFUSED)
        run_report(run, RULE_SERVICE, function, call->failed ? call->failed : "", "%s",
                   call->failed ? call->failed : "a service failed");
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
    int64_t start = clock_processor();
    int result = invoke(in, out, in->phase);
    int64_t took = clock_processor() - start;
    uint64_t hash = probe_hash(&probe->call.answer, result, run->ordinary ? out : NULL, in->phase);
    check_restart(run, function, hash);
    check_output(in, result, before);
    if (run->ordinary) {
        note_time(run, function, took);
        if (took > LIMIT_NS)
            check_time(in, before, &phase_before, took);
        check_repeat(in, before, &phase_before, hash);
    }
    if (run->thorough)
        surroundings_check(run, function);
    else
        surroundings_check_output(run, function);
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
    X(pod_sets, FUNCTION_POD_SETS, (CALL, WORKLOAD, wharf_value * sets), workload, NULL, sets, NULL)

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
