// SPDX-License-Identifier: Apache-2.0
// What a workload is told that no cluster accepts: gave_up_status, and what `status` makes of it without a mirror.
// Where its kind has words for that, it has failed with them: the host writes nothing else.
#include "core/conform/child.h"

#include "core/adapter/owed_status.h"
#include "core/adapter/phase.h"

#define MESSAGE "no worker has started it within 24h; 0/2 workers accept it: w1 quota exceeded; w2 did not start"

static bool copy_status(struct json *to, const struct json *from) {
    const struct json *status = json_get(from, "status");
    return json_set(to, "status", json_is(status, JSON_OBJECT) ? json_copy(status) : json_new_object());
}

// The workload with this status: input memory.
static const struct json *with_status(const struct json *workload, const struct json *from) {
    AUTO_JSON copy = json_copy(workload);
    return copy && copy_status(copy, from) ? input_copy(copy) : NULL;
}

// The workload as gave_up_status alone makes it, and as it is written. False if it is not: there is no status then.
static bool ask(struct run *run, const struct json *workload, const struct json **told, const struct json **written) {
    struct adapter_probe probe;
    AUTO_JSON object = json_new_object();
    if (!object || !copy_status(object, workload))
        return false;
    probe_begin(&probe, run, workload, NULL, WHARF_MIRROR_NONE);
    bool done = owed_gave_up(&probe.call, workload, MESSAGE, object) == WHARF_OK;
    *told = done ? with_status(workload, object) : NULL;
    done = *told && adapter_status(&probe.call, workload, NULL, object) == WHARF_OK;
    *written = done ? with_status(workload, object) : NULL;
    probe_end(&probe);
    return *written;
}

void step_gave_up(struct run *run, const struct json *workload) {
    const struct json *told = NULL, *written = NULL;
    int phase = step_phase(run, workload);
    if (!run->now->kind.abi.gave_up_status || phase < 0 || phase_is_final((wharf_phase_kind)phase) ||
        phase == WHARF_SUSPENDED || !ask(run, workload, &told, &written))
        return;
    // An outcome that is decided already may stay.
    if (json_get(workload, "status") && json_equal(json_get(workload, "status"), json_get(written, "status")))
        return;
    int before = step_phase(run, told), after = step_phase(run, written);
    if (before == WHARF_FAILED && after >= 0 && after != WHARF_FAILED)
        run_say(run, RULE_GAVE_UP, CALL_STATUS, "",
                "phase is WHARF_FAILED with gave_up_status, and WHARF_%s with what `status` makes of it",
                phase_name(after));
    else if (before >= 0 && after != WHARF_FAILED && after >= 0)
        run_say(run, RULE_GAVE_UP, CALL_PHASE, "", "phase is WHARF_%s with gave_up_status", phase_name(after));
}
