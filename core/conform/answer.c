// SPDX-License-Identifier: Apache-2.0
#include "core/conform/child.h"

#include "core/base/text.h"

#include <string.h>

#define RETRY_MAX_MS (3600u * 1000)

static void check_text(struct adapter_probe *probe, enum function function, const char *field, const char *text) {
    if (text && text_utf8_valid(text, strlen(text)) < strlen(text))
        run_report(probe->run, RULE_TEXT, function, field, "%s is no UTF-8: \"%.80s\"", field, text);
}

static void check_answer(struct adapter_probe *probe, enum function function, int result) {
    const wharf_answer *answer = &probe->call.answer;
    struct run *run = probe->run;
    check_text(probe, function, "wharf_answer.message", answer->message);
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

static void check_phase(struct adapter_probe *probe, int result, const wharf_phase *phase) {
    struct run *run = probe->run;
    if (result != WHARF_OK) {
        run_report(run, RULE_PHASE_RESULT, CALL_PHASE, "", "the result is %s",
                   result == WHARF_RETRY     ? "WHARF_RETRY"
                   : result == WHARF_REFUSED ? "WHARF_REFUSED"
                                             : "an unknown one");
        return;
    }
    if ((int)phase->phase < WHARF_PENDING || (int)phase->phase > WHARF_FAILED)
        run_report(run, RULE_PHASE_VALUE, CALL_PHASE, "", "phase is %d", (int)phase->phase);
    check_text(probe, CALL_PHASE, "wharf_phase.reason", phase->reason);
    check_text(probe, CALL_PHASE, "wharf_phase.message", phase->message);
}

// The marks are set after the call: all marks that exist now are the adapter's.
static void check_marks(struct adapter_probe *probe, const struct json *mirror) {
    static const char *const maps[] = {"labels", "annotations"};
    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
        const struct json *map = json_path(mirror, "metadata", maps[i], NULL);
        for (const struct json *m = json_is(map, JSON_OBJECT) ? json_first(map) : NULL; m; m = json_next(m))
            if (text_has_prefix(json_key(m), "wharf.dev/"))
                run_report(probe->run, RULE_MARKS, CALL_MIRROR, json_key(m), "the output sets %s in metadata.%s",
                           json_key(m), maps[i]);
    }
    static const char *const names[] = {"name", "namespace"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *before = json_string(json_path(probe->run->workload, "metadata", names[i], NULL));
        const struct json *after = json_path(mirror, "metadata", names[i], NULL);
        if (before && before[0] != '\0' && !text_equal(before, json_string(after)))
            run_report(probe->run, RULE_MARKS, CALL_MIRROR, names[i],
                       "the output changes metadata.%s from \"%s\" to \"%s\"", names[i], before,
                       json_string_or(after, ""));
    }
}

static void check_pod_sets(struct adapter_probe *probe, const struct json *sets) {
    size_t index = 0;
    for (const struct json *set = json_first(sets); set; set = json_next(set), index++) {
        if (!json_is(json_get(set, "template"), JSON_OBJECT))
            run_report(probe->run, RULE_POD_SETS, CALL_POD_SETS, "template", "item %zu has no object as its template",
                       index);
        if (json_int64(json_get(set, "count"), 0) != json_int64(json_get(set, "count"), 1))
            run_report(probe->run, RULE_POD_SETS, CALL_POD_SETS, "count", "item %zu has no integer as its count",
                       index);
    }
}

void answer_check(struct adapter_probe *probe, enum function function, int result, const wharf_phase *phase,
                  const struct json *output) {
    check_answer(probe, function, result);
    if (function == CALL_PHASE)
        check_phase(probe, result, phase);
    if (function == CALL_MIRROR && result == WHARF_OK)
        check_marks(probe, output);
    if (function == CALL_POD_SETS && result == WHARF_OK)
        check_pod_sets(probe, output);
}

// By the adapter's own function, besides the call under way.
static int phase_with(const struct adapter_probe *probe, const struct json *status) {
    const struct kind *real = probe->run->now->real;
    AUTO_JSON workload = json_copy(probe->run->workload);
    if (!workload || (status && !json_set(workload, "status", json_copy(status))))
        return -1;
    struct adapter_call call;
    struct call_context context = {.kind = &real->abi,
                                   .given = real->given,
                                   .now = {.wall_ns = probe->call.call.now_ns},
                                   .attempt = probe->call.call.attempt,
                                   .version = probe->call.call.version};
    wharf_phase phase;
    adapter_call_begin(&call, &context);
    struct board *board = probe->run->board;
    enum function asked = board->function;
    board->function = CALL_PHASE;
    board->stage = STAGE_CALL;
    wharf_result result = adapter_phase(&call, workload, &phase);
    board->stage = STAGE_HOST;
    board->function = asked;
    int found = result == WHARF_OK ? (int)phase.phase : -1;
    adapter_call_end(&call);
    return found;
}

void answer_check_finished(struct adapter_probe *probe, const struct json *draft, const struct json *output) {
    struct run *run = probe->run;
    if (phase_with(probe, draft) != run->must_stay)
        return; // the host keeps the status that the workload has
    int then = phase_with(probe, output);
    if (then >= 0 && then != run->must_stay)
        run_report(run, RULE_FINISHED, CALL_STATUS, "status",
                   "phase is WHARF_%s with the draft given to `status`, and WHARF_%s with the result of `status`",
                   phase_name(run->must_stay), phase_name(then));
}
