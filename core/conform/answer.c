// SPDX-License-Identifier: Apache-2.0
// The rules for one answer of a function.
#include "core/conform/child.h"

#include "core/adapter/phase.h"
#include "core/adapter/references.h"
#include "core/json/pointer.h"

#define RETRY_MAX_MS (3600u * 1000)
#define EARLIEST_NS (INT64_C(946684800) * CLOCK_SECOND) // 2000 and 2100: times of other years are in other units
#define LATEST_NS (INT64_C(4102444800) * CLOCK_SECOND)

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
    run->board->not_started |= phase->not_started != 0;
    bool odd = phase->since_ns != 0 && (phase->since_ns < EARLIEST_NS || phase->since_ns > LATEST_NS);
    if (run->thorough && phase_is_final(phase->phase) && odd)
        run_report(run, RULE_TIMES, CALL_PHASE, "since_ns", "since_ns is %lld", (long long)phase->since_ns);
}

// The marks of a mirror are set after `mirror`: all that exist then are the adapter's. `update` keeps those of its
// draft.
static void check_marks(struct run *run, enum function function, const struct json *before, const struct json *out) {
    static const char *const maps[] = {"labels", "annotations"}, *const names[] = {"name", "namespace"};
    bool update = function == CALL_UPDATE;
    for (size_t i = 0; i < 2; i++) {
        const struct json *map = json_path(out, "metadata", maps[i], NULL);
        const struct json *old = update ? json_path(before, "metadata", maps[i], NULL) : NULL;
        for (const struct json *m = json_is(map, JSON_OBJECT) ? json_first(map) : NULL; m; m = json_next(m))
            if (text_has_prefix(json_key(m), "wharf.dev/") && !(old && json_equal(json_get(old, json_key(m)), m)))
                run_report(run, RULE_MARKS, function, json_key(m), "the output sets %s in metadata.%s", json_key(m),
                           maps[i]);
        for (const struct json *m = json_is(old, JSON_OBJECT) ? json_first(old) : NULL; m; m = json_next(m))
            if (text_has_prefix(json_key(m), "wharf.dev/") && !json_get(map, json_key(m)))
                run_report(run, RULE_MARKS, function, json_key(m), "the output lacks %s in metadata.%s", json_key(m),
                           maps[i]);
    }
    const struct json *named = update ? before : run->workload;
    for (size_t i = 0; i < 2; i++) {
        const char *name = json_string(json_path(named, "metadata", names[i], NULL));
        const struct json *after = json_path(out, "metadata", names[i], NULL);
        if (name && name[0] != '\0' && !text_equal(name, json_string(after)))
            run_report(run, RULE_MARKS, function, names[i], "the output changes metadata.%s from \"%s\" to \"%s\"",
                       names[i], name, json_string_or(after, ""));
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
        else if (run->thorough && json_int64(count, 0) < 0)
            run_report(run, RULE_POD_SETS, CALL_POD_SETS, "negative", "item %zu has %lld as its count", index,
                       (long long)json_int64(count, 0));
    }
}

static void check_dependencies(struct run *run, const struct json *list) {
    const char *team = json_string_or(json_path(run->workload, "metadata", "namespace", NULL), "default");
    size_t number = 0;
    for (const struct json *item = json_first(list); item; item = json_next(item)) {
        AUTO_BUFFER(problem, 65536);
        if (reference_item_problem(&run->now->kind.abi, item, ++number, team, &problem) && run->thorough)
            run_report(run, RULE_DEPENDENCIES, CALL_DEPENDENCIES, "", "%s", problem.data);
    }
}

// The workload's phase with this status, by the adapter's own function, besides the call under way. -1: none.
static int phase_with(struct run *run, const struct json *status) {
    AUTO_JSON workload = with_status(run->workload, status);
    struct board *board = run->board;
    enum function asked = board->function;
    uint32_t ordinal = board->ordinal;
    const struct json *given = run->workload;
    int phase = -1;
    if (!workload)
        return -1;
    run->workload = workload;
    state_check(run, asked, STATE_CALL);
    if (!tested_has(run->now, CALL_PHASE) || probe_enter(run, CALL_PHASE)) {
        struct adapter_call call;
        wharf_phase out;
        probe_begin_call(&call, run->now->real, run->later_ns, workload, WHARF_MIRROR_NONE);
        board->stage = STAGE_CALL;
        phase = adapter_phase(&call, workload, &out) == WHARF_OK ? (int)out.phase : -1;
        board->stage = STAGE_HOST;
        adapter_call_end(&call);
        state_check(run, CALL_PHASE, STATE_CALL);
    }
    run->workload = given;
    board->function = asked;
    board->ordinal = ordinal;
    return phase;
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

// -- fields that the function had to leave --

struct put_back {
    struct run *run;
    const struct json *before;
    const char *pattern;
};

// The workload's own status may stay as it is.
static bool report_put_back(void *ctx, const char *pointer, struct json *value) {
    const struct put_back *check = ctx;
    const struct json *own = pointer_find(check->run->workload, pointer);
    if (!pointer_find(check->before, pointer) && !(own && json_equal(own, value)))
        run_report(check->run, RULE_STATUS_CLEAN, CALL_STATUS, check->pattern, "%s is in the result, and in %s",
                   pointer, "`status_removed`");
    return true;
}

static void check_status(struct run *run, const struct json *before, const struct json *out) {
    struct put_back check = {.run = run, .before = before};
    for (const char *const *p = run->now->kind.abi.status_removed; p && *p; p++) {
        check.pattern = *p;
        pointer_each(out, *p, report_put_back, &check);
    }
    for (const struct json *member = json_first(out); member; member = json_next(member))
        if (strcmp(json_key(member), "status") != 0)
            run_report(run, RULE_STATUS_ONLY, CALL_STATUS, json_key(member), "/%s is in the result", json_key(member));
}

struct whole_check {
    struct run *run;
    const struct json *out;
};

static bool report_dropped(void *ctx, const char *pointer, struct json *value) {
    const struct whole_check *check = ctx;
    const struct json *now = pointer_find(check->out, pointer);
    const struct json *containers = json_path(value, "spec", "containers", NULL);
    if (json_is(value, JSON_OBJECT) && !json_is(now, JSON_OBJECT))
        run_report(check->run, RULE_WHOLE, CALL_MIRROR, pointer, "%s is not in the mirror", pointer);
    else if (json_size(containers) > json_size(json_path(now, "spec", "containers", NULL)))
        run_report(check->run, RULE_WHOLE, CALL_MIRROR, pointer, "%s/spec/containers lost containers", pointer);
    return true;
}

static void check_whole(struct run *run, const struct json *before, const struct json *out) {
    struct whole_check check = {run, out};
    if (json_get(before, "spec") && !json_get(out, "spec"))
        run_report(run, RULE_WHOLE, CALL_MIRROR, "/spec", "/spec is not in the mirror");
    for (const wharf_pods *pods = run->now->kind.abi.pods; pods && pods->templates; pods++)
        pointer_each(before, pods->templates, report_dropped, &check);
}

// -- times that the function wrote --

// "startTime", "finishedAt", "timestamp".
static bool is_time_name(const char *key) {
    static const char *const ends[] = {"Time", "Timestamp", "At"};
    bool any = strcmp(key, "time") == 0 || strcmp(key, "timestamp") == 0;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        any |= text_has_suffix(key, ends[i]);
    return any;
}

// Times that are metav1.Time in every API that has them.
static bool is_common_time(const char *key) {
    static const char *const names[] = {"startTime",      "completionTime", "lastTransitionTime",
                                        "lastUpdateTime", "lastProbeTime",  NULL};
    return kind_list_has(names, key);
}

static bool has_value(const struct json *root, const struct json *value) {
    bool any = root && json_equal(root, value);
    for (const struct json *item = json_is_container(root) ? json_first(root) : NULL; item && !any;
         item = json_next(item))
        any = has_value(item, value);
    return any;
}

static void check_times(struct run *run, const struct json *value) {
    for (const struct json *item = json_is_container(value) ? json_first(value) : NULL; item; item = json_next(item)) {
        const char *key = json_key(item), *text = json_string(item);
        int64_t ns = 0;
        bool wrong = key && is_time_name(key) && text && !clock_parse_rfc3339(text, &ns);
        wrong |= key && is_common_time(key) && json_is(item, JSON_NUMBER);
        if (wrong && !has_value(run->workload, item) && !has_value(run->mirror, item)) {
            AUTO_TEXT shown = json_text(item, NULL);
            run_report(run, RULE_TIMES, CALL_STATUS, key, "%s in the result is %s", key, shown ? shown : "no time");
        }
        check_times(run, item);
    }
}

// -- results of all calls with whole objects --

static void count_outcome(struct run *run, enum function function, int result, const struct json *before,
                          const struct json *out) {
    struct board_outcomes *outcomes = &run->board->outcomes[run->now->index % BOARD_KINDS][function];
    outcomes->calls++;
    outcomes->fine += result == WHARF_OK;
    outcomes->refused += result == WHARF_REFUSED;
    outcomes->given += run->given;
    outcomes->given_fine += run->given && result == WHARF_OK;
    if (function != CALL_POD_SETS || result != WHARF_OK || json_size(before) == 0)
        return;
    outcomes->with_pods++;
    outcomes->pods_kept += json_size(out) > 0;
}

void answers_conclude(struct run *run, const struct tested *tested) {
    for (enum function function = CALL_ACCEPT; function < N_FUNCTIONS; function++) {
        const struct board_outcomes *outcomes = &run->board->outcomes[tested->index % BOARD_KINDS][function];
        if (outcomes->calls > 0 && outcomes->fine == 0 && outcomes->refused == 0)
            run_report(run, RULE_ALWAYS, function, "retry", "the result was WHARF_RETRY in all %u calls",
                       outcomes->calls);
        else if (outcomes->given > 0 && outcomes->given_fine == 0)
            run_report(run, RULE_ALWAYS, function, "refused",
                       "not one of %u calls with objects of --objects was WHARF_OK", outcomes->given);
        if (outcomes->with_pods > 0 && outcomes->pods_kept == 0)
            run_report(run, RULE_POD_SETS_KEPT, function, "", "all pods were removed in all %u calls",
                       outcomes->with_pods);
    }
}

// -- all of it --

void answer_check(const struct adapter_invocation *in, int result, const struct json *before) {
    struct adapter_probe *probe = (struct adapter_probe *)in->call->host_data;
    const struct adapter_call *call = &probe->call;
    struct run *run = probe->run;
    const struct json *out = (const struct json *)in->changed;
    enum function function = (enum function)(in->function + CALL_PHASE);
    bool fine = result == WHARF_OK;
    check_answer(run, function, result, &call->answer);
    if (function == CALL_PHASE)
        check_phase(run, result, in->phase);
    if (fine && (function == CALL_MIRROR || function == CALL_UPDATE))
        check_marks(run, function, before, out);
    if (fine && function == CALL_MIRROR && run->thorough)
        check_whole(run, before, out);
    if (fine && function == CALL_POD_SETS)
        check_pod_sets(run, out);
    if (fine && function == CALL_DEPENDENCIES)
        check_dependencies(run, out);
    if (fine && (function == CALL_PROGRESS || function == CALL_CHILD_PROGRESS))
        progress_check(run, function, (const struct json *)in->workload, out);
    if (fine && function == CALL_STATUS)
        check_status(run, before, out);
    if (fine && function == CALL_STATUS && run->thorough)
        check_times(run, json_get(out, "status"));
    if (fine && function == CALL_STATUS && run->must_stay >= 0 && before)
        check_finished(run, json_get(before, "status"), json_get(out, "status"));
    if (fine && function == CALL_UPDATE && run->thorough && run->mirror)
        step_note_carried(run, run->mirror, before, out);
    if (run->thorough)
        count_outcome(run, function, result, before, out);
    if (run->thorough && call->failure == WHARF_REFUSED)
        run_report(run, RULE_SERVICE, function, call->failed ? call->failed : "", "%s",
                   call->failed ? call->failed : "a service failed");
}
